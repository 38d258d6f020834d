//! RMDIR (RFC 1813 §3.3.13).

use proto::nfs3::{DirOpArgs, RmDirArgs, RmDirFail, RmDirOk, Status};
use vfs::{FileSystem, RemoveKind};

use super::context::{Context, Outcome, bare};
use super::object::Object;
use super::{names, status};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: RmDirArgs,
) -> Outcome<RmDirArgs> {
    let dir = context.object(&arguments.object.dir).await.map_err(bare)?;
    let before = dir.before().await;
    let removed = remove(context, &dir, &arguments.object).await;
    let dir = dir.around(before).await;
    match removed {
        Ok(()) => Ok(RmDirOk { dir }),
        Err(status) => Err((status, RmDirFail { dir })),
    }
}

async fn remove<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    dir: &Object<'_, F>,
    object: &DirOpArgs,
) -> Result<(), Status> {
    // RFC 1813 §3.3.13: "." is NFS3ERR_INVAL, ".." is NFS3ERR_EXIST.
    let dots = if object.name == b"."[..] { Status::Invalid } else { Status::Exists };
    let name = names::checked(&object.name, dots)?;
    dir.writable()?;
    context.not_crossing(dir, name)?;
    let names = context.take_names([(dir, name)]).await?;
    let victim = context.removed(dir, name).await?;
    let id = victim.map(|node| dir.fs().object_id(&node));
    let _changing = context.before_name_change(&names, [dir], [id], id).await?;
    dir.fs().remove(dir.request(), &dir.node, name, RemoveKind::Directory).await.map_err(status::of)
}
