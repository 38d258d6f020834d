//! LOCK and NM_LOCK: take a lock.

use proto::nlm4::{LockArgs, Response, Status};
use vfs::FileSystem;

use super::context::{Context, denied, needed};
use super::lock_table::LockTable;

pub(super) async fn run<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    arguments: LockArgs,
) -> Response {
    let status = take(context, &arguments).await.err().unwrap_or(Status::Granted);
    Response { cookie: arguments.cookie, status }
}

/// A conflict is NLM4_DENIED even for a request that would wait: NLM4_BLOCKED promises a call back (RFC 1813 §6.1.4)
/// that the server does not make. Clients then ask again.
async fn take<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    arguments: &LockArgs,
) -> Result<(), Status> {
    // In the grace period only what was held may be had; outside of it, what was lost may be held by others by now.
    if arguments.reclaim != context.locks.in_grace() {
        return Err(Status::DeniedGracePeriod);
    }
    let (target, range) = context.lock(&arguments.lock, needed(arguments.exclusive)).await?;
    if !arguments.reclaim {
        context.locks.before_lock(target.file, arguments.exclusive).await.map_err(|why| denied(&why))?;
    }
    let taken = context.locks.lock(target.file, &target.owner, range, arguments.exclusive).await;
    taken.map_err(|why| denied(&why))
}
