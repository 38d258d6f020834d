//! LOCK and NM_LOCK: take a lock.

use bytes::Bytes;
use proto::nlm4::{Lock, LockArgs, NetObject, Response, Status};
use vfs::FileSystem;

use super::context::{Context, denied, needed};
use super::lock_table::{LockCall, LockTable};

/// Whether a host is told of a restart of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Monitored {
    Yes,
    /// It has asked by NM_LOCK: it has no status monitor that could be told.
    No,
}

pub(super) async fn run<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    arguments: LockArgs,
    monitored: Monitored,
) -> Response {
    let status = take(context, &arguments, monitored).await.err().unwrap_or(Status::Granted);
    Response { cookie: arguments.cookie, status }
}

async fn take<F: FileSystem, L: LockTable>(
    context: &Context<'_, F, L>,
    arguments: &LockArgs,
    monitored: Monitored,
) -> Result<(), Status> {
    // In the grace period only what was held may be had; outside of it, what was lost may be held by others
    // by now.
    if arguments.reclaim != context.locks.in_grace() {
        return Err(Status::DeniedGracePeriod);
    }
    let (target, range) = context.lock(&arguments.lock, needed(arguments.exclusive)).await?;
    let call = LockCall {
        route: context.route(),
        is_monitored: monitored == Monitored::Yes,
        reclaim: arguments.reclaim,
        waits_for: (arguments.block && !arguments.reclaim).then(|| own(&arguments.lock)),
    };
    let taken = context.locks.lock(target.file, &target.owner, range, arguments.exclusive, call).await;
    taken.map_err(|why| denied(&why))
}

/// A copy that does not keep the whole record.
fn own(lock: &Lock) -> Lock {
    let copy = |bytes: &Bytes| Bytes::copy_from_slice(bytes);
    Lock {
        caller_name: copy(&lock.caller_name),
        file: NetObject(copy(&lock.file.0)),
        owner: NetObject(copy(&lock.owner.0)),
        ..*lock
    }
}
