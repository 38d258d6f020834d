//! SEQUENCE (RFC 8881 §18.46): begins a request in its slot.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use proto::nfs4::{Operation, SequenceArgs, SequenceResult, Status, sequence_flags};
use state::{Begin, CachedReply, ConnectionId, SequenceRequest, Session};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use crate::digest::Digest;
use crate::nfs4::engine::actor::Actor;
use crate::nfs4::engine::context::Context;
use crate::nfs4::engine::descriptor::{Descriptor, OperationOrder, SEQUENCED_BYTES};
use crate::nfs4::engine::in_session::{InSession, ReplyLimits};
use crate::nfs4::engine::repeat::Repeat;
use crate::nfs4::engine::result::answer;

/// How long the retry of a request that is under way is held: longer than a request is.
const RETRY_HOLD: Duration = Duration::from_secs(5);

/// The loop of a COMPOUND runs SEQUENCE by [`begin`], for a retry may replace the whole reply.
pub(crate) const DESCRIPTOR: Descriptor = Descriptor {
    place: OperationOrder::First,
    room_bytes: SEQUENCED_BYTES,
    ..Descriptor::looks(Operation::Sequence)
};

/// How SEQUENCE ended.
pub(crate) enum SequenceOutcome {
    /// A result was appended.
    New(Status),
    /// The whole reply is an earlier one.
    Replay(Bytes),
    /// A result was appended, and the next operation gets NFS4ERR_RETRY_UNCACHED_REP.
    NotCached,
}

/// Begins a request, whose reply begins at `start`.
pub(crate) async fn begin<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    start: usize,
    reply: &mut Encoder,
) -> SequenceOutcome {
    let number = Operation::Sequence.number();
    let Ok(asked) = arguments.get::<SequenceArgs>() else {
        return SequenceOutcome::New(answer(reply, number, Status::BadXdr));
    };
    let (session, limits) = match find(context, &asked, reply.len() - start) {
        Ok(found) => found,
        Err(Status::DeadSession) => return begin_dead(context, &asked, arguments, reply),
        Err(status) => return SequenceOutcome::New(answer(reply, number, status)),
    };
    let mut request = SequenceRequest {
        slot: asked.slot,
        sequence: asked.sequence,
        highest_slot: asked.highest_slot,
        cache_this: asked.cache_this,
        digest: digest(context, &asked, arguments, asked.cache_this),
        connection: ConnectionId(context.call.connection.id()),
    };
    let other_digest = || digest(context, &asked, arguments, !asked.cache_this);
    let outcome = match begin_or_wait(context, &session, &mut request, other_digest).await {
        Ok(Begin::Replay(bytes)) => return SequenceOutcome::Replay(bytes),
        Ok(Begin::NotCached) => SequenceOutcome::NotCached,
        Ok(Begin::New(ticket)) => {
            // A reply that must be kept (RFC 8881 §2.10.6.1.3) must be made.
            context.call.connection.set_cancellable(!asked.cache_this);
            context.actor =
                Actor::Slot(InSession::new(ticket, asked.sequence, asked.cache_this, limits, request.digest));
            SequenceOutcome::New(Status::Ok)
        }
        Err(status) => return SequenceOutcome::New(answer(reply, number, status)),
    };
    answer(reply, number, Status::Ok);
    let result = SequenceResult {
        session: asked.session,
        sequence: asked.sequence,
        slot: asked.slot,
        highest_slot: session.highest_slot(),
        target_highest_slot: session.target_highest_slot(),
        status_flags: session.status_flags(),
    };
    reply.put(&result);
    outcome
}

