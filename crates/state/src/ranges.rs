//! Byte ranges and who has locked them: the algebra of POSIX locks.

use bytes::Bytes;
use proto::nfs4::{ClientId, Status};

/// A range of bytes, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    start: u64,
    end: u64,
}

impl Range {
    /// Every byte there can be.
    pub const ALL: Self = Self { start: 0, end: u64::MAX };

    /// `length` bytes from `offset`; a length of all ones reaches to the end of the file, however long.
    ///
    /// # Errors
    /// INVAL for no bytes, or for more than fit 64 bits (RFC 8881 §18.10.3).
    pub fn new(offset: u64, length: u64) -> Result<Self, Status> {
        let end = match length {
            0 => return Err(Status::Invalid),
            u64::MAX => u64::MAX,
            length => offset.checked_add(length).ok_or(Status::Invalid)? - 1,
        };
        Ok(Self { start: offset, end })
    }

    /// As NLM has it: a length of 0 reaches to the end.
    ///
    /// # Errors
    /// INVAL for more bytes than fit 64 bits.
    pub fn of_nlm(offset: u64, length: u64) -> Result<Self, Status> {
        Self::new(offset, if length == 0 { u64::MAX } else { length })
    }

    /// First byte.
    pub fn offset(&self) -> u64 {
        self.start
    }

    /// Bytes; all ones to the end.
    pub fn length(&self) -> u64 {
        if self.end == u64::MAX { u64::MAX } else { self.end - self.start + 1 }
    }

    /// True when a byte is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    fn touches(&self, other: &Self) -> bool {
        self.overlaps(other)
            || self.end.checked_add(1) == Some(other.start)
            || other.end.checked_add(1) == Some(self.start)
    }
}

/// Who locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockOwner {
    /// An NFSv4 lock-owner.
    Nfs4 {
        /// Its client.
        client: ClientId,
        /// Its opaque name.
        owner: Bytes,
    },
    /// A process on a host that locks through NLM.
    Nlm {
        /// The caller's host: its address, a space and its name.
        host: Bytes,
        /// Its process.
        process: i32,
        /// Its opaque owner handle.
        handle: Bytes,
    },
}

/// A locked range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) owner: LockOwner,
    pub(crate) range: Range,
    pub(crate) exclusive: bool,
}

#[derive(Debug, Default)]
pub(crate) struct RangeTable {
    held: Vec<Held>,
}

impl RangeTable {
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// True when anybody but this client has locked a range.
    pub(crate) fn any_of_other(&self, mine: ClientId) -> bool {
        self.held.iter().any(|held| !matches!(held.owner, LockOwner::Nfs4 { client, .. } if client == mine))
    }

