//! LOCKT (RFC 8881 §18.11).

use proto::nfs4::LockTArgs;
use state::{LockOwner, Range};
use vfs::FileSystem;

use super::context::Context;
use super::lock::{Refused, describe};
use super::regular;

pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: LockTArgs,
) -> Result<(), Refused> {
    let object = context.object()?;
    regular::check(object).await?;
    let range = Range::new(arguments.offset, arguments.length)?;
    // The session tells the client; what stands in the owner is ignored (RFC 8881 §18.11.3).
    let owner = LockOwner::Nfs4 { client: context.client()?.id(), owner: arguments.owner.owner };
    let state = context.server.state();
    match state.test_lock(object.file(), &owner, range, arguments.kind.is_exclusive()) {
        Some(denied) => Err(Refused::Denied(describe(denied))),
        None => Ok(()),
    }
}
