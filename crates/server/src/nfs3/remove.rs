//! REMOVE (RFC 1813 §3.3.12).

use proto::nfs3::{DirOpArgs, RemoveArgs, RemoveFail, RemoveOk, Status};
use vfs::{FileSystem, RemoveKind};

use super::context::{Context, Outcome, bare};
use super::object::Object;
use super::{names, status};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: RemoveArgs,
) -> Outcome<RemoveArgs> {
    let dir = context.object(&arguments.object.dir).await.map_err(bare)?;
    let before = dir.before().await;
    let removed = remove(context, &dir, &arguments.object).await;
    let dir = dir.around(before).await;
    match removed {
        Ok(()) => Ok(RemoveOk { dir }),
        Err(status) => Err((status, RemoveFail { dir })),
    }
}

async fn remove<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    dir: &Object<'_, F>,
    object: &DirOpArgs,
) -> Result<(), Status> {
    // REMOVE knows no NFS3ERR_INVAL (RFC 1813 §3.3.12).
    let name = names::checked(&object.name, Status::AccessDenied)?;
    dir.writable()?;
    let names = context.take_names([(dir, name)]).await?;
    let victim = context.removed(dir, name).await?;
    let id = victim.as_ref().map(|node| dir.fs().object_id(node));
    let _changing = context.before_name_change(&names, [dir], [id], id).await?;
    let removed = dir.fs().remove(dir.request(), &dir.node, name, RemoveKind::NonDirectory).await;
    context.after_remove(dir, victim).await;
    removed.map_err(status::of_name)
}
