//! A session: its slots, and the rules of exactly-once (RFC 8881 §2.10.6).
//!
//! ```text
//!              next sequence                     complete
//!   idle ───────────────────────▶ in progress ───────────────▶ idle, with or without a cached reply
//!    ▲  same sequence: replay, or nothing to replay                │
//!    └─────────────────────────────────────────────────────────────┘
//! ```
//! A replay only looks at a slot: two retries of one request cannot disturb each other.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{SequenceId, SessionId, SlotId, Status};

use crate::slots::{Slot, Slots};
use crate::{ChannelLimits, Channels, Client, Now};

/// The most connections that a session knows: of more it forgets the oldest, which may be used as well, but
/// ends the session only as its principal. There is no need to forget those that are gone.
const CONNECTIONS_MAX: usize = 64;

/// A connection, by a number that no other has had while the server runs. Later ones have greater numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// A session of a client.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    client: Arc<Client>,
    fore: ChannelLimits,
    back: ChannelLimits,
    /// The connections of the fore channel.
    connections: Mutex<BTreeSet<ConnectionId>>,
    slots: Slots,
    persistent: bool,
    /// Its own bits of SEQUENCE's `status_flags`.
    flags: AtomicU32,
}

/// What SEQUENCE asks of a session.
#[derive(Debug, Clone, Copy)]
pub struct SequenceRequest {
    /// The slot.
    pub slot: SlotId,
    /// The number of the request in it.
    pub sequence: SequenceId,
    /// The highest slot that the client uses.
    pub highest_slot: SlotId,
    /// The reply is to be kept.
    pub cache_this: bool,
    /// Of what the request asks for; a retry has the same.
    pub digest: u64,
    /// The connection that it came over.
    pub connection: ConnectionId,
}

/// How a request begins.
#[derive(Debug)]
pub enum Begin {
    /// It is new and must be carried out.
    New(SlotTicket),
    /// It is a retry: this is the reply.
    Replay(Bytes),
    /// It is a retry whose reply was not kept (NFS4ERR_RETRY_UNCACHED_REP on the operation after SEQUENCE).
    NotCached,
}

impl Session {
    pub(crate) fn new(
        id: SessionId,
        client: Arc<Client>,
        channels: Channels,
        slots: Slots,
        persistent: bool,
    ) -> Self {
        Self {
            id,
            client,
            fore: channels.fore,
            back: channels.back,
            connections: Mutex::default(),
            slots,
            persistent,
            flags: AtomicU32::new(0),
        }
    }

    /// Associates a connection with the fore channel.
    pub fn associate(&self, connection: ConnectionId) {
        let mut connections = self.connections.lock();
        if connections.insert(connection) && connections.len() > CONNECTIONS_MAX {
            connections.pop_first();
        }
    }

    /// True for a connection of the fore channel: it made the session, was bound to it, or has carried a
    /// request, which without state protection is enough (RFC 8881 §2.10.3.1).
    pub fn is_associated(&self, connection: ConnectionId) -> bool {
        self.connections.lock().contains(&connection)
    }

    /// Its id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Whose it is.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// True when its replies to modifying requests survive a crash of the server
    /// (CREATE_SESSION4_FLAG_PERSIST).
    pub fn is_persistent(&self) -> bool {
        self.persistent
    }

    /// Limits of requests.
    pub fn fore_channel(&self) -> &ChannelLimits {
        &self.fore
    }

    /// Limits of callbacks.
    pub fn back_channel(&self) -> &ChannelLimits {
        &self.back
    }

    /// The highest slot that the client may use.
    pub fn highest_slot(&self) -> SlotId {
        SlotId(self.slots.highest())
    }

    /// The highest slot that the client is asked to use: lower while memory is short.
    pub fn target_highest_slot(&self) -> SlotId {
        SlotId(self.slots.target())
    }

