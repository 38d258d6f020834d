//! The objects that the client knows: one [`Node`] for each file handle, with everything remembered of it.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use bytes::Bytes;
use lru::LruCache;
use parking_lot::Mutex;

use crate::attributes::{Access, Attributes, Time};
use crate::cache::{CachedAttributes, DataKey};
use crate::fetch::Fetches;
use crate::file::OpenFile;
use crate::habit::{LockHabit, WriteHabit};
use crate::lock_queue::LockQueue;
use crate::locks::{LockTable, UnknownLocks};
use crate::nfs4::{Delegation, Lease, ServerOpen};
use crate::writer::Writer;

/// What the server calls an object; opaque, of any version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Handle(pub(crate) Bytes);

/// An object.
#[derive(Debug)]
pub(crate) struct Node {
    /// Unique in this client.
    pub(crate) key: u64,
    pub(crate) handle: Handle,
    pub(crate) state: Mutex<NodeState>,
    /// Held while open, lock and delegation state moves between client and server.
    pub(crate) gate: Arc<tokio::sync::Mutex<()>>,
    /// Callers that wait for locks.
    pub(crate) lock_queue: LockQueue,
    /// Held while data are appended: from finding the end until the data are taken.
    pub(crate) appending: tokio::sync::Mutex<()>,
    /// Reads under way.
    pub(crate) fetches: Arc<Fetches>,
}

/// What is remembered of an object.
#[derive(Debug)]
pub(crate) struct NodeState {
    pub(crate) known: CachedAttributes,
    /// The answer to ACCESS: what was asked, what was granted, and the change time for which it holds.
    pub(crate) access: Option<(Access, Access, Time)>,
    /// When the last change of our own was answered: what was asked before that may be from before it.
    pub(crate) changed: Option<Instant>,
    /// Counts our own writes of data, when they are taken and when they are done.
    pub(crate) writes: u64,
    pub(crate) locks: LockTable,
    pub(crate) unknown_locks: UnknownLocks,
    pub(crate) habit: LockHabit,
    pub(crate) write_habit: WriteHabit,
    /// Files that are open.
    pub(crate) opens: Vec<Weak<OpenFile>>,
    /// What those that are open for writing have written.
    pub(crate) writer: Weak<Writer>,
    /// NFSv4.1: the delegation that we hold.
    pub(crate) delegation: Option<Delegation>,
    /// NFSv4.1: an open at the server that no file uses, kept while the delegation lasts.
    pub(crate) parked: Option<ServerOpen>,
    lease: Arc<Lease>,
}

impl Node {
    fn new(key: u64, handle: Handle, lease: Arc<Lease>) -> Self {
        let state = NodeState {
            known: CachedAttributes::nothing(),
            access: None,
            changed: None,
            writes: 0,
            locks: LockTable::default(),
            unknown_locks: UnknownLocks::default(),
            habit: LockHabit::default(),
            write_habit: WriteHabit::default(),
            opens: Vec::new(),
            writer: Weak::new(),
            delegation: None,
            parked: None,
            lease,
        };
        Self {
            key,
            handle,
            state: Mutex::new(state),
            gate: Arc::default(),
            lock_queue: LockQueue::default(),
            appending: tokio::sync::Mutex::default(),
            fetches: Arc::default(),
        }
    }
}

impl NodeState {
    /// Where the data of the present epoch are cached.
    pub(crate) fn data_key(&self, key: u64) -> DataKey {
        DataKey { file: key, epoch: self.known.epoch() }
    }

    /// True while a delegation is held that is not recalled, and the server has not had reason to end it:
    /// nobody else changes the object.
    pub(crate) fn is_delegated(&self) -> bool {
        self.delegation.as_ref().is_some_and(|delegation| {
            !delegation.returning && self.lease.holds(delegation.epoch, Instant::now())
        })
    }

    /// As [`NodeState::is_delegated`], for writing: nobody else reads it either.
    pub(crate) fn is_write_delegated(&self) -> bool {
        self.is_delegated() && self.delegation.is_some_and(|delegation| delegation.write)
    }

    /// The delegation for writing that is held; nobody else changes the object before it is on its way back.
    pub(crate) fn held_for_writing(&self) -> Option<proto::nfs4::StateOther> {
        let held = self.delegation.filter(|delegation| delegation.write && !delegation.ending)?;
        self.lease.holds(held.epoch, Instant::now()).then_some(held.state_id.other)
    }

    /// True while locks of this kind are ours to grant: under a delegation for reading others may hold shared
    /// locks that the server does not know of either. What the server was asked for before the delegation
    /// came, it may grant yet.
    pub(crate) fn grants_locks(&self, exclusive: bool) -> bool {
        self.unknown_locks.is_none()
            && if exclusive { self.is_write_delegated() } else { self.is_delegated() }
    }

