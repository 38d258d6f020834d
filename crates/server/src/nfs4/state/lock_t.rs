//! LOCKT (RFC 8881 §18.11).

use proto::nfs4::{LockTArgs, Operation, Status};
use state::{ByteRangeLock, LockOwner, Range};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::lock_waiters::lock_outcome as outcome;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::Descriptor;
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, decode};
use crate::nfs4::state::lock::describe;

pub(crate) const DESCRIPTOR: Descriptor =
    Descriptor { replaced: &[(Status::Io, Status::ServerFault)], ..Descriptor::looks(Operation::LockT) };

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    _reply: &mut Encoder,
) -> Result<(), Failure> {
    run(context, decode(arguments)?).await
}

async fn run<F: FileSystem>(context: &mut Context<'_, F>, arguments: LockTArgs) -> Result<(), Failure> {
    let object = context.object()?;
    regular::check(object).await?;
    let range = Range::new(arguments.offset, arguments.length)?;
    // The session tells the client; what stands in the owner is ignored (RFC 8881 §18.11.3).
    let owner = LockOwner::Nfs4 { client: context.client()?.id(), owner: arguments.owner.owner };
    let (file, asked) = (object.file(), ByteRangeLock { range, exclusive: arguments.kind.is_exclusive() });
    let services = context.server.services();
    // In the grace period a lock that is about to be reclaimed would be missing from the answer.
    if services.state().in_grace() {
        return Err(Status::Grace.into());
    }
    services
        .delegations()
        .hold(|| outcome(services.state().test_lock(file, &owner, asked, services.now())))
        .await?
        .map_err(|denied| Failure::Denied(describe(denied)))
}
