//! GETXATTR (RFC 8276 §8.4.1).

use proto::nfs4::{GetXattrArgs, GetXattrResult, Status};
use vfs::FileSystem;

use super::context::Context;
use super::{status, xattrs};

pub(crate) async fn run<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: GetXattrArgs,
) -> Result<GetXattrResult, Status> {
    let object = context.object()?;
    let name = xattrs::checked(object, &arguments.name)?;
    let identity = context.identity(object)?;
    let value = object.fs().get_xattr(&identity, &object.node, name).await.map_err(status::of)?;
    Ok(GetXattrResult { value })
}
