//! A request in its session's slot, from SEQUENCE to the end of its COMPOUND (RFC 8881 §2.10.6).

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{SequenceId, SlotId, Status};
use state::{ChannelLimits, Client, Session, SlotTicket};

use crate::delegations::SlotRequest;
use crate::persistent::{Intent, SlotContents, SlotRecord};
use crate::services::StateService;

/// Bytes that the RPC head takes of a reply: the session's limits include it.
const RPC_REPLY_BYTES: usize = 24;

/// A request in its session.
pub(crate) struct InSession {
    ticket: SlotTicket,
    sequence: SequenceId,
    cache_this: bool,
    limits: ReplyLimits,
    digest: u64,
    /// The changes of this request that are on stable storage before they are made, on a persistent session.
    intents: Mutex<Vec<Intent>>,
}

/// The bounds of the reply in bytes, without the RPC head.
#[derive(Clone, Copy)]
pub(crate) struct ReplyLimits {
    reply_bytes_max: usize,
    /// Without a bound where it is not kept.
    cached_bytes_max: usize,
}

impl ReplyLimits {
    pub(crate) fn new(fore: &ChannelLimits, cache_this: bool) -> Self {
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

    /// Returns the room that is left after `used` bytes.
    pub(crate) fn room(&self, used: usize) -> usize {
        self.cached_bytes_max.min(self.reply_bytes_max).saturating_sub(used)
    }
}

impl InSession {
    /// A request that has its slot, as SEQUENCE asked for it; `digest` tells it from others.
    pub(crate) fn new(
        ticket: SlotTicket,
        sequence: SequenceId,
        cache_this: bool,
        limits: ReplyLimits,
        digest: u64,
    ) -> Self {
        Self { ticket, sequence, cache_this, limits, digest, intents: Mutex::default() }
    }

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
    pub(crate) fn call(&self) -> SlotRequest {
        SlotRequest { session: self.session().id(), slot: self.slot(), sequence: self.sequence }
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
        self.record(SlotContents::Intents(intents.clone()))
    }

    fn record(&self, kept: SlotContents) -> SlotRecord {
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
    /// what was done. A later change of the same names on a persistent session writes its own intent first,
    /// and so this reply is written before.
    ///
    /// True when a retry is held until now.
    pub(crate) fn complete(mut self, services: &StateService, reply: &[u8]) -> bool {
        let kept = self.cache_this.then_some(reply);
        let has_intents = !self.intents.get_mut().is_empty();
        if let Some(reply) = kept.filter(|_| has_intents) {
            let record = self.record(SlotContents::Reply(Bytes::copy_from_slice(reply)));
            services.recovery().keep_slot_soon(self.session().id(), self.slot(), &record);
        }
        let completed = self.ticket.complete(kept);
        if completed.is_client_gone {
            services.clients().last_request_ended();
        }
        completed.is_awaited
    }
}
