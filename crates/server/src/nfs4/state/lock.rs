//! LOCK (RFC 8881 §18.10).

use proto::nfs4::{LockArgs, LockDenied, LockResult, LockType, Locker, Operation, StateOwner, Status};
use state::{ByteRangeLock, Denied, LockOwner, LockRequest, Range};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::lock_waiters::{Requester, Waiter, lock_outcome as outcome};
use crate::nfs4::engine::context::{Context, Object};
use crate::nfs4::engine::descriptor::{Descriptor, STATE_ID_BYTES, STATUS_BYTES};
use crate::nfs4::engine::regular;
use crate::nfs4::engine::result::{Failure, decode, put};

pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    room_bytes: STATUS_BYTES + STATE_ID_BYTES,
    replaced: &[(Status::Io, Status::ServerFault)],
    ..Descriptor::changes(Operation::Lock)
};

pub(crate) async fn perform<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    reply: &mut Encoder,
) -> Result<(), Failure> {
    put(reply, &run(context, decode(arguments)?).await?)
}

async fn run<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: LockArgs,
) -> Result<LockResult, Failure> {
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
    let (client, services) = (context.client()?, context.server.services());
    let locked = match promised(context, &request, arguments.kind)? {
        Some(denied) => Err(denied),
        None => {
            services
                .delegations()
                .hold(|| outcome(services.state().lock(client, &request, services.now())))
                .await?
        }
    };
    note_waiter(context, object, &request, arguments.kind, locked.is_err())?;
    let state_id = locked.map_err(|denied| Failure::Denied(describe(denied)))?;
    context.current_state = state_id;
    Ok(LockResult { state_id })
}

/// The lock that another waiter was called for, where this request can wait.
fn promised<F: FileSystem>(
    context: &Context<'_, F>,
    request: &LockRequest,
    kind: LockType,
) -> Result<Option<Denied>, Status> {
    let (client, services) = (context.client()?, context.server.services());
    if !kind.is_blocking() || request.reclaim || !services.lock_waiters().has_waiters() {
        return Ok(None);
    }
    let Some(owner) = services.state().lock_owner(client, request) else { return Ok(None) };
    let asked = ByteRangeLock { range: request.range, exclusive: request.exclusive };
    Ok(services.lock_waiters().promised_to_other(request.file, client.id(), &owner, asked))
}

/// Who was denied a lock that it would wait for is told when it may be free; who got one waits no more.
fn note_waiter<F: FileSystem>(
    context: &Context<'_, F>,
    object: &Object<'_, F>,
    request: &LockRequest,
    kind: LockType,
    denied: bool,
) -> Result<(), Status> {
    let (client, services) = (context.client()?, context.server.services());
    let is_of_interest = if denied { kind.is_blocking() } else { services.lock_waiters().has_waiters() };
    if !is_of_interest {
        return Ok(());
    }
    let Some(owner) = services.state().lock_owner(client, request) else { return Ok(()) };
    if !denied {
        services.lock_waiters().waits_no_more(request.file, client.id(), &owner);
    } else {
        let waiter = Waiter {
            requester: Requester::Nfs4 {
                client: client.id(),
                owner,
                handle: object.fs().handle(&object.node),
            },
            range: request.range,
            exclusive: request.exclusive,
            asked: services.now(),
            called: None,
        };
        services.lock_waiters().wait_for_lock(request.file, waiter);
    }
    Ok(())
}

/// The lock in the way as the protocol describes it. An NLM owner appears without a client (RFC 8881
/// §18.10.4).
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
