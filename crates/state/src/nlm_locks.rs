//! Byte-range locks of hosts that lock through NLM, in the table that NFSv4's are in.

use bytes::Bytes;
use proto::nfs4::Status;

use crate::file::FileState;
use crate::lock_table::PIECE;
use crate::recallable::Usage;
use crate::{Blocked, ByteRangeLock, FileId, LockError, LockOwner, Now, Range, State};

/// The locks of an owner within a range before a lock that can still be undone, less those it has unlocked
/// since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldBefore(Vec<ByteRangeLock>);

impl HeldBefore {
    /// Notes that the owner has locked a range since: undoing the earlier lock keeps it.
    pub fn lock(&mut self, range: Range, exclusive: bool) {
        self.unlock(range);
        self.0.push(ByteRangeLock { range, exclusive });
    }

    /// Notes that a later lock of the owner has been undone: of its range, the owner holds what it held
    /// before that.
    pub fn undo(&mut self, range: Range, before: &Self) {
        self.unlock(range);
        self.0.extend_from_slice(&before.0);
    }

    /// Notes that the owner has unlocked a range since: undoing the earlier lock does not lock it again.
    pub fn unlock(&mut self, range: Range) {
        let rests = |held: ByteRangeLock| {
            without(held.range, range).map(move |rest| ByteRangeLock { range: rest, ..held })
        };
        self.0 = std::mem::take(&mut self.0).into_iter().flat_map(rests).collect();
    }
}

impl Range {
    /// True when every byte of another range is in this one.
    pub fn contains(&self, other: &Self) -> bool {
        without(*other, *self).next().is_none()
    }
}

/// The parts of a range that are not in another.
fn without(held: Range, gone: Range) -> impl Iterator<Item = Range> {
    let last = |range: Range| match range.length() {
        u64::MAX => u64::MAX,
        length => range.offset() + (length - 1),
    };
    let part = |from: u64, to: u64| {
        let length = if to == u64::MAX { u64::MAX } else { to - from + 1 };
        Range::new(from, length).ok()
    };
    let (whole, before, after) = if held.overlaps(&gone) {
        let before = (held.offset() < gone.offset()).then(|| part(held.offset(), gone.offset() - 1));
        let after = (last(held) > last(gone)).then(|| part(last(gone) + 1, last(held)));
        (None, before.flatten(), after.flatten())
    } else {
        (Some(held), None, None)
    };
    whole.into_iter().chain(before).chain(after)
}

impl State {
    /// Locks a range for an NLM caller. Returns the locks that the caller held within it before.
    ///
    /// # Errors
    /// DENIED with the conflicting lock; DELAY at a bound; conflicting delegations, and the clients with
    /// conflicting locks whose lease has expired.
    pub fn nlm_lock(
        &self,
        file: FileId,
        owner: &LockOwner,
        wanted: ByteRangeLock,
        now: Now,
    ) -> Result<HeldBefore, LockError> {
        if !self.holdings.has_room(host_of(owner)) {
            return Err(Status::Delay.into());
        }
        self.nlm_change(file, owner, |state| {
            // Together with the lock: a delegation that is granted in between would let others lock unseen.
            let usage = Usage::of_all(wanted.exclusive);
            let obstacles = self.conflicts_in(file, state, None, &usage, now);
            if !obstacles.is_empty() {
                return Err(LockError::Blocked(Blocked::By(obstacles)));
            }
            let before = state.locks.ranges().held_within(owner, &wanted.range);
            self.lock_range(state, owner, wanted, now)?;
            Ok(HeldBefore(before))
        })
    }

    /// Undoes a lock that its owner does not want after all, or cannot be told of: what it held before, it
    /// has again.
    pub fn nlm_undo(&self, file: FileId, owner: &LockOwner, range: Range, before: &HeldBefore) {
        self.nlm_change(file, owner, |state| {
            state.locks.unlock(owner, range);
            for held in &before.0 {
                state.locks.lock(owner, held.range, held.exclusive);
            }
        });
    }

    /// Unlocks a range for an NLM caller; a range that is not locked is no error.
    ///
    /// # Errors
    /// DELAY when splitting a lock would go beyond the bound.
    pub fn nlm_unlock(&self, file: FileId, owner: &LockOwner, range: Range) -> Result<(), Status> {
        while !self.nlm_change(file, owner, |state| self.unlock_piece(&mut state.locks, owner, range))? {}
        Ok(())
    }

    /// Removes all locks and shares of a host (FREE_ALL, or it has restarted). Only its own files are
    /// visited, and the shard of a file is locked for a piece at a time.
    pub fn nlm_free_all(&self, gone: &Bytes) {
        let mut next = self.holdings.next_file(gone, None);
        while let Some(file) = next {
            while self.nlm_free_some(file, Some(gone)) > 0 {}
            next = self.holdings.next_file(gone, Some(file));
        }
    }

    /// Removes a piece of what a host, or every host, holds of a file; returns how much.
    pub(crate) fn nlm_free_some(&self, file: FileId, host: Option<&Bytes>) -> usize {
        self.files.with(file, |state, _| {
            if let Some(owner) = state.locks.ranges().an_nlm_owner(host) {
                let before = state.locks.ranges().len();
                state.locks.unlock_some(&owner, Range::ALL, PIECE);
                let freed = before - state.locks.ranges().len();
                self.holdings.change(host_of(&owner), file, freed, 0);
                return freed;
            }
            let shares = state.shares.remove_of_host(host);
            for owner in &shares {
                self.holdings.change(&owner.host, file, 1, 0);
            }
            shares.len()
        })
    }

    /// True when a host holds a lock or a share.
    pub fn nlm_holds(&self, host: &Bytes) -> bool {
        self.holdings.holds(host)
    }

    /// The hosts that hold a lock or a share and whose names begin so: with an address and a space, all of
    /// that address.
    pub fn nlm_hosts(&self, prefix: &[u8]) -> Vec<Bytes> {
        self.holdings.beginning_with(prefix)
    }

    /// Changes the ranges of one owner, and counts them.
    fn nlm_change<R>(&self, file: FileId, owner: &LockOwner, work: impl FnOnce(&mut FileState) -> R) -> R {
        self.files.with(file, |state, _| {
            let before = state.locks.ranges().len();
            let result = work(state);
            // Nobody else's are touched: the difference is the owner's.
            let after = state.locks.ranges().len();
            let (more, fewer) = (after.saturating_sub(before), before.saturating_sub(after));
            self.holdings.change(host_of(owner), file, fewer, more);
            result
        })
    }
}

fn host_of(owner: &LockOwner) -> &Bytes {
    static NONE: Bytes = Bytes::new();
    match owner {
        LockOwner::Nlm { host, .. } => host,
        LockOwner::Nfs4 { .. } => &NONE,
    }
}
