//! SYMLINK (RFC 1813 §3.3.10).

use proto::nfs3::{Status, SymlinkArgs, SymlinkFail, SymlinkOk};
use vfs::{Attributes, FileSystem};

use super::context::{Context, Outcome, bare};
use super::object::{Object, to_wire};
use super::{attributes, names, status};
use crate::conflicts::Conflicts;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: SymlinkArgs,
) -> Outcome<SymlinkArgs> {
    let dir = context.object(&arguments.place.dir).await.map_err(bare)?;
    let before = dir.before().await;
    match make(context, &dir, &arguments).await {
        Ok((node, now)) => Ok(SymlinkOk {
            object: Some(to_wire(&dir.fs().handle(&node))),
            attributes: Some(attributes::to_wire(&now)),
            dir: dir.around(before).await,
        }),
        Err(status) => Err((status, SymlinkFail { dir: dir.around(before).await })),
    }
}

async fn make<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    dir: &Object<'_, F>,
    arguments: &SymlinkArgs,
) -> Result<(F::Node, Attributes), Status> {
    let name = names::checked(&arguments.place.name, Status::Exists)?;
    dir.writable()?;
    if !dir.fs().capabilities().symlinks {
        return Err(Status::NotSupported);
    }
    let set = dir.to_set(&arguments.attributes);
    let _entry = context.before_entry_change(dir).await?;
    let made = dir.fs().make_symlink(dir.request(), &dir.node, name, &arguments.target, &set).await;
    made.map_err(status::of_making)
}