    /// True when no change of our own was answered since a request was sent at `asked`.
    pub(crate) fn is_unchanged_since(&self, asked: Instant) -> bool {
        self.changed.is_none_or(|changed| asked >= changed)
    }

    /// The attributes, where they need not be asked for. Nothing is believed of a delegation that may have
    /// ended unnoticed.
    pub(crate) fn believed(&self, now: Instant) -> Option<&Attributes> {
        if self.known.is_outdated() {
            return None;
        }
        match &self.delegation {
            Some(_) if self.is_delegated() => self.known.certain(),
            Some(delegation) if !delegation.returning => None,
            _ => self.known.believed(now),
        }
    }

    /// The files that are open.
    pub(crate) fn open_files(&self) -> Vec<Arc<OpenFile>> {
        self.opens.iter().filter_map(Weak::upgrade).collect()
    }
}

/// The objects of a client, bounded; of those that nobody uses the least recently used ones go first.
#[derive(Debug)]
pub(crate) struct NodeTable {
    nodes: Mutex<LruCache<Handle, Arc<Node>>>,
    next_key: AtomicU64,
    nodes_max: usize,
    lease: Arc<Lease>,
}

/// How many of the least recently used nodes are looked at for one that nobody uses.
const EVICTION_TRIES: usize = 8;

impl NodeTable {
    pub(crate) fn new(nodes_max: NonZeroUsize, lease: Arc<Lease>) -> Self {
        Self {
            nodes: Mutex::new(LruCache::unbounded()),
            next_key: AtomicU64::new(1),
            nodes_max: nodes_max.get(),
            lease,
        }
    }

    /// The node of `handle`, if it is known.
    pub(crate) fn find(&self, handle: &Handle) -> Option<Arc<Node>> {
        self.nodes.lock().get(handle).cloned()
    }

    /// The node of `handle`, made when it is not known yet.
    pub(crate) fn get(&self, handle: &Handle) -> Arc<Node> {
        let mut nodes = self.nodes.lock();
        if let Some(node) = nodes.get(handle) {
            return Arc::clone(node);
        }
        let key = self.next_key.fetch_add(1, Ordering::Relaxed);
        // A handle may be a slice of a large record.
        let handle = Handle(Bytes::copy_from_slice(&handle.0));
        let node = Arc::new(Node::new(key, handle.clone(), Arc::clone(&self.lease)));
        nodes.put(handle, Arc::clone(&node));
        for _ in 0..EVICTION_TRIES {
            if nodes.len() <= self.nodes_max {
                break;
            }
            let Some((handle, oldest)) = nodes.pop_lru() else { break };
            if Arc::strong_count(&oldest) > 1 {
                nodes.put(handle, oldest);
            }
        }
        node
    }

    /// All objects.
    pub(crate) fn all(&self) -> Vec<Arc<Node>> {
        self.nodes.lock().iter().map(|(_, node)| Arc::clone(node)).collect()
    }

    /// Forgets an object that the server no longer has.
    pub(crate) fn remove(&self, handle: &Handle) {
        self.nodes.lock().pop(handle);
    }
}

#[cfg(test)]
mod tests {
    use proto::nfs4::StateId;

    use super::*;

    #[test]
    fn a_delegation_for_reading_grants_no_exclusive_locks() {
        let node = Node::new(1, Handle(Bytes::new()), Arc::default());
        let mut state = node.state.lock();
        let (state_id, granted) = (StateId::ANONYMOUS, Instant::now());
        let delegation =
            Delegation { state_id, write: false, returning: false, ending: false, epoch: 0, granted };
        assert!(!state.grants_locks(false) && !state.grants_locks(true));
        state.delegation = Some(delegation);
        assert!(state.grants_locks(false) && !state.grants_locks(true));
        state.delegation = Some(Delegation { write: true, ..delegation });
        assert!(state.grants_locks(false) && state.grants_locks(true));
        let asked_for = state.unknown_locks.ask();
        assert!(!state.grants_locks(false) && !state.grants_locks(true), "the server may grant another");
        drop(asked_for);
        assert!(state.grants_locks(true));
        state.delegation = Some(Delegation { write: true, returning: true, ..delegation });
        assert!(state.held_for_writing().is_some(), "what is written still comes before anything of others");
        state.delegation = Some(Delegation { write: true, returning: true, ending: true, ..delegation });
        assert!(state.held_for_writing().is_none());
        assert!(!state.grants_locks(false) && !state.grants_locks(true));
    }
}
