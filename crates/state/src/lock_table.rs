//! The lock stateids of one file, and the ranges that are locked under them.
//!
//! ```text
//!   open ──▶ lock stateid ◀── lock-owner ──▶ ranges
//! ```
//! A lock-owner has one stateid for each open that it locks under, and its ranges belong to all of them. An
//! open cannot be closed while it is the only one of a lock-owner with ranges: the owner is *pinned* to it.
//! Pins are counted, so that CLOSE need not go through the lock-owners.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{ClientId, StateOther, Status};

use crate::range_table::RangeTable;
use crate::small_map::SmallMap;
use crate::steps::step;
use crate::{Client, LockOwner, Range};

/// Ranges that are removed in one piece, under one lock of the file's shard.
pub(crate) const PIECE: usize = 1024;

/// A lock-owner's locks of the file, under one open.
#[derive(Debug)]
pub(crate) struct LockState {
    pub(crate) other: StateOther,
    pub(crate) sequence: u32,
    pub(crate) client: Arc<Client>,
    pub(crate) owner: Bytes,
    /// The open under which it was made.
    pub(crate) open: StateOther,
}

impl LockState {
    fn key(&self) -> OwnerKey {
        (self.client.id(), self.owner.clone(), self.open)
    }

    pub(crate) fn lock_owner(&self) -> LockOwner {
        LockOwner::Nfs4 { client: self.client.id(), owner: self.owner.clone() }
    }
}

/// Client, lock-owner and open.
type OwnerKey = (ClientId, Bytes, StateOther);

#[derive(Debug, Default)]
pub(crate) struct LockTable {
    by_other: SmallMap<StateOther, Box<LockState>>,
    by_owner: SmallMap<OwnerKey, StateOther>,
    /// By open and lock stateid.
    by_open: SmallMap<(StateOther, StateOther), ()>,
    /// Lock-owners that are pinned to an open, of those opens that have any.
    pins: SmallMap<StateOther, usize>,
    ranges: RangeTable,
}

