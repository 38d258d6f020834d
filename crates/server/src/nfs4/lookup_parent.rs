//! LOOKUPP (RFC 8881 §18.14).

use proto::nfs4::Status;
use vfs::FileSystem;

use super::context::{Context, Object, refused};
use super::{lookup, status};

pub(crate) async fn run<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Status> {
    let parent = parent(context, context.object()?).await?;
    // The parent's policy counts (RFC 8881 §2.6.3.1.1.4).
    if !lookup::accepts(context, &parent)? {
        return Err(Status::WrongSecurity);
    }
    context.set_current(parent);
    Ok(())
}

/// The directory above: of the root of an export the one that it is seen in.
pub(crate) async fn parent<'e, F: FileSystem>(
    context: &Context<'e, F>,
    object: &Object<'e, F>,
) -> Result<Object<'e, F>, Status> {
    let identity = object.export.identity_or_nobody(&context.caller).map_err(refused)?;
    match object.fs().lookup_parent(&identity, &object.node).await {
        Ok(node) => Ok(Object { export: object.export, node }),
        Err(vfs::Error::NotFound) => {
            let above = context.exports.above(object.export.id(), &context.caller);
            let above = above.ok_or(Status::NoEntry)?;
            let node = above.export.file_system().resolve(above.handle.as_bytes()).await;
            Ok(Object { export: &above.export, node: node.map_err(status::of)? })
        }
        Err(error) => Err(status::of(error)),
    }
}
