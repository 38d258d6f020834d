//! The byte-range locks that the open files of this client hold on one object: what a delegation lets us
//! decide alone, and what must be taken again at the server when it is recalled. Pure.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A lock that is held. A range that ends at `u64::MAX` reaches to the end of the file, however long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldLock {
    /// The open file.
    pub(crate) owner: u64,
    pub(crate) range: Range<u64>,
    pub(crate) exclusive: bool,
}

impl HeldLock {
    /// As it is on the wire: `u64::MAX` reaches to the end of the file (RFC 8881 §18.10.3).
    pub(crate) fn length(&self) -> u64 {
        length(&self.range)
    }
}

/// The length of a range on the wire.
pub(crate) fn length(range: &Range<u64>) -> u64 {
    if range.end == u64::MAX { u64::MAX } else { range.end - range.start }
}

/// All locks on an object.
#[derive(Debug, Default)]
pub(crate) struct LockTable {
    held: Vec<HeldLock>,
}

impl LockTable {
    /// True when nobody holds anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// True when another owner's lock forbids this one.
    pub(crate) fn conflicts(&self, owner: u64, range: &Range<u64>, exclusive: bool) -> bool {
        self.conflict(owner, range, exclusive).is_some()
    }

    /// Another owner's lock that forbids this one.
    pub(crate) fn conflict(&self, owner: u64, range: &Range<u64>, exclusive: bool) -> Option<&HeldLock> {
        self.held
            .iter()
            .find(|lock| lock.owner != owner && overlap(&lock.range, range) && (exclusive || lock.exclusive))
    }

    /// Adds a lock. Over a range that the owner has locked already it replaces what was there.
    pub(crate) fn insert(&mut self, owner: u64, range: Range<u64>, exclusive: bool) {
        self.remove(owner, &range);
        self.held.push(HeldLock { owner, range, exclusive });
    }

    /// Gives up what the owner holds of `range`.
    pub(crate) fn remove(&mut self, owner: u64, range: &Range<u64>) {
        let mut index = 0;
        while index < self.held.len() {
            let lock = &self.held[index];
            if lock.owner != owner || !overlap(&lock.range, range) {
                index += 1;
                continue;
            }
            let lock = self.held.swap_remove(index);
            for rest in [lock.range.start..range.start, range.end..lock.range.end] {
                if rest.start < rest.end {
                    self.held.push(HeldLock { range: rest, ..lock.clone() });
                }
            }
        }
    }

    /// What the owner holds.
    pub(crate) fn of(&self, owner: u64) -> impl Iterator<Item = &HeldLock> {
        self.held.iter().filter(move |lock| lock.owner == owner)
    }

    /// Splits a range into the parts that the owner holds, with their kinds, and the others. Both are in
    /// order.
    pub(crate) fn split(&self, owner: u64, range: &Range<u64>) -> (Vec<HeldLock>, Vec<Range<u64>>) {
        let mut held: Vec<HeldLock> = self
            .of(owner)
            .filter(|lock| overlap(&lock.range, range))
            .map(|lock| HeldLock {
                range: lock.range.start.max(range.start)..lock.range.end.min(range.end),
                ..lock.clone()
            })
            .collect();
        held.sort_by_key(|lock| lock.range.start);
        let (mut free, mut at) = (Vec::new(), range.start);
        for lock in &held {
            if at < lock.range.start {
                free.push(at..lock.range.start);
            }
            at = lock.range.end;
        }
        if at < range.end {
            free.push(at..range.end);
        }
        (held, free)
    }

    /// True when the owner holds nothing.
    pub(crate) fn holds_nothing(&self, owner: u64) -> bool {
        self.of(owner).next().is_none()
    }

    /// True when all that the owner holds is in `range`.
    pub(crate) fn holds_nothing_but(&self, owner: u64, range: &Range<u64>) -> bool {
        self.of(owner).all(|lock| range.start <= lock.range.start && lock.range.end <= range.end)
    }
}

/// The locks of an object that the server may have granted and the table does not know of: asked for and not
/// answered, or granted ahead of being wanted. While there are any, nothing is decided by the table alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnknownLocks(Arc<AtomicUsize>);

/// One of [`UnknownLocks`], until it is dropped: refused, given up or in the table.
#[derive(Debug)]
pub(crate) struct UnknownLock(Arc<AtomicUsize>);

impl UnknownLocks {
    /// Before it is asked for, with the table locked.
    pub(crate) fn ask(&self) -> UnknownLock {
        self.0.fetch_add(1, Ordering::SeqCst);
        UnknownLock(Arc::clone(&self.0))
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

impl Drop for UnknownLock {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_locks_get_along_and_exclusive_ones_do_not() {
        let mut table = LockTable::default();
        table.insert(1, 0..10, false);
        assert!(!table.conflicts(2, &(5..15), false));
        assert!(table.conflicts(2, &(5..15), true));
        assert!(!table.conflicts(2, &(10..15), true));
        assert!(!table.conflicts(1, &(5..15), true), "an owner does not stand in its own way");
        table.insert(1, 0..10, true);
        assert!(table.conflicts(2, &(9..10), false));
    }

    #[test]
    fn unlocking_the_middle_leaves_both_ends() {
        let mut table = LockTable::default();
        table.insert(1, 0..u64::MAX, true);
        table.remove(1, &(10..20));
        let mut left: Vec<_> = table.of(1).map(|lock| lock.range.clone()).collect();
        left.sort_by_key(|range| range.start);
        assert_eq!(left, [0..10, 20..u64::MAX]);
        assert!(!table.conflicts(2, &(10..20), true));
        table.remove(1, &(0..u64::MAX));
        assert!(table.holds_nothing(1));
    }

    #[test]
    fn range_is_split_into_parts_held_and_parts_free() {
        let mut table = LockTable::default();
        assert!(table.split(1, &(0..10)).0.is_empty());
        table.insert(1, 20..30, true);
        table.insert(1, 0..10, false);
        table.insert(2, 10..20, true);
        let held = |range, exclusive| HeldLock { owner: 1, range, exclusive };
        let (parts, free) = table.split(1, &(5..u64::MAX));
        assert_eq!(parts, [held(5..10, false), held(20..30, true)]);
        assert_eq!(free, [10..20, 30..u64::MAX]);
        assert_eq!(table.split(1, &(22..25)), (vec![held(22..25, true)], vec![]));
    }

    #[test]
    fn a_lock_over_an_own_one_replaces_what_it_covers() {
        let mut table = LockTable::default();
        table.insert(1, 0..100, true);
        table.insert(1, 0..50, false);
        assert!(!table.conflicts(2, &(0..50), false));
        assert!(table.conflicts(2, &(50..60), false));
        table.remove(2, &(0..100));
        assert!(!table.holds_nothing(1), "others' locks are not ours to give up");
    }
}
