//! The backchannel of one session: its connections, slots and callbacks (RFC 8881 §2.10.3.1, §20).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use event_listener::Event;
use parking_lot::Mutex;
use proto::nfs4::{
    CallbackHeader, CallbackOperation, CallbackReplyHeader, CallbackSecurity, CbRecallArgs, CbSequenceArgs,
    CbSequenceResult, FileHandle, HANDLE_BYTES_MAX, ReferringCallList, SequenceId, SessionId, SlotId,
    StateId, Status, callback_procedure, sequence_flags,
};
use rpc::{AuthSys, CallError, Connection, Credential};
use state::{CALLBACK_OPERATIONS, ChannelLimits, Session};
use xdr::{Decoder, Encode, Encoder};

/// Callbacks under way at a time on one session.
const SLOTS_MAX: u32 = 64;
/// The most connections that a session's callbacks are spread over.
const CONNECTIONS_MAX: usize = 32;
/// How long a client may take to answer a callback.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The RPC version of the callback program (RFC 8881 §20).
const CALLBACK_VERSION: u32 = 1;
/// The RPC head of a call without its credential: six words and an empty verifier.
const CALL_HEAD_BYTES: usize = 32;
/// A reply to CB_SEQUENCE and an operation without a body: the RPC head, status, empty tag and count, the
/// result of CB_SEQUENCE, number and status of the operation.
const REPLY_BYTES: usize = 24 + 12 + 40 + 8;
/// The body of CB_GETATTR's result: four attributes.
const ATTRIBUTES_BYTES: usize = 60;

/// Why a callback was not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallbackError {
    /// It was not sent: the client does not take so much (RFC 8881 §18.36.3).
    #[error("it exceeds what was negotiated for the backchannel")]
    TooBig,
    /// It may have been sent.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Where callbacks go and as whom.
#[derive(Debug, Clone)]
pub(crate) struct CallbackTarget {
    /// The client's callback program.
    pub(crate) program: u32,
    /// As whom the server calls.
    pub(crate) credential: Credential,
}

impl CallbackTarget {
    /// The first of the client's offers that the server can use.
    pub(crate) fn choose(program: u32, offers: &[CallbackSecurity]) -> Option<Self> {
        let credential = offers.iter().find_map(|offer| match offer {
            CallbackSecurity::None => Some(Credential::None),
            CallbackSecurity::Sys(sys) => Some(Credential::Sys(AuthSys {
                stamp: sys.stamp,
                // Kept for as long as the session is; the record that it was decoded from must not be.
                machine_name: Bytes::copy_from_slice(&sys.machine_name),
                uid: sys.uid,
                gid: sys.gid,
                gids: sys.gids.clone(),
            })),
            CallbackSecurity::Gss(_) => None,
        })?;
        Some(Self { program, credential })
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    sequence: u32,
    busy: bool,
}

/// The backchannel of one session.
pub(crate) struct Backchannel {
    session: SessionId,
    /// Is told what SEQUENCE says of the channel.
    flags_of: Weak<Session>,
    /// Of the client: callbacks have the one that its requests have.
    minor_version: u32,
    limits: ChannelLimits,
    target: Mutex<CallbackTarget>,
    connections: Mutex<Vec<Arc<dyn Connection>>>,
    slots: Mutex<Vec<Slot>>,
    freed: Event,
    /// A callback was answered on it.
    works: AtomicBool,
    /// A connection was bound at some time: without one, the path is lost.
    wanted: AtomicBool,
}

impl std::fmt::Debug for Backchannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backchannel").field("session", &self.session).finish_non_exhaustive()
    }
}

impl Backchannel {
    pub(crate) fn new(session: &Arc<Session>, target: CallbackTarget) -> Self {
        let limits = *session.back_channel();
        Self {
            session: session.id(),
            flags_of: Arc::downgrade(session),
            minor_version: session.client().minor_version(),
            limits,
            target: Mutex::new(target),
            connections: Mutex::default(),
            slots: Mutex::new(vec![Slot::default(); limits.requests_max.min(SLOTS_MAX) as usize]),
            freed: Event::new(),
            works: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
        }
    }

    /// Adds a connection that callbacks may use; false when there are too many.
    pub(crate) fn bind(&self, connection: &Arc<dyn Connection>) -> bool {
        let mut connections = self.connections.lock();
        connections.retain(|known| known.is_open());
        if connections.iter().any(|known| known.id() == connection.id()) {
            return true;
        }
        if connections.len() >= CONNECTIONS_MAX {
            return false;
        }
        connections.push(Arc::clone(connection));
        self.wanted.store(true, Ordering::Relaxed);
        self.note_path(&connections);
        true
    }

    /// True for a connection that callbacks may use.
    pub(crate) fn is_bound(&self, connection: u64) -> bool {
        self.connections.lock().iter().any(|known| known.id() == connection)
    }

