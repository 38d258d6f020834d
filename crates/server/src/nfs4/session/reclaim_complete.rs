//! RECLAIM_COMPLETE (RFC 8881 §18.51).

use proto::nfs4::{Operation, ReclaimCompleteArgs, Status};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::result::{Failure, decode};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor::changes(Operation::ReclaimComplete);

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    Ok(run(context, &decode(arguments)?).await?)
}

async fn run<F: FileSystem>(context: &Context<'_, F>, arguments: &ReclaimCompleteArgs) -> Result<(), Status> {
    if arguments.one_fs {
        // There is no migration: a file system's own reclaim has nothing to complete (RFC 8881 §18.51.3).
        context.object()?;
        return Ok(());
    }
    context.server.services().recovery().record_reclaimed(context.client()?).await?;
    context.server.state().reclaim_complete(context.client()?)?;
    // The last one to be waited for need not find the door still closed.
    context.server.services().recovery().end_grace_if_due().await;
    Ok(())
}
