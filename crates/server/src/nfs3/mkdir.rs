//! MKDIR (RFC 1813 §3.3.9).

use proto::nfs3::{MkDirArgs, MkDirFail, MkDirOk, Status};
use vfs::{Attributes, FileSystem};

use super::context::{Context, Outcome, bare};
use super::object::{Object, to_wire};
use super::{attributes, names, status};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: MkDirArgs,
) -> Outcome<MkDirArgs> {
    let dir = context.object(&arguments.place.dir).await.map_err(bare)?;
    let before = dir.before().await;
    match make(context, &dir, &arguments).await {
        Ok((node, now)) => Ok(MkDirOk {
            object: Some(to_wire(&dir.fs().handle(&node))),
            attributes: Some(attributes::to_wire(&now)),
            dir: dir.around(before).await,
        }),
        Err(status) => Err((status, MkDirFail { dir: dir.around(before).await })),
    }
}

async fn make<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    dir: &Object<'_, F>,
    arguments: &MkDirArgs,
) -> Result<(F::Node, Attributes), Status> {
    // RFC 1813 §3.3.9: "." and ".." are NFS3ERR_EXIST.
    let name = names::checked(&arguments.place.name, Status::Exists)?;
    dir.writable()?;
    let set = dir.to_set(&arguments.attributes);
    let _entry = context.before_entry_change(dir).await?;
    dir.fs().make_dir(dir.request(), &dir.node, name, &set).await.map_err(status::of_making)
}