    /// True when callbacks may use this connection, and no other that is open.
    pub(crate) fn is_only_path(&self, connection: u64) -> bool {
        let connections = self.connections.lock();
        let mut open = connections.iter().filter(|known| known.is_open()).map(|known| known.id());
        open.next() == Some(connection) && open.next().is_none()
    }

    /// The connections that callbacks may use.
    pub(crate) fn connections(&self) -> Vec<u64> {
        self.connections.lock().iter().map(|known| known.id()).collect()
    }

    pub(crate) fn disconnected(&self, connection: u64) {
        let mut connections = self.connections.lock();
        connections.retain(|known| known.id() != connection);
        self.note_path(&connections);
    }

    /// Tells the session whether callbacks have a path. With the connections locked: whoever comes last has
    /// seen all changes.
    fn note_path(&self, connections: &[Arc<dyn Connection>]) {
        self.tell_session(sequence_flags::CB_PATH_DOWN_SESSION, self.is_lost_without(connections));
    }

    fn tell_session(&self, flag: u32, is_set: bool) {
        if let Some(session) = self.flags_of.upgrade() {
            session.set_status_flag(flag, is_set);
        }
    }

    /// True when there was a connection, and none is left.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost_without(&self.connections.lock())
    }

    /// The same, unless one of these `connections` is there.
    fn is_lost_without(&self, connections: &[Arc<dyn Connection>]) -> bool {
        self.wanted.load(Ordering::Relaxed) && !is_any_open(connections)
    }

    pub(crate) fn retarget(&self, target: CallbackTarget) {
        *self.target.lock() = target;
    }

    pub(crate) fn set_program(&self, program: u32) {
        self.target.lock().program = program;
    }

    /// True when a connection is there.
    pub(crate) fn is_up(&self) -> bool {
        is_any_open(&self.connections.lock())
    }

    /// True when a connection is there and a callback was answered.
    pub(crate) fn works(&self) -> bool {
        self.works.load(Ordering::Relaxed) && self.is_up()
    }

    /// True when CB_RECALL fits with the longest file handle and the present credential: else nothing may
    /// be delegated that could not be recalled.
    pub(crate) fn fits_recalls(&self) -> bool {
        let object = FileHandle(Bytes::from_static(&[0; HANDLE_BYTES_MAX as usize]));
        let arguments = CbRecallArgs { state_id: StateId::ANONYMOUS, truncate: false, object };
        let calls = vec![(SequenceId(0), SlotId(0))];
        let sequence = CbSequenceArgs {
            session: self.session,
            sequence: SequenceId(0),
            slot: SlotId(0),
            highest_slot: SlotId(0),
            cache_this: false,
            referring_calls: vec![ReferringCallList { session: self.session, calls }],
        };
        let credential = self.target.lock().credential.clone();
        let body = self.compose(&sequence, CallbackOperation::Recall, &arguments);
        self.check_limits(&credential, body.len(), CallbackOperation::Recall).is_ok()
    }

    /// Checks a callback against what was negotiated: the RPC head counts, record marks do not (RFC 8881
    /// §18.36.3).
    fn check_limits(
        &self,
        credential: &Credential,
        body_bytes: usize,
        operation: CallbackOperation,
    ) -> Result<(), CallbackError> {
        let mut head = Encoder::new();
        head.put(credential);
        let request_bytes = CALL_HEAD_BYTES + head.len() + body_bytes;
        let reply_bytes = match operation {
            CallbackOperation::GetAttr => REPLY_BYTES + ATTRIBUTES_BYTES,
            _ => REPLY_BYTES,
        };
        let fits = request_bytes <= self.limits.request_bytes_max as usize
            && reply_bytes <= self.limits.response_bytes_max as usize
            && self.limits.operations_max >= CALLBACK_OPERATIONS
            && self.limits.requests_max > 0;
        if fits { Ok(()) } else { Err(CallbackError::TooBig) }
    }

    /// The CB_COMPOUND of a callback.
    fn compose(
        &self,
        sequence: &CbSequenceArgs,
        operation: CallbackOperation,
        arguments: &(impl Encode + Sync),
    ) -> Encoder {
        let mut to = Encoder::new();
        let (tag, minor_version) = (Bytes::new(), self.minor_version);
        to.put(&CallbackHeader { tag, minor_version, ident: 0, operations: CALLBACK_OPERATIONS });
        to.u32(CallbackOperation::Sequence.number());
        to.put(sequence);
        to.u32(operation.number());
        to.put(arguments);
        to
    }

    /// Sends CB_NULL, to see whether callbacks get through.
    pub(crate) async fn probe(&self) {
        let Some(connection) = self.connection() else { return };
        let target = self.target.lock().clone();
        let answered = connection
            .call(
                target.program,
                CALLBACK_VERSION,
                callback_procedure::NULL,
                target.credential.into(),
                Vec::new(),
                TIMEOUT,
            )
            .await;
        match answered {
            Ok(_) => self.works.store(true, Ordering::Relaxed),
            Err(error) => tracing::debug!(%error, "the callback path does not work"),
        }
    }

    /// Sends one callback and waits for its answer.
    ///
    /// # Errors
    /// When the callback exceeds what was negotiated, or the client could not be reached, did not answer in
    /// time, or answered nonsense.
    pub(crate) async fn callback(
        &self,
        operation: CallbackOperation,
        arguments: &(impl Encode + Sync),
        referring_calls: Vec<ReferringCallList>,
    ) -> Result<CallbackAnswer, CallbackError> {
        let slot = self.take_slot().await.ok_or(CallError::Disconnected)?;
        let mut answered = self.call(&slot, operation, arguments, &referring_calls).await?;
        // An answer to this number was lost on its way: the client has used it up.
        if !answered.sequenced
            && matches!(answered.status, Status::RetryUncachedReply | Status::SequenceFalseRetry)
        {
            slot.advance();
            answered = self.call(&slot, operation, arguments, &referring_calls).await?;
        }
        if answered.sequenced {
            slot.advance();
        } else if matches!(answered.status, Status::SequenceMisordered | Status::BadSlot | Status::BadSession)
        {
            // Client and server do not agree on the sequence of the slot: the session is of no more use for
            // callbacks.
            self.tell_session(sequence_flags::BACKCHANNEL_FAULT, true);
        }
        Ok(answered)
    }

    async fn call(
        &self,
        slot: &TakenSlot<'_>,
        operation: CallbackOperation,
        arguments: &(impl Encode + Sync),
        referring_calls: &[ReferringCallList],
    ) -> Result<CallbackAnswer, CallbackError> {
        let connection = self.connection().ok_or(CallError::Disconnected)?;
        let target = self.target.lock().clone();
        let to = self.compose(&self.sequence(slot, referring_calls), operation, arguments);
        self.check_limits(&target.credential, to.len(), operation)?;
        let results = connection
            .call(
                target.program,
                CALLBACK_VERSION,
                callback_procedure::COMPOUND,
                target.credential.into(),
                to.into_inner(),
                TIMEOUT,
            )
            .await?;
        self.works.store(true, Ordering::Relaxed);
        Ok(CallbackAnswer::decode(results).map_err(CallError::Protocol)?)
    }

    fn sequence(&self, slot: &TakenSlot<'_>, referring_calls: &[ReferringCallList]) -> CbSequenceArgs {
        let slots = self.slots.lock();
        CbSequenceArgs {
            session: self.session,
            sequence: SequenceId(slots[slot.index].sequence).next(),
            slot: SlotId(slot.index as u32),
            highest_slot: SlotId(slots.len() as u32 - 1),
            cache_this: false,
            referring_calls: referring_calls.to_vec(),
        }
    }

    fn connection(&self) -> Option<Arc<dyn Connection>> {
        self.connections.lock().iter().rev().find(|connection| connection.is_open()).cloned()
    }

    /// Waits for a free slot; `None` when there is no connection.
    async fn take_slot(&self) -> Option<TakenSlot<'_>> {
        loop {
            let freed = self.freed.listen();
            if !self.is_up() {
                return None;
            }
            if let Some(slot) = self.free_slot() {
                return Some(slot);
            }
            freed.await;
        }
    }

    fn free_slot(&self) -> Option<TakenSlot<'_>> {
        let mut slots = self.slots.lock();
        let index = slots.iter().position(|slot| !slot.busy)?;
        slots[index].busy = true;
        Some(TakenSlot { channel: self, index })
    }
}