/// Begins a request on a session that died with the server before: only what is kept of it is repeated (RFC
/// 8881 §2.10.6.5).
fn begin_dead<F: FileSystem>(
    context: &mut Context<'_, F>,
    asked: &SequenceArgs,
    arguments: &Decoder,
    reply: &mut Encoder,
) -> SequenceOutcome {
    let number = Operation::Sequence.number();
    // Replies that were kept are all that is left of it.
    let digest = digest(context, asked, arguments, true);
    let Some(dead) = context.server.state().dead_session(asked.session) else {
        return SequenceOutcome::New(answer(reply, number, Status::BadSession));
    };
    let done = match dead.retry(asked.slot, asked.sequence, digest) {
        Ok(CachedReply::Reply(bytes)) => return SequenceOutcome::Replay(bytes.clone()),
        Ok(CachedReply::Done(done)) => Repeat::new(done),
        Err(status) => return SequenceOutcome::New(answer(reply, number, status)),
    };
    context.actor = Actor::Repeat(done);
    answer(reply, number, Status::Ok);
    reply.put(&SequenceResult {
        session: asked.session,
        sequence: asked.sequence,
        slot: asked.slot,
        highest_slot: dead.highest_slot,
        target_highest_slot: dead.highest_slot,
        status_flags: sequence_flags::RESTART_RECLAIM_NEEDED,
    });
    SequenceOutcome::New(Status::Ok)
}

/// Begins a request; the retry of one that is still under way is held until that one has ended. DELAY at once
/// would do (RFC 8881 §2.10.6.2), but Linux comes again only 15 seconds later, with the directory locked. A
/// retry may want its reply kept where the request did not, or the other way round: then it has the other
/// digest.
async fn begin_or_wait<F: FileSystem>(
    context: &Context<'_, F>,
    session: &Arc<Session>,
    request: &mut SequenceRequest,
    other_digest: impl FnOnce() -> u64,
) -> Result<Begin, Status> {
    let services = context.server.services();
    let mut begun = session.begin(request, services.now());
    if matches!(begun, Err(Status::SequenceFalseRetry)) {
        request.digest = other_digest();
        begun = session.begin(request, services.now());
    }
    if !matches!(begun, Err(Status::Delay)) {
        return begun;
    }
    let mut deadline = services.world().sleep(RETRY_HOLD);
    loop {
        let answered = context.server.answered().listen();
        let under_way = session.await_end(request.slot);
        let begun = session.begin(request, services.now());
        if !matches!(begun, Err(Status::Delay)) || !under_way {
            return begun;
        }
        if let Either::Right(_) = select(answered, &mut deadline).await {
            return begun;
        }
    }
}

/// The session, and its limits of the reply, if the request is within its limits, and the result of SEQUENCE
/// after `used` bytes (RFC 8881 §2.10.6.4).
fn find<F: FileSystem>(
    context: &Context<'_, F>,
    asked: &SequenceArgs,
    used: usize,
) -> Result<(Arc<Session>, ReplyLimits), Status> {
    let session = context.server.state().session(asked.session)?;
    context.check_minor_version(session.client().minor_version())?;
    let fore = session.fore_channel();
    if context.operations > fore.operations_max {
        return Err(Status::TooManyOperations);
    }
    if context.request_bytes > fore.request_bytes_max as usize {
        return Err(Status::RequestTooBig);
    }
    let limits = ReplyLimits::new(fore, asked.cache_this);
    limits.check(used + SEQUENCED_BYTES)?;
    Ok((session, limits))
}

/// Of who asks and for what, without SEQUENCE's own arguments, some of which a retry may change. Where the
/// reply is not kept no retry gets it, and nothing depends on what was asked for: a pass over all data of a
/// WRITE is left out (RFC 8881 §2.10.6.1.3). Who asks must be told even so (§2.10.6.1.3.1).
fn digest<F: FileSystem>(
    context: &Context<'_, F>,
    asked: &SequenceArgs,
    rest: &Decoder,
    is_kept: bool,
) -> u64 {
    let mut digest = Digest::new(asked.session.0);
    digest.number(u64::from(context.minor_version) << 32 | u64::from(context.operations));
    let caller = context.call.caller;
    if is_kept {
        digest.bytes(rest.rest_ref());
        digest.caller(caller);
    } else {
        digest.user(caller);
    }
    digest.finish()
}
