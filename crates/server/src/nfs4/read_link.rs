//! READLINK (RFC 8881 §18.24).

use proto::nfs4::{ReadLinkResult, Status};
use vfs::FileSystem;

use super::context::Context;
use super::status;

pub(crate) async fn run<F: FileSystem>(context: &mut Context<'_, F>) -> Result<ReadLinkResult, Status> {
    let object = context.object()?;
    let identity = context.identity(object)?;
    match object.fs().read_link(&identity, &object.node).await {
        Ok(link) => Ok(ReadLinkResult { link }),
        // Not a symbolic link (RFC 8881 §18.24.3).
        Err(vfs::Error::Invalid) => Err(Status::WrongType),
        Err(error) => Err(status::of(error)),
    }
}