fn is_any_open(connections: &[Arc<dyn Connection>]) -> bool {
    connections.iter().any(|connection| connection.is_open())
}

/// A slot that is free again when this is dropped.
struct TakenSlot<'a> {
    channel: &'a Backchannel,
    index: usize,
}

impl TakenSlot<'_> {
    fn advance(&self) {
        let slot = &mut self.channel.slots.lock()[self.index];
        slot.sequence = slot.sequence.wrapping_add(1);
    }
}

impl Drop for TakenSlot<'_> {
    fn drop(&mut self) {
        self.channel.slots.lock()[self.index].busy = false;
        self.channel.freed.notify(1);
    }
}

/// What a client answered to a callback.
#[derive(Debug)]
pub(crate) struct CallbackAnswer {
    /// Of the callback, or of the CB_SEQUENCE before it if that failed.
    pub(crate) status: Status,
    /// CB_SEQUENCE succeeded.
    sequenced: bool,
    /// The callback's result, if its status is a success.
    pub(crate) body: Decoder,
}

impl CallbackAnswer {
    fn decode(results: Bytes) -> xdr::Result<Self> {
        let mut from = Decoder::new(results);
        let header: CallbackReplyHeader = from.get()?;
        let sequenced = header.results > 0
            && from.u32()? == CallbackOperation::Sequence.number()
            && from.get::<Status>()? == Status::Ok;
        if sequenced && header.results > 1 {
            from.get::<CbSequenceResult>()?;
            let _operation = from.u32()?;
            let _status: Status = from.get()?;
        }
        Ok(Self { status: header.status, sequenced, body: from })
    }
}
