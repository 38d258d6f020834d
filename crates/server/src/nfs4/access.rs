//! ACCESS (RFC 8881 §18.1).

use proto::nfs4::{AccessArgs, AccessResult, Status};
use vfs::{Access, FileSystem};

use super::context::Context;
use super::status;

pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: AccessArgs,
) -> Result<AccessResult, Status> {
    let object = context.object()?;
    let identity = context.identity(object)?;
    let supported = arguments.access & Access::ALL.0;
    let mut granted =
        object.fs().access(&identity, &object.node, Access(supported)).await.map_err(status::of)?;
    if context.writable(object).is_err() {
        granted.0 &= !(Access::MODIFY.0 | Access::EXTEND.0 | Access::DELETE.0);
    }
    Ok(AccessResult { supported, access: granted.0 })
}
