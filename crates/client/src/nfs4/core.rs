//! What sessions, callbacks and background tasks of one mount share.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use lru::LruCache;
use parking_lot::Mutex;
use proto::nfs4::{ChannelAttributes, ClientId, ClientOwner, SequenceId, StateOther};
use rpc_net::Client;
use tokio::sync::{Notify, Semaphore};

use super::callback::Callbacks;
use super::closes::Closes;
use super::gate::Session;
use super::lease::Lease;
use super::owners::Owners;
use super::recovery::Making;
use crate::node::Node;
use crate::options::Options;
use crate::shared::Shared;
use crate::tap::Tap;

/// Requests that only close, under way at once.
pub(super) const CLOSING_MAX: usize = 16;
/// Recalls that are remembered because the delegation has not arrived yet.
pub(super) const EARLY_RECALLS_MAX: usize = 256;

/// One mount.
pub(super) struct Core {
    /// 1 or 2, for all COMPOUNDs of the client (RFC 8178 §8.1).
    pub(super) minor_version: u32,
    pub(super) options: Options,
    pub(super) tap: Arc<Tap>,
    pub(super) connections: Vec<Client>,
    pub(super) next_connection: AtomicUsize,
    pub(super) owner: Mutex<ClientOwner>,
    pub(super) incarnation: Mutex<Incarnation>,
    pub(super) session: Mutex<Option<Arc<Session>>>,
    /// The server names itself as this project's: long COMPOUNDs with several WRITEs are known to be carried
    /// out well there.
    pub(super) is_known_well: AtomicBool,
    /// The server sends CB_NOTIFY_LOCK.
    pub(super) notifies_locks: AtomicBool,
    /// What was agreed for the session's fore channel.
    pub(super) fore_channel: Mutex<Option<ChannelAttributes>>,
    pub(super) callbacks: Arc<Callbacks>,
    /// Session and client are being made anew: everybody waits for the same attempt.
    pub(super) making: Mutex<Option<Making>>,
    /// A session that the server has kept over its restart, in which what it has not kept is to be taken
    /// back.
    pub(super) kept: Mutex<Option<Arc<Session>>>,
    /// The incarnation whose reclaiming is done, and since when.
    pub(super) reclaimed: Mutex<(u64, Instant)>,
    /// Held meanwhile.
    pub(super) recovering: tokio::sync::Mutex<()>,
    /// How often the first connection had been made when it was last bound to the session.
    pub(super) bound_generation: AtomicU64,
    /// The connection was lost, or the server says that it cannot call back.
    pub(super) attention: Arc<Notify>,
    pub(super) notices: AtomicU32,
    /// Held while something that was noticed is attended to.
    pub(super) attending: tokio::sync::Mutex<()>,
    pub(super) lease: Arc<Lease>,
    pub(super) owners: Mutex<Owners>,
    pub(super) delegations: Mutex<LruCache<u64, Arc<Node>>>,
    /// Objects whose delegation a task is giving back.
    pub(super) returning: Mutex<BTreeMap<u64, Arc<Node>>>,
    pub(super) early_recalls: Mutex<VecDeque<StateOther>>,
    /// Opens that nobody uses any more.
    pub(super) closes: Mutex<Closes>,
    pub(super) closing: Semaphore,
    pub(super) shared: OnceLock<Weak<Shared>>,
    pub(super) ended: AtomicBool,
}

/// The client as the server knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incarnation {
    pub(super) client: ClientId,
    /// The number that the next CREATE_SESSION carries.
    pub(super) sequence: SequenceId,
}

impl Core {
    pub(super) fn shared(&self) -> Option<Arc<Shared>> {
        self.shared.get().and_then(Weak::upgrade)
    }

    /// The present incarnation's number.
    pub(super) fn epoch(&self) -> u64 {
        self.lease.epoch()
    }

    pub(super) fn connection(&self) -> &Client {
        match &self.connections[..] {
            [only] => only,
            all => &all[self.next_connection.fetch_add(1, Ordering::Relaxed) % all.len()],
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.attention.notify_one();
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("session", &self.session).finish_non_exhaustive()
    }
}
