//! CLOSE (RFC 8881 §18.2).

use proto::nfs4::{CloseArgs, Operation, StateId, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{Descriptor, STATE_ID_BYTES, STATUS_BYTES};
use crate::nfs4::engine::result::{Failure, decode, put};
use crate::nfs4::engine::unsettled;

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + STATE_ID_BYTES,
    runs_unsettled: true,
    ..Descriptor::changes(Operation::Close)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, &decode(arguments)?).await?)
}

async fn run<F: FileSystem>(context: &mut Context<'_, F>, arguments: &CloseArgs) -> Result<StateId, Status> {
    if arguments.state_id != StateId::CURRENT {
        unsettled::settle(context).await?;
    }
    let id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    let client = context.client()?;
    context.server.state().close_of(client, object.file(), &id)?;
    // RFC 8881 §18.2.4: the stateid in the result is of no use, and this one says so.
    context.current_state = StateId::INVALID;
    Ok(StateId::INVALID)
}
