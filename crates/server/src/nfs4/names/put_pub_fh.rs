//! PUTPUBFH (RFC 8881 §18.20): the public file handle is the root, which §4.1.2 leaves to the server.

use proto::nfs4::Operation;
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::Failure;
use crate::nfs4::names::put_root_fh::put_root;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { runs_unsettled: true, is_rerun: true, ..Descriptor::looks(Operation::PutPubFh) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(put_root(context, arguments)?)
}
