//! SEQUENCE (RFC 8881 §18.46): begins a request in its slot.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use proto::nfs4::{
    Operation, SequenceArgs, SequenceId, SequenceResult, SessionId, SlotId, Status, sequence_flags,
};
use state::{Begin, ChannelLimits, Client, ConnectionId, Kept, SequenceRequest, Session, SlotTicket};
use vfs::FileSystem;
use xdr::{Decoder, Encoder};

use super::compound::answer;
use super::context::Context;
use super::operations::SEQUENCED;
use super::repeat::Repeat;
use crate::digest::Digest;
use crate::persistent::{Intent, SlotKept, SlotRecord};
use crate::services::StateService;

/// Bytes that the RPC head takes of a reply: the session's limits include it.
const RPC_REPLY_BYTES: usize = 24;

/// How long the retry of a request that is under way is held: longer than a request is.
const RETRY_HOLD: Duration = Duration::from_secs(5);

/// A request in its session.
pub(crate) struct InSession {
    ticket: SlotTicket,
    sequence: SequenceId,
    cache_this: bool,
    limits: ReplyLimits,
    digest: u64,
    /// What is on stable storage that it is about to do, on a persistent session.
    intents: Mutex<Vec<Intent>>,
}

/// How long the reply may be in bytes, without the RPC head.
#[derive(Clone, Copy)]
pub(crate) struct ReplyLimits {
    reply_bytes_max: usize,
    /// Without a bound where it is not kept.
    cached_bytes_max: usize,
}

impl ReplyLimits {
    fn new(fore: &ChannelLimits, cache_this: bool) -> Self {
        let without_head = |bytes: u32| (bytes as usize).saturating_sub(RPC_REPLY_BYTES);
        Self {
            reply_bytes_max: without_head(fore.response_bytes_max),
            cached_bytes_max: if cache_this {
                without_head(fore.cached_response_bytes_max)
            } else {
                usize::MAX
            },
        }
    }

    /// Checks that a reply may have so many bytes.
    ///
    /// # Errors
    /// REP_TOO_BIG, REP_TOO_BIG_TO_CACHE.
    pub(crate) fn check(&self, bytes: usize) -> Result<(), Status> {
        if bytes > self.reply_bytes_max {
            return Err(Status::ReplyTooBig);
        }
        if bytes > self.cached_bytes_max {
            return Err(Status::ReplyTooBigToCache);
        }
        Ok(())
    }

    /// What is left after `used` bytes.
    pub(crate) fn room(&self, used: usize) -> usize {
        self.cached_bytes_max.min(self.reply_bytes_max).saturating_sub(used)
    }
}

/// How SEQUENCE ended.
pub(crate) enum Begun {
    /// A result was appended.
    New(Status),
    /// The whole reply is an earlier one.
    Replay(Bytes),
    /// A result was appended, and the next operation gets NFS4ERR_RETRY_UNCACHED_REP.
    NotCached,
}

impl InSession {
    pub(crate) fn client(&self) -> &Arc<Client> {
        self.session().client()
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        self.ticket.session()
    }

    pub(crate) fn slot(&self) -> SlotId {
        self.ticket.slot()
    }

    /// Names the request to the client: its session, slot and sequence.
    pub(crate) fn call(&self) -> (SessionId, SlotId, SequenceId) {
        (self.session().id(), self.slot(), self.sequence)
    }

    pub(crate) fn reply_limits(&self) -> ReplyLimits {
        self.limits
    }

    /// True when a crash of the server must not make it run again.
    pub(crate) fn is_persistent(&self) -> bool {
        self.cache_this && self.session().is_persistent()
    }

    /// Adds to what it is about to do; what is to be written down.
    pub(crate) fn intend(&self, intent: Intent) -> SlotRecord {
        let mut intents = self.intents.lock();
        intents.push(intent);
        self.record(SlotKept::Intents(intents.clone()))
    }

    fn record(&self, kept: SlotKept) -> SlotRecord {
        SlotRecord { sequence: self.sequence.0, digest: self.digest, kept }
    }

    /// Ends the request without a reply. True when a retry is held until now.
    pub(crate) fn abandon(self, services: &StateService) -> bool {
        let completed = self.ticket.complete(None);
        if completed.is_client_gone {
            services.clients().last_request_ended();
        }
        completed.is_awaited
    }

    /// Ends the request; the reply is kept for a retry where that was asked for, and goes to stable storage
    /// where it must survive.
    ///
    /// It is sent meanwhile: a client that gets it asks no more, and for one that does not, the intent tells
    /// what was done. Whoever changes the same names on a persistent session writes that down first, and so
    /// has this reply written before.
    ///
    /// True when a retry is held until now.
    pub(crate) fn complete(mut self, services: &StateService, reply: &[u8]) -> bool {
        let kept = self.cache_this.then_some(reply);
        let has_intents = !self.intents.get_mut().is_empty();
        if let Some(reply) = kept.filter(|_| has_intents) {
            let record = self.record(SlotKept::Reply(Bytes::copy_from_slice(reply)));
            services.recovery().keep_slot_soon(self.session().id(), self.slot(), &record);
        }
        let completed = self.ticket.complete(kept);
        if completed.is_client_gone {
            services.clients().last_request_ended();
        }
        completed.is_awaited
    }
}

/// Begins a request, whose reply begins at `start`.
pub(crate) async fn begin<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &mut Decoder,
    start: usize,
    reply: &mut Encoder,
) -> Begun {
    let number = Operation::Sequence.number();
    let Ok(asked) = arguments.get::<SequenceArgs>() else {
        return Begun::New(answer(reply, number, Status::BadXdr));
    };
    let (session, limits) = match find(context, &asked, reply.len() - start) {
        Ok(found) => found,
        Err(Status::DeadSession) => return begin_dead(context, &asked, arguments, reply),
        Err(status) => return Begun::New(answer(reply, number, status)),
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
        Ok(Begin::Replay(bytes)) => return Begun::Replay(bytes),
        Ok(Begin::NotCached) => Begun::NotCached,
        Ok(Begin::New(ticket)) => {
            // A reply that must be kept (RFC 8881 §2.10.6.1.3) must be made.
            rpc::notes::set_cancellable(!asked.cache_this);
            context.session = Some(InSession {
                ticket,
                sequence: asked.sequence,
                cache_this: asked.cache_this,
                limits,
                digest: request.digest,
                intents: Mutex::default(),
            });
            Begun::New(Status::Ok)
        }
        Err(status) => return Begun::New(answer(reply, number, status)),
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
) -> Begun {
    let number = Operation::Sequence.number();
    // Replies that were kept are all that is left of it.
    let digest = digest(context, asked, arguments, true);
    let Some(dead) = context.server.state().dead_session(asked.session) else {
        return Begun::New(answer(reply, number, Status::BadSession));
    };
    let done = match dead.retry(asked.slot, asked.sequence, digest) {
        Ok(Kept::Reply(bytes)) => return Begun::Replay(bytes.clone()),
        Ok(Kept::Done(done)) => Repeat::new(done),
        Err(status) => return Begun::New(answer(reply, number, status)),
    };
    context.repeat = Some(done);
    answer(reply, number, Status::Ok);
    reply.put(&SequenceResult {
        session: asked.session,
        sequence: asked.sequence,
        slot: asked.slot,
        highest_slot: dead.highest_slot,
        target_highest_slot: dead.highest_slot,
        status_flags: sequence_flags::RESTART_RECLAIM_NEEDED,
    });
    Begun::New(Status::Ok)
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
    limits.check(used + SEQUENCED)?;
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
