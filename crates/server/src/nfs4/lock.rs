//! LOCK (RFC 8881 §18.10).

use proto::nfs4::{LockArgs, LockDenied, LockResult, LockType, Locker, StateOwner, Status};
use state::{Blocked, Denied, LockError, LockOwner, LockRequest, Range};
use vfs::FileSystem;

use super::context::Context;
use super::regular;

/// A lock in the way, or another reason.
pub(crate) enum Refused {
    Denied(LockDenied),
    Status(Status),
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

pub(crate) async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: LockArgs,
) -> Result<LockResult, Refused> {
    let object = context.object()?;
    regular::check(object).await?;
    let request = LockRequest {
        file: object.file(),
        locker: match arguments.locker {
            Locker::Existing(existing) => state::Locker::Existing(context.resolve_state(existing.state_id)?),
            Locker::New(new) => {
                state::Locker::New { open: context.resolve_state(new.open_state_id)?, owner: new.owner.owner }
            }
        },
        range: Range::new(arguments.offset, arguments.length)?,
        exclusive: arguments.kind.is_exclusive(),
        reclaim: arguments.reclaim,
    };
    let (client, recaller) = (context.client()?, context.server.recaller());
    let state_id = recaller
        .hold(|| outcome(recaller.state().lock(client, &request, recaller.now())))
        .await?
        .map_err(|denied| Refused::Denied(describe(denied)))?;
    context.current_state = state_id;
    Ok(LockResult { state_id })
}

/// A lock in the way is an answer, not something to wait for.
pub(crate) fn outcome<T>(locked: Result<T, LockError>) -> Result<Result<T, Denied>, Blocked> {
    match locked {
        Ok(done) => Ok(Ok(done)),
        Err(LockError::Denied(denied)) => Ok(Err(denied)),
        Err(LockError::Blocked(blocked)) => Err(blocked),
    }
}

/// The lock in the way as the protocol describes it. An NLM owner appears without a client (RFC 8881 §18.10.4).
pub(crate) fn describe(denied: Denied) -> LockDenied {
    let owner = match denied.owner {
        LockOwner::Nfs4 { client, owner } => StateOwner { client, owner },
        LockOwner::Nlm { handle, .. } => StateOwner {
            client: proto::nfs4::ClientId(0),
            owner: handle.slice(..handle.len().min(proto::nfs4::OPAQUE_BYTES_MAX as usize)),
        },
    };
    LockDenied {
        offset: denied.range.offset(),
        length: denied.range.length(),
        kind: if denied.exclusive { LockType::Write } else { LockType::Read },
        owner,
    }
}
