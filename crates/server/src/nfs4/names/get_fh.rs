//! GETFH (RFC 8881 §18.8).

use proto::nfs4::Operation;
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::Failure;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    runs_unsettled: true,
    keeps_fresh: true,
    is_rerun: true,
    ..Descriptor::looks(Operation::GetFh)
};

/// Appends the handle from where it lies, as so many requests ask for one.
pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    _arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    let object = context.object()?;
    reply.opaque(object.fs().handle(&object.node).as_bytes());
    Ok(())
}
