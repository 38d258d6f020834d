//! SAVEFH (RFC 8881 §18.28).

use proto::nfs4::Operation;
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::{Context, Saved};
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::Failure;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { runs_unsettled: true, is_rerun: true, ..Descriptor::looks(Operation::SaveFh) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    _arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    let object = context.object()?.clone();
    context.saved = Some(Saved { object, state_id: context.current_state });
    Ok(())
}
