//! RENAME (RFC 1813 §3.3.14).

use proto::nfs3::{RenameArgs, RenameFail, RenameOk, Status};
use vfs::FileSystem;

use super::context::{Context, Outcome, bare};
use super::object::Object;
use super::{names, status};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: RenameArgs,
) -> Outcome<RenameArgs> {
    let from = context.object(&arguments.from.dir).await.map_err(bare)?;
    let from_before = from.before().await;
    let to = match context.object(&arguments.to.dir).await {
        Ok(to) => to,
        Err(status) => {
            let from_dir = from.around(from_before).await;
            return Err((status, RenameFail { from_dir, ..RenameFail::default() }));
        }
    };
    let to_before = to.before().await;
    let renamed = rename(context, &from, &to, &arguments).await;
    let (from_dir, to_dir) = (from.around(from_before).await, to.around(to_before).await);
    match renamed {
        Ok(()) => Ok(RenameOk { from_dir, to_dir }),
        Err(status) => Err((status, RenameFail { from_dir, to_dir })),
    }
}

async fn rename<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    from: &Object<'_, F>,
    to: &Object<'_, F>,
    arguments: &RenameArgs,
) -> Result<(), Status> {
    // RFC 1813 §3.3.14: "." and ".." are NFS3ERR_INVAL on either side.
    let old = names::checked(&arguments.from.name, Status::Invalid)?;
    let new = names::checked(&arguments.to.name, Status::Invalid)?;
    if from.export_id() != to.export_id() {
        return Err(Status::CrossDevice);
    }
    from.writable()?;
    context.not_crossing(from, old)?;
    context.not_crossing(to, new)?;
    let names = context.take_names([(from, old), (to, new)]).await?;
    // Without an object to rename, nothing is recalled.
    let moved = context.removed(from, old).await?;
    let replaced = context.replaced(to, new).await;
    let id = |node: &Option<F::Node>| node.as_ref().map(|node| from.fs().object_id(node));
    // A denial of writing keeps the target also where both names are of one file, as over NFSv4.
    let (moved, lost) = (id(&moved), id(&replaced));
    let _changing = context.before_name_change(&names, [from, to], [moved, lost], lost).await?;
    let renamed = from.fs().rename(from.request(), &from.node, old, &to.node, new).await;
    context.after_remove(to, replaced).await;
    renamed.map_err(status::of)
}
