//! FREE_STATEID (RFC 8881 §18.38).

use proto::nfs4::{FreeStateIdArgs, Operation, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor::changes(Operation::FreeStateId);

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context, &decode(arguments)?).await?)
}

async fn run<F: FileSystem>(context: &Context<'_, F>, arguments: &FreeStateIdArgs) -> Result<(), Status> {
    let id = context.resolve_state(arguments.state_id)?;
    let client = context.client()?;
    let (had_lost, lost) = (client.has_lost_by_order(), client.lost());
    context.server.state().free_state_id(client, &id)?;
    if had_lost && !client.has_lost_by_order() {
        context.server.services().recovery().record_again(client).await;
    } else if client.lost() != lost {
        context.server.services().recovery().record_loss(client).await;
    }
    Ok(())
}
