//! LINK (RFC 1813 §3.3.15).

use proto::nfs3::{LinkArgs, LinkFail, LinkOk, Status};
use vfs::FileSystem;

use super::context::{Context, Outcome, bare};
use super::object::Object;
use super::{names, status};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: LinkArgs,
) -> Outcome<LinkArgs> {
    let file = context.object(&arguments.file).await.map_err(bare)?;
    let dir = match context.object(&arguments.link.dir).await {
        Ok(dir) => dir,
        Err(status) => {
            let attributes = file.post_op().await;
            return Err((status, LinkFail { attributes, ..LinkFail::default() }));
        }
    };
    let before = dir.before().await;
    let linked = link(context, &file, &dir, &arguments).await;
    let (attributes, dir) = (file.post_op().await, dir.around(before).await);
    match linked {
        Ok(()) => Ok(LinkOk { attributes, dir }),
        Err(status) => Err((status, LinkFail { attributes, dir })),
    }
}

async fn link<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    file: &Object<'_, F>,
    dir: &Object<'_, F>,
    arguments: &LinkArgs,
) -> Result<(), Status> {
    let name = names::checked(&arguments.link.name, Status::Exists)?;
    if file.export_id() != dir.export_id() {
        return Err(Status::CrossDevice);
    }
    dir.writable()?;
    if !dir.fs().capabilities().hard_links {
        return Err(Status::NotSupported);
    }
    // A RENAME that has found no holder under this name must not replace the link.
    let names = context.take_names([(dir, name)]).await?;
    let _changing = context.before_name_change(&names, [dir], [Some(file.id())], None).await?;
    dir.fs().link(dir.request(), &file.node, &dir.node, name).await.map_err(|error| match error {
        // LINK knows neither NFS3ERR_ISDIR nor NFS3ERR_NOENT (RFC 1813 §3.3.15): one of the two is gone.
        vfs::Error::IsDirectory => Status::Invalid,
        vfs::Error::NotFound => Status::Stale,
        other => status::of(other),
    })
}
