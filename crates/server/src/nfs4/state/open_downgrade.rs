//! OPEN_DOWNGRADE (RFC 8881 §18.18).

use proto::nfs4::{OpenDowngradeArgs, Operation, StateId, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{Descriptor, STATE_ID_BYTES, STATUS_BYTES};
use crate::nfs4::engine::result::{Failure, decode, put};

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { room_bytes: STATUS_BYTES + STATE_ID_BYTES, ..Descriptor::changes(Operation::OpenDowngrade) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, &decode(arguments)?)?)
}

fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &OpenDowngradeArgs,
) -> Result<StateId, Status> {
    let id = context.resolve_state(arguments.state_id)?;
    let object = context.object()?;
    let client = context.client()?;
    let state = context.server.state();
    state.check_file(client, object.file(), &id)?;
    let id = state.open_downgrade(client, &id, arguments.share_access, arguments.share_deny)?;
    context.current_state = id;
    Ok(id)
}
