//! ACCESS (RFC 1813 §3.3.4).

use proto::nfs3::{AccessArgs, AccessFail, AccessOk};
use vfs::{Access, FileSystem};

use super::context::{Context, Outcome, bare};
use super::status;
use crate::conflicts::Conflicts;

/// What nobody may do on a read-only export.
const CHANGES: u32 = Access::MODIFY.0 | Access::EXTEND.0 | Access::DELETE.0;

pub(super) async fn run<F: FileSystem, C: Conflicts>(
    context: &Context<'_, F, C>,
    arguments: AccessArgs,
) -> Outcome<AccessArgs> {
    let object = context.object(&arguments.object).await.map_err(bare)?;
    let mut wanted = arguments.access & Access::ALL.0;
    if object.read_only() {
        wanted &= !CHANGES;
    }
    match object.fs().access(object.request(), &object.node, Access(wanted)).await {
        Ok(granted) => Ok(AccessOk { attributes: object.post_op().await, access: granted.0 & wanted }),
        Err(error) => Err((status::of(error), AccessFail { attributes: object.post_op().await })),
    }
}