impl LockTable {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_other.is_empty() && self.ranges.is_empty()
    }

    pub(crate) fn ranges(&self) -> &RangeTable {
        &self.ranges
    }

    pub(crate) fn get(&self, other: &StateOther) -> Option<&LockState> {
        self.by_other.get(other).map(|lock| &**lock)
    }

    /// The lock stateid of an owner under an open.
    pub(crate) fn of_owner(&self, client: ClientId, owner: &Bytes, open: StateOther) -> Option<StateOther> {
        self.by_owner.get(&(client, owner.clone(), open)).copied()
    }

    /// A lock stateid of a client.
    pub(crate) fn of_client(&self, client: ClientId) -> Option<&LockState> {
        let (key, other) = self.by_owner.from(&(client, Bytes::new(), StateOther::ZEROS)).next()?;
        if key.0 == client { self.get(other) } else { None }
    }

    /// The clients with lock stateids, each once.
    pub(crate) fn clients(&self) -> impl Iterator<Item = &Arc<Client>> {
        let mut next = Some(ClientId(0));
        std::iter::from_fn(move || {
            let (_, other) = self.by_owner.from(&(next?, Bytes::new(), StateOther::ZEROS)).next()?;
            let client = &self.get(other)?.client;
            next = client.id().0.checked_add(1).map(ClientId);
            Some(client)
        })
    }

    pub(crate) fn insert(&mut self, lock: LockState) {
        let (other, open, key) = (lock.other, lock.open, lock.key());
        self.repin(&lock.lock_owner(), |table| {
            table.by_owner.insert(key, other);
            table.by_open.insert((open, other), ());
            table.by_other.insert(other, Box::new(lock));
        });
    }

    /// Moves a lock stateid's sequence on; returns the new one.
    ///
    /// # Errors
    /// BAD_STATEID when there is none.
    pub(crate) fn advance(&mut self, other: &StateOther) -> Result<u32, Status> {
        let lock = self.by_other.get_mut(other).ok_or(Status::BadStateId)?;
        lock.sequence = crate::client::next_sequence(lock.sequence);
        Ok(lock.sequence)
    }

    /// Locks a range that conflicts with none.
    pub(crate) fn lock(&mut self, owner: &LockOwner, range: Range, exclusive: bool) {
        self.repin(owner, |table| table.ranges.lock(owner, range, exclusive));
    }

    /// Unlocks a range, of at most `most` of the owner's locks; true when none is left there.
    pub(crate) fn unlock_some(&mut self, owner: &LockOwner, range: Range, most: usize) -> bool {
        self.repin(owner, |table| table.ranges.unlock_some(owner, range, most))
    }

    /// Unlocks a range.
    pub(crate) fn unlock(&mut self, owner: &LockOwner, range: Range) {
        self.unlock_some(owner, range, usize::MAX);
    }

    /// Removes a lock stateid with its owner's ranges, unless the owner has another; true when it is gone.
    /// At most [`PIECE`] ranges go at a time.
    pub(crate) fn remove_some(&mut self, other: &StateOther) -> bool {
        let Some(lock) = self.get(other) else { return true };
        let owner = lock.lock_owner();
        let is_shared = self.states_of(&owner).nth(1).is_some();
        if !is_shared && !self.unlock_some(&owner, Range::ALL, PIECE) {
            return false;
        }
        self.forget(other);
        true
    }

    /// Removes a lock stateid, but no ranges.
    fn forget(&mut self, other: &StateOther) {
        let Some(lock) = self.by_other.remove(other) else { return };
        // The stateid's own pin is found in the indices, which it is still in.
        self.repin(&lock.lock_owner(), |table| {
            table.by_owner.remove(&lock.key());
            table.by_open.remove(&(lock.open, lock.other));
        });
    }

    /// Removes the lock stateids of an open that no lock-owner is pinned to, and returns them.
    pub(crate) fn remove_of_open(&mut self, open: &StateOther) -> Vec<StateOther> {
        let of_open = self.by_open.from(&(*open, StateOther::ZEROS)).map(|(key, ())| *key);
        let removed: Vec<StateOther> =
            of_open.take_while(|(of, _)| of == open).map(|(_, other)| other).collect();
        removed.iter().for_each(|other| self.forget(other));
        removed
    }

    /// True while a range is locked under an open, and under no other open of the same lock-owner.
    pub(crate) fn is_pinned(&self, open: &StateOther) -> bool {
        self.pins.get(open).is_some()
    }

    /// True when the locks of this stateid's owner cover any range.
    pub(crate) fn has_ranges(&self, other: &StateOther) -> bool {
        self.get(other).is_some_and(|lock| self.ranges.holds(&lock.lock_owner()))
    }

    /// The opens that a lock-owner has lock stateids under.
    fn states_of(&self, owner: &LockOwner) -> impl Iterator<Item = StateOther> {
        let key = match owner {
            LockOwner::Nfs4 { client, owner } => Some((*client, owner.clone(), StateOther::ZEROS)),
            LockOwner::Nlm { .. } => None,
        };
        let states = key.map(|key| {
            let from = self.by_owner.from(&key);
            from.take_while(move |(found, _)| (found.0, &found.1) == (key.0, &key.1))
                .map(|(found, _)| found.2)
        });
        states.into_iter().flatten()
    }

    /// The open that a lock-owner is pinned to.
    fn pin_of(&self, owner: &LockOwner) -> Option<StateOther> {
        let mut states = self.states_of(owner);
        let first = states.next()?;
        (states.next().is_none() && self.ranges.holds(owner)).then_some(first)
    }

    /// Changes what a lock-owner has, and counts its pin.
    fn repin<R>(&mut self, owner: &LockOwner, change: impl FnOnce(&mut Self) -> R) -> R {
        step();
        let before = self.pin_of(owner);
        let result = change(self);
        let after = self.pin_of(owner);
        if before != after {
            for (open, is_new) in [(before, false), (after, true)] {
                let Some(open) = open else { continue };
                let pins = self.pins.get(&open).copied().unwrap_or(0);
                let pins = if is_new { pins + 1 } else { pins.saturating_sub(1) };
                if pins == 0 {
                    self.pins.remove(&open);
                } else {
                    self.pins.insert(open, pins);
                }
            }
        }
        result
    }
}
