//! A confirmed client: its lease and an index of its state.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;
use proto::nfs4::{ClientId, StateId, Status, sequence_flags};

use crate::{FileId, Now};

/// What a stateid's `other` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateKind {
    Open,
    Lock,
    Delegation,
}

/// A client as its sessions and state know it.
#[derive(Debug)]
pub struct Client {
    id: ClientId,
    renewed: AtomicU64,
    reclaim_complete: AtomicBool,
    gone: AtomicBool,
    flags: AtomicU32,
    states: Mutex<BTreeMap<[u8; 12], (FileId, StateKind)>>,
    /// Stateids that were revoked and wait for FREE_STATEID.
    revoked: Mutex<BTreeMap<[u8; 12], Status>>,
}

impl Client {
    pub(crate) fn new(id: ClientId, now: Now) -> Self {
        Self {
            id,
            renewed: AtomicU64::new(now.0),
            reclaim_complete: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            flags: AtomicU32::new(0),
            states: Mutex::default(),
            revoked: Mutex::default(),
        }
    }

    /// Its number.
    pub fn id(&self) -> ClientId {
        self.id
    }

    /// Renews its lease (RFC 8881 §8.3).
    pub fn renew(&self, now: Now) {
        self.renewed.fetch_max(now.0, Ordering::Relaxed);
    }

    pub(crate) fn renewed(&self) -> Now {
        Now(self.renewed.load(Ordering::Relaxed))
    }

    /// Ends its reclaiming (RFC 8881 §18.51).
    ///
    /// # Errors
    /// COMPLETE_ALREADY the second time.
    pub fn reclaim_complete(&self) -> Result<(), Status> {
        if self.reclaim_complete.swap(true, Ordering::Relaxed) {
            Err(Status::CompleteAlready)
        } else {
            Ok(())
        }
    }

    /// Bits for SEQUENCE's `status_flags`.
    pub fn status_flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// True once the client was destroyed, replaced or expired.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    pub(crate) fn leave(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_state(&self) -> bool {
        !self.states.lock().is_empty()
    }

    pub(crate) fn state_count(&self) -> usize {
        self.states.lock().len()
    }

    pub(crate) fn add_state(&self, other: [u8; 12], file: FileId, kind: StateKind) {
        self.states.lock().insert(other, (file, kind));
    }

    pub(crate) fn remove_state(&self, other: &[u8; 12]) {
        self.states.lock().remove(other);
    }

    pub(crate) fn take_states(&self) -> BTreeMap<[u8; 12], (FileId, StateKind)> {
        self.revoked.lock().clear();
        std::mem::take(&mut *self.states.lock())
    }

    pub(crate) fn revoke(&self, other: [u8; 12]) {
        self.remove_state(&other);
        self.revoked.lock().insert(other, Status::DelegationRevoked);
        self.flags.fetch_or(sequence_flags::RECALLABLE_STATE_REVOKED, Ordering::Relaxed);
    }

    /// Forgets a revoked stateid; false when there is none.
    pub(crate) fn free_revoked(&self, other: &[u8; 12]) -> bool {
        let mut revoked = self.revoked.lock();
        let freed = revoked.remove(other).is_some();
        if revoked.is_empty() {
            self.flags.fetch_and(!sequence_flags::RECALLABLE_STATE_REVOKED, Ordering::Relaxed);
        }
        freed
    }

    /// Where the state that `id` names is kept.
    ///
    /// # Errors
    /// DELEG_REVOKED, or BAD_STATEID: also for one of another client or of an earlier incarnation of the server, for which
    /// NFSv4.1 has no status of its own any more (RFC 8881 §15.1.16).
    pub(crate) fn find(&self, id: &StateId) -> Result<(FileId, StateKind), Status> {
        if let Some(found) = self.states.lock().get(&id.other) {
            return Ok(*found);
        }
        if let Some(status) = self.revoked.lock().get(&id.other) {
            return Err(*status);
        }
        Err(Status::BadStateId)
    }
}

/// The rule for a stateid's sequence (RFC 8881 §8.2.2): 0 means the newest.
pub(crate) fn check_sequence(given: u32, current: u32) -> Result<(), Status> {
    match given {
        0 => Ok(()),
        given if given == current => Ok(()),
        // Wrapped arithmetic: what is less than half the circle behind is old.
        given if current.wrapping_sub(given) < u32::MAX / 2 => Err(Status::OldStateId),
        _ => Err(Status::BadStateId),
    }
}

/// The sequence after `current`; 0 is never used (RFC 8881 §8.2.2).
pub(crate) fn next_sequence(current: u32) -> u32 {
    current.checked_add(1).unwrap_or(1)
}
