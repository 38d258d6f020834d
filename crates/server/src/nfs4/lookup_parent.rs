//! LOOKUPP (RFC 8881 §18.14).

use proto::nfs4::Status;
use vfs::FileSystem;

use super::context::{Context, Object};
use super::status;

pub(crate) async fn run<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Status> {
    let object = context.object()?;
    let identity = context.identity(object)?;
    let node = object.fs().lookup_parent(&identity, &object.node).await.map_err(status::of)?;
    let parent = Object { export: object.export.clone(), node };
    context.set_current(parent);
    Ok(())
}
