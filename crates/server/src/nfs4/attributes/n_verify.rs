//! NVERIFY (RFC 8881 §18.15).

use proto::nfs4::Operation;
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::attributes::verify::compare;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::Failure;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor::looks(Operation::NVerify);

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(compare(context, arguments, true).await?)
}