    /// True when anybody has locked a range for writing.
    pub(crate) fn any_exclusive(&self) -> bool {
        self.held.iter().any(|held| held.exclusive)
    }

    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.held.iter()
    }

    /// Locks of somebody else that are in the way.
    pub(crate) fn conflicts(
        &self,
        owner: &LockOwner,
        range: &Range,
        exclusive: bool,
    ) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(move |held| {
            held.range.overlaps(range) && (exclusive || held.exclusive) && held.owner != *owner
        })
    }

    /// Locks a range that nobody is in the way of. What the owner had there is replaced, neighbours of one kind merge.
    pub(crate) fn lock(&mut self, owner: &LockOwner, range: Range, exclusive: bool) {
        self.unlock(owner, range);
        let mut merged = range;
        self.held.retain(|held| {
            let joins = held.owner == *owner && held.exclusive == exclusive && held.range.touches(&merged);
            if joins {
                merged.start = merged.start.min(held.range.start);
                merged.end = merged.end.max(held.range.end);
            }
            !joins
        });
        self.held.push(Held { owner: owner.clone(), range: merged, exclusive });
    }

    /// Unlocks a range; locks that reach beyond it are cut or split.
    pub(crate) fn unlock(&mut self, owner: &LockOwner, range: Range) {
        let mut rests = Vec::new();
        self.held.retain(|held| {
            if held.owner != *owner || !held.range.overlaps(&range) {
                return true;
            }
            if held.range.start < range.start {
                rests.push(Held {
                    range: Range { start: held.range.start, end: range.start - 1 },
                    ..held.clone()
                });
            }
            if held.range.end > range.end {
                rests.push(Held {
                    range: Range { start: range.end + 1, end: held.range.end },
                    ..held.clone()
                });
            }
            false
        });
        self.held.append(&mut rests);
    }

    /// True when unlocking this range would leave a lock of the owner on both sides of it.
    pub(crate) fn would_split(&self, owner: &LockOwner, range: &Range) -> bool {
        let around = |held: &Held| held.range.start < range.start && held.range.end > range.end;
        self.held.iter().any(|held| held.owner == *owner && around(held))
    }

    /// What the owner holds of a range, cut to it, and how.
    pub(crate) fn held_within(&self, owner: &LockOwner, range: &Range) -> Vec<(Range, bool)> {
        let mine = self.held.iter().filter(|held| held.owner == *owner && held.range.overlaps(range));
        let cut = |held: &Range| Range { start: held.start.max(range.start), end: held.end.min(range.end) };
        mine.map(|held| (cut(&held.range), held.exclusive)).collect()
    }

    pub(crate) fn holds(&self, owner: &LockOwner) -> bool {
        self.held.iter().any(|held| held.owner == *owner)
    }

    /// Removes the locks of every owner that `gone` says so of.
    pub(crate) fn remove(&mut self, gone: impl Fn(&LockOwner) -> bool) {
        self.held.retain(|held| !gone(&held.owner));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn owner(number: u8) -> LockOwner {
        LockOwner::Nfs4 { client: ClientId(1), owner: Bytes::copy_from_slice(&[number]) }
    }

    #[test]
    fn ranges_have_bounds() {
        assert_eq!(Range::new(0, 0), Err(Status::Invalid));
        assert_eq!(Range::new(2, u64::MAX - 1), Err(Status::Invalid));
        assert_eq!(Range::new(5, u64::MAX).unwrap().length(), u64::MAX);
        assert_eq!(Range::new(1, u64::MAX - 1).unwrap().length(), u64::MAX - 1);
        assert_eq!(Range::of_nlm(5, 0).unwrap(), Range::new(5, u64::MAX).unwrap());
    }

    #[test]
    fn neighbours_merge_and_holes_split() {
        let mut table = RangeTable::default();
        for (offset, length) in [(0, 10), (20, 10), (10, 10)] {
            table.lock(&owner(1), Range::new(offset, length).unwrap(), true);
        }
        assert_eq!(table.len(), 1);
        table.unlock(&owner(1), Range::new(5, 5).unwrap());
        assert_eq!(table.len(), 2);
        assert!(table.conflicts(&owner(2), &Range::new(5, 5).unwrap(), true).next().is_none());
        assert!(table.conflicts(&owner(2), &Range::new(4, 1).unwrap(), false).next().is_some());
    }

    #[test]
    fn only_the_middle_of_a_lock_splits_it() {
        let mut table = RangeTable::default();
        table.lock(&owner(1), Range::new(10, 10).unwrap(), true);
        for (offset, length, splits) in [(10, 10, false), (10, 1, false), (19, 9, false), (11, 8, true)] {
            let range = Range::new(offset, length).unwrap();
            assert_eq!(table.would_split(&owner(1), &range), splits, "{offset} {length}");
            assert!(!table.would_split(&owner(2), &range));
        }
    }

    /// For each byte, who holds it and how.
    type Model = Vec<Vec<(u8, bool)>>;

    fn apply(model: &mut Model, who: u8, offset: usize, length: usize, action: u8) {
        for byte in model.iter_mut().skip(offset).take(length) {
            byte.retain(|(holder, _)| *holder != who);
            if action > 0 {
                byte.push((who, action == 2));
            }
        }
    }

    proptest! {
        #[test]
        fn the_table_agrees_with_a_list_of_bytes(
            actions in prop::collection::vec((0u8..3, 0usize..32, 1usize..12, 0u8..3), 1..60),
        ) {
            let mut table = RangeTable::default();
            let mut model: Model = vec![Vec::new(); 48];
            for (who, offset, length, action) in actions {
                let range = Range::new(offset as u64, length as u64).unwrap();
                let free = model[offset..offset + length]
                    .iter()
                    .flatten()
                    .all(|(holder, exclusive)| *holder == who || (action == 1 && !exclusive));
                if action == 0 {
                    table.unlock(&owner(who), range);
                    apply(&mut model, who, offset, length, 0);
                    continue;
                }
                prop_assert_eq!(table.conflicts(&owner(who), &range, action == 2).next().is_none(), free);
                if free {
                    table.lock(&owner(who), range, action == 2);
                    apply(&mut model, who, offset, length, action);
                }
            }
            for (byte, holders) in model.iter().enumerate() {
                let range = Range::new(byte as u64, 1).unwrap();
                let mut seen: Vec<_> = table
                    .held
                    .iter()
                    .filter(|held| held.range.overlaps(&range))
                    .map(|held| match &held.owner {
                        LockOwner::Nfs4 { owner, .. } => (owner[0], held.exclusive),
                        LockOwner::Nlm { .. } => unreachable!("no NLM owner is used"),
                    })
                    .collect();
                let mut expected = holders.clone();
                seen.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(seen, expected);
            }
        }
    }
}
