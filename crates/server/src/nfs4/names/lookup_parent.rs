//! LOOKUPP (RFC 8881 §18.14).

use proto::nfs4::{Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::{Context, Object, refused};
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::Failure;
use crate::nfs4::engine::status;
use crate::nfs4::names::lookup;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { is_rerun: true, ..Descriptor::looks(Operation::LookupParent) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    _arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context).await?)
}

async fn run<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Status> {
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
    match object.fs().lookup_parent(object.request(&identity), &object.node).await {
        Ok(node) => Ok(object.beside(node)),
        Err(vfs::Error::NotFound) => {
            let above = context.exports.above(object.export.id(), &context.caller);
            let above = above.ok_or(Status::NoEntry)?;
            let node =
                above.export.file_system().resolve(object.request_of_server(), above.handle.as_bytes()).await;
            Ok(context.object_of(&above.export, node.map_err(status::of)?))
        }
        Err(error) => Err(status::of(error)),
    }
}
