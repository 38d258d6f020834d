//! The backchannel of one session: its connections, slots and callbacks (RFC 8881 §2.10.3.1, §20).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use event_listener::Event;
use parking_lot::Mutex;
use proto::nfs4::{
    CallbackHeader, CallbackOperation, CallbackReplyHeader, CallbackSecurity, CbRecallArgs, CbSequenceArgs,
    FileHandle, SequenceId, SessionId, SlotId, StateId, Status, callback_procedure,
};
use rpc::{AuthSys, CallError, Connection, Credential};
use vfs::Handle;
use xdr::{Decoder, Encoder};

/// Callbacks under way at a time on one session.
const SLOTS_MAX: u32 = 64;
/// The most connections that a session's callbacks are spread over.
const CONNECTIONS_MAX: usize = 32;
/// How long a client may take to answer a callback.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The RPC version of the callback program (RFC 8881 §20).
const CALLBACK_VERSION: u32 = 1;

/// Where callbacks go and as whom.
#[derive(Debug, Clone)]
pub struct CallbackTarget {
    /// The client's callback program.
    pub program: u32,
    /// As whom the server calls.
    pub credential: Credential,
}

impl CallbackTarget {
    /// The first of the client's offers that the server can use.
    pub(crate) fn choose(program: u32, offers: &[CallbackSecurity]) -> Option<Self> {
        let credential = offers.iter().find_map(|offer| match offer {
            CallbackSecurity::None => Some(Credential::None),
            CallbackSecurity::Sys(sys) => Some(Credential::Sys(AuthSys {
                stamp: sys.stamp,
                machine_name: sys.machine_name.clone(),
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
pub struct Backchannel {
    session: SessionId,
    target: Mutex<CallbackTarget>,
    connections: Mutex<Vec<Arc<dyn Connection>>>,
    slots: Mutex<Vec<Slot>>,
    freed: Event,
    /// A callback was answered on it.
    works: AtomicBool,
}

impl std::fmt::Debug for Backchannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backchannel").field("session", &self.session).finish_non_exhaustive()
    }
}

impl Backchannel {
    pub(crate) fn new(session: SessionId, target: CallbackTarget, slots: u32) -> Self {
        Self {
            session,
            target: Mutex::new(target),
            connections: Mutex::default(),
            slots: Mutex::new(vec![Slot::default(); slots.clamp(1, SLOTS_MAX) as usize]),
            freed: Event::new(),
            works: AtomicBool::new(false),
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
        true
    }

    pub(crate) fn disconnected(&self, connection: u64) {
        self.connections.lock().retain(|known| known.id() != connection);
    }

    pub(crate) fn retarget(&self, target: CallbackTarget) {
        *self.target.lock() = target;
    }

    /// True when a connection is there.
    pub(crate) fn is_up(&self) -> bool {
        self.connections.lock().iter().any(|connection| connection.is_open())
    }

    /// True when a connection is there and a callback was answered.
    pub(crate) fn works(&self) -> bool {
        self.works.load(Ordering::Relaxed) && self.is_up()
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
                target.credential,
                Vec::new(),
                TIMEOUT,
            )
            .await;
        match answered {
            Ok(_) => self.works.store(true, Ordering::Relaxed),
            Err(error) => tracing::debug!(%error, "the callback path does not work"),
        }
    }

    /// Sends CB_RECALL; true when the client has taken it.
    pub(crate) async fn recall(&self, state_id: &StateId, handle: &Handle) -> bool {
        let Some(slot) = self.take_slot().await else { return false };
        let arguments = CbRecallArgs {
            state_id: *state_id,
            truncate: false,
            object: FileHandle(Bytes::copy_from_slice(handle.as_bytes())),
        };
        let outcome = self.call(&slot, |to| {
            to.u32(CallbackOperation::Recall.number());
            to.put(&arguments);
        });
        match outcome.await {
            // BAD_STATEID and BADHANDLE: the client gave it back, or does not know it yet (RFC 8881 §20.2.4); the
            // deadline of the recall decides.
            Ok(status) => {
                if status != Status::Ok {
                    tracing::debug!(%status, "CB_RECALL was refused");
                }
                status == Status::Ok
            }
            Err(error) => {
                tracing::debug!(%error, "CB_RECALL did not get through");
                false
            }
        }
    }

    async fn call(
        &self,
        slot: &TakenSlot<'_>,
        operation: impl FnOnce(&mut Encoder),
    ) -> Result<Status, CallError> {
        let connection = self.connection().ok_or(CallError::Disconnected)?;
        let target = self.target.lock().clone();
        let mut to = Encoder::new();
        to.put(&CallbackHeader { tag: Bytes::new(), minor_version: 1, ident: 0, operations: 2 });
        to.u32(CallbackOperation::Sequence.number());
        to.put(&self.sequence(slot));
        operation(&mut to);
        let results = connection
            .call(
                target.program,
                CALLBACK_VERSION,
                callback_procedure::COMPOUND,
                target.credential,
                to.into_inner(),
                TIMEOUT,
            )
            .await?;
        self.works.store(true, Ordering::Relaxed);
        let (status, sequenced) = decode(results).map_err(CallError::Protocol)?;
        if sequenced {
            slot.advance();
        }
        Ok(status)
    }

    fn sequence(&self, slot: &TakenSlot<'_>) -> CbSequenceArgs {
        CbSequenceArgs {
            session: self.session,
            sequence: SequenceId(slot.sequence).next(),
            slot: SlotId(slot.index as u32),
            highest_slot: SlotId(self.slots.lock().len() as u32 - 1),
            cache_this: false,
            referring_calls: Vec::new(),
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
        Some(TakenSlot { channel: self, index, sequence: slots[index].sequence })
    }
}

/// A slot that is free again when this is dropped.
struct TakenSlot<'a> {
    channel: &'a Backchannel,
    index: usize,
    sequence: u32,
}

impl TakenSlot<'_> {
    fn advance(&self) {
        self.channel.slots.lock()[self.index].sequence = self.sequence.wrapping_add(1);
    }
}

impl Drop for TakenSlot<'_> {
    fn drop(&mut self) {
        self.channel.slots.lock()[self.index].busy = false;
        self.channel.freed.notify(1);
    }
}

/// The status of a CB_COMPOUND, and whether its CB_SEQUENCE succeeded.
fn decode(results: Bytes) -> xdr::Result<(Status, bool)> {
    let mut from = Decoder::new(results);
    let header = CallbackReplyHeader { status: from.get()?, tag: from.opaque(1024)?, results: from.u32()? };
    let sequenced = header.results > 0
        && from.u32()? == CallbackOperation::Sequence.number()
        && from.get::<Status>()? == Status::Ok;
    Ok((header.status, sequenced))
}