    /// Begins a request, and renews the lease.
    ///
    /// # Errors
    /// BADSLOT, BAD_HIGH_SLOT, SEQ_MISORDERED, SEQ_FALSE_RETRY; DELAY for a retry of a request that is still
    /// under way, and when there is no memory for a reply that is to be kept.
    pub fn begin(self: &Arc<Self>, request: &SequenceRequest, now: Now) -> Result<Begin, Status> {
        // BADSLOT comes first where both apply: the request has no slot (RFC 8881 §18.46.3).
        if request.slot > self.highest_slot() {
            return Err(Status::BadSlot);
        }
        if request.highest_slot > self.highest_slot() {
            return Err(Status::BadHighSlot);
        }
        let mut slot = self.slots.lock(request.slot.0)?;
        if slot.in_progress || request.sequence.0 != slot.sequence.wrapping_add(1) {
            return self.retry(&slot, request, now);
        }
        self.slots.reserve(request.slot.0, &mut slot, request.cache_this)?;
        self.client.begin_request();
        // Whoever discards a client's state has first marked it, and then looks for requests: one of the two
        // sees the other.
        if self.client.is_gone() {
            self.client.end_request();
            return Err(Status::BadSession);
        }
        self.accept(&slot, request, now);
        let answered = slot.used.then_some(slot.begun);
        *slot = Slot {
            sequence: request.sequence.0,
            used: true,
            taken: slot.taken,
            in_progress: true,
            awaited: false,
            connection: Some(request.connection),
            digest: request.digest,
            // Nobody gets it any more; the next one takes its room.
            reply: slot.reply.take(),
            begun: self.slots.generation(),
        };
        drop(slot);
        self.slots.adjust(request.highest_slot.max(request.slot).0, answered);
        Ok(Begin::New(SlotTicket { session: Arc::clone(self), slot: request.slot, done: false }))
    }

    fn retry(&self, slot: &Slot, request: &SequenceRequest, now: Now) -> Result<Begin, Status> {
        // Sequence 0 on a fresh slot is no retry: there was no request.
        if request.sequence.0 != slot.sequence || !slot.used {
            return Err(Status::SequenceMisordered);
        }
        if slot.digest != request.digest {
            return Err(Status::SequenceFalseRetry);
        }
        if slot.in_progress {
            return Err(Status::Delay);
        }
        self.accept(slot, request, now);
        let reply = slot.reply.as_ref().map(|reply| Bytes::copy_from_slice(reply));
        Ok(reply.map_or(Begin::NotCached, Begin::Replay))
    }

    /// What every SEQUENCE does that succeeds, and no other (RFC 8881 §18.46.3).
    fn accept(&self, slot: &Slot, request: &SequenceRequest, now: Now) {
        self.client.renew(now);
        if slot.connection != Some(request.connection) {
            self.associate(request.connection);
        }
    }

    /// True while a request is under way in a slot; whoever ends it is told that somebody waits
    /// ([`Completed::is_awaited`]). Both happen under the slot's lock: the request has not ended yet, or this
    /// says so.
    pub fn await_end(&self, slot: SlotId) -> bool {
        self.slots.existing(slot.0).is_some_and(|mut slot| {
            slot.awaited = slot.in_progress;
            slot.in_progress
        })
    }

    /// Bits for SEQUENCE's `status_flags`, those of the client among them.
    pub fn status_flags(&self) -> u32 {
        self.client.status_flags() | self.flags.load(Ordering::Relaxed)
    }

    /// Sets one of the bits that are the session's own (`sequence_flags`), or takes it back.
    pub fn set_status_flag(&self, flag: u32, is_set: bool) {
        if is_set {
            self.flags.fetch_or(flag, Ordering::Relaxed);
        } else {
            self.flags.fetch_and(!flag, Ordering::Relaxed);
        }
    }

    /// Slots in which a request is under way.
    pub fn slots_in_use(&self) -> usize {
        self.slots.iter().filter(|(_, slot)| slot.lock().in_progress).count()
    }

    /// True while a request is under way, but for the one in `except`.
    pub fn is_busy(&self, except: Option<SlotId>) -> bool {
        self.slots.iter().any(|(index, slot)| except != Some(SlotId(index)) && slot.lock().in_progress)
    }
}

/// The right to carry out one request. When it is dropped, the request counts as done without a kept reply.
#[derive(Debug)]
pub struct SlotTicket {
    session: Arc<Session>,
    slot: SlotId,
    done: bool,
}

impl SlotTicket {
    /// The session.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The slot.
    pub fn slot(&self) -> SlotId {
        self.slot
    }

    /// Ends the request; `reply` is what a retry gets.
    pub fn complete(mut self, reply: Option<&[u8]>) -> Completed {
        self.done = true;
        self.finish(reply)
    }

    fn finish(&self, reply: Option<&[u8]>) -> Completed {
        let (client, slots) = (&self.session.client, &self.session.slots);
        client.end_request();
        let is_awaited = slots.existing(self.slot.0).is_some_and(|mut slot| slots.keep(&mut slot, reply));
        Completed { is_awaited, is_client_gone: client.is_gone() }
    }
}

/// Who has to be told that a request has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Completed {
    /// Somebody waits for it ([`Session::await_end`]).
    pub is_awaited: bool,
    /// The client is gone, and its state goes with its last request.
    pub is_client_gone: bool,
}

impl Drop for SlotTicket {
    fn drop(&mut self) {
        if !self.done {
            let _ = self.finish(None);
        }
    }
}
