//! LOCKU (RFC 8881 §18.12).

use proto::nfs4::{LockUArgs, LockUResult, Operation, Status};
use state::Range;
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{Descriptor, STATE_ID_BYTES, STATUS_BYTES};
use crate::nfs4::engine::result::{Failure, decode, put};

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { room_bytes: STATUS_BYTES + STATE_ID_BYTES, ..Descriptor::changes(Operation::LockU) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, &decode(arguments)?)?)
}

fn run<F: FileSystem>(context: &mut Context<'_, F>, arguments: &LockUArgs) -> Result<LockUResult, Status> {
    let id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    let range = Range::new(arguments.offset, arguments.length)?;
    let state_id = context.server.state().unlock(context.client()?, object.file(), &id, range)?;
    context.server.services().lock_waiters().locks_released(object.file());
    context.current_state = state_id;
    Ok(LockUResult { state_id })
}
