//! Byte-range locks of hosts that lock through NLM, in the table that NFSv4's are in.

use bytes::Bytes;
use proto::nfs4::Status;

use crate::file::FileState;
use crate::locks::unlock_range;
use crate::{Blocked, FileId, LockError, LockOwner, Now, Range, State};

/// What an owner held of a range before a lock that can still be undone, less what it has unlocked since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldBefore(Vec<(Range, bool)>);

impl HeldBefore {
    /// Notes that the owner has locked a range since: undoing the earlier lock keeps it.
    pub fn lock(&mut self, range: Range, exclusive: bool) {
        self.unlock(range);
        self.0.push((range, exclusive));
    }

    /// Notes that a later lock of the owner has been undone: of its range, the owner holds what it held before that.
    pub fn undo(&mut self, range: Range, before: &Self) {
        self.unlock(range);
        self.0.extend_from_slice(&before.0);
    }

    /// Notes that the owner has unlocked a range since: undoing the earlier lock does not lock it again.
    pub fn unlock(&mut self, range: Range) {
        let rests =
            |(held, exclusive): (Range, bool)| without(held, range).map(move |rest| (rest, exclusive));
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
    /// Locks a range for an NLM caller, and says what the caller held of it before.
    ///
    /// # Errors
    /// DENIED with the lock in the way; DELAY at a bound; delegations in the way, and clients whose lease is over.
    pub fn nlm_lock(
        &self,
        file: FileId,
        owner: &LockOwner,
        (range, exclusive): (Range, bool),
        now: Now,
    ) -> Result<HeldBefore, LockError> {
        if !self.holdings.has_room(host_of(owner)) {
            return Err(Status::Delay.into());
        }
        self.nlm_change(file, owner, |state| {
            // Together with the lock: a delegation that is granted in between would let others lock unseen.
            let obstacles = self.recall_conflicts((file, state), None, exclusive, now);
            if !obstacles.is_empty() {
                return Err(LockError::Blocked(Blocked::By(obstacles)));
            }
            let before = state.ranges.held_within(owner, &range);
            self.lock_range(state, owner, (range, exclusive), now)?;
            Ok(HeldBefore(before))
        })
    }

    /// Undoes a lock that its owner does not want after all, or cannot be told of: what it held before, it has again.
    pub fn nlm_undo(&self, file: FileId, owner: &LockOwner, range: Range, before: &HeldBefore) {
        self.nlm_change(file, owner, |state| {
            state.ranges.unlock(owner, range);
            for (range, exclusive) in &before.0 {
                state.ranges.lock(owner, *range, *exclusive);
            }
        });
    }

    /// Unlocks a range for an NLM caller; a range that is not locked is no error.
    ///
    /// # Errors
    /// DELAY when splitting a lock would go beyond the bound.
    pub fn nlm_unlock(&self, file: FileId, owner: &LockOwner, range: Range) -> Result<(), Status> {
        let ranges_max = self.limits.ranges_per_file_max;
        self.nlm_change(file, owner, |state| unlock_range(&mut state.ranges, owner, range, ranges_max))
    }

    /// Removes all locks and shares of a host (FREE_ALL, or it has restarted).
    pub fn nlm_free_all(&self, gone: &Bytes) {
        // Nothing of it is anywhere: the table need not be looked through.
        if !self.holdings.holds(gone) {
            return;
        }
        for shard in self.files.shards() {
            shard.files.lock().retain(|_, state| {
                let before = state.ranges.len() + state.shares.len();
                state.ranges.remove(|owner| matches!(owner, LockOwner::Nlm { host, .. } if host == gone));
                state.shares.retain(|share| share.owner.host != gone);
                self.holdings.change(gone, before - state.ranges.len() - state.shares.len(), 0);
                !state.is_idle() || state.recalled.is_some()
            });
        }
    }

    /// True when a host holds a lock or a share.
    pub fn nlm_holds(&self, host: &Bytes) -> bool {
        self.holdings.holds(host)
    }

    /// The hosts that hold a lock or a share and whose names begin so: with an address and a space, all of that address.
    pub fn nlm_hosts(&self, prefix: &[u8]) -> Vec<Bytes> {
        self.holdings.beginning_with(prefix)
    }

    /// Changes the ranges of one owner, and counts them.
    fn nlm_change<R>(&self, file: FileId, owner: &LockOwner, work: impl FnOnce(&mut FileState) -> R) -> R {
        self.files.with(file, |state, _| {
            let before = state.ranges.len();
            let result = work(state);
            // Nobody else's are touched: the difference is the owner's.
            let (more, fewer) =
                (state.ranges.len().saturating_sub(before), before.saturating_sub(state.ranges.len()));
            self.holdings.change(host_of(owner), fewer, more);
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
