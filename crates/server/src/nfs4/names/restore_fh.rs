//! RESTOREFH (RFC 8881 §18.27).

use proto::nfs4::{Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::{Context, Saved, refused};
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::flavor::check_flavor;
use crate::nfs4::engine::result::Failure;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { runs_unsettled: true, is_rerun: true, ..Descriptor::looks(Operation::RestoreFh) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    let Saved { object, state_id } = context.saved.clone().ok_or(Status::NoFileHandle)?;
    check_flavor(context, object.export.rule(&context.caller).map_err(refused)?, arguments)?;
    context.current = Some(object);
    context.current_state = state_id;
    Ok(())
}
