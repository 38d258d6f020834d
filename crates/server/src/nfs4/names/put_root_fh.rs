//! PUTROOTFH (RFC 8881 §18.21).

use proto::nfs4::{Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::exports::Denied;
use crate::nfs4::engine::context::{Context, refused};
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::flavor::check_flavor;
use crate::nfs4::engine::result::Failure;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { runs_unsettled: true, is_rerun: true, ..Descriptor::looks(Operation::PutRootFh) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(put_root(context, arguments)?)
}

/// Makes the root of all exports current; `rest` stands at the next operation.
pub(crate) fn put_root<F: FileSystem>(context: &mut Context<'_, F>, rest: &Decoder) -> Result<(), Status> {
    let (export, node) = context.exports.root_for(&context.caller).map_err(|denied| match denied {
        Denied::Later => Status::Delay,
        _ => Status::AccessDenied,
    })?;
    check_flavor(context, export.rule(&context.caller).map_err(refused)?, rest)?;
    context.set_current(context.object_of(export, node));
    Ok(())
}
