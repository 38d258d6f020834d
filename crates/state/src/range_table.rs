//! The locked ranges of one file: the algebra of POSIX locks.
//!
//! An owner's ranges do not overlap, so they stand in a map by their first bytes. The ranges of all owners
//! stand in two trees besides, one for each kind, which are searched for conflicts. Every operation costs
//! O(log n), and O(log n) more for each of the owner's ranges that it removes.

use std::ops::ControlFlow;

use bytes::Bytes;
use proto::nfs4::ClientId;

use crate::small_map::SmallMap;
use crate::span_tree::{OwnerId, SpanTree};
use crate::steps::step;
use crate::{ByteRangeLock, LockOwner, Range};

/// A locked range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldRange {
    pub(crate) owner: LockOwner,
    pub(crate) range: Range,
    pub(crate) exclusive: bool,
}

#[derive(Debug, Default)]
pub(crate) struct RangeTable {
    ids: SmallMap<LockOwner, OwnerId>,
    owners: SmallMap<OwnerId, Owned>,
    exclusive: SpanTree,
    shared: SpanTree,
    count: usize,
    /// Numbers are not used again while the table lives: a listing can go on after one that is gone.
    next: u64,
}

/// The ranges of one owner, at least one.
#[derive(Debug)]
struct Owned {
    owner: LockOwner,
    /// By their first bytes.
    ranges: SmallMap<u64, (Range, bool)>,
}

/// A place in a listing of a table: an owner, and the first byte of one of its ranges.
pub(crate) type RangeCursor = (OwnerId, u64);

impl RangeTable {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Locked ranges.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// True when an owner of another client, or of NLM, has locked a range.
    pub(crate) fn any_of_other(&self, mine: ClientId) -> bool {
        let is_other =
            |owner: &LockOwner| !matches!(owner, LockOwner::Nfs4 { client, .. } if *client == mine);
        // The owners of one client are neighbours.
        [self.ids.first(), self.ids.last()].into_iter().flatten().any(|(owner, _)| is_other(owner))
    }

    /// True when a range is locked for writing.
    pub(crate) fn any_exclusive(&self) -> bool {
        !self.exclusive.is_empty()
    }

    /// The ranges from `from` on, each with its place.
    pub(crate) fn list(&self, from: RangeCursor) -> impl Iterator<Item = (RangeCursor, HeldRange)> {
        self.owners.from(&from.0).flat_map(move |(id, owned)| {
            let start = if *id == from.0 { from.1 } else { 0 };
            owned.ranges.from(&start).map(|(start, (range, exclusive))| {
                let held = HeldRange { owner: owned.owner.clone(), range: *range, exclusive: *exclusive };
                ((*id, *start), held)
            })
        })
    }

    /// At most `most` locks of other owners that conflict.
    pub(crate) fn conflicts(
        &self,
        owner: &LockOwner,
        range: &Range,
        exclusive: bool,
        most: usize,
    ) -> Vec<HeldRange> {
        let except = self.ids.get(owner).copied();
        let mut found = Vec::new();
        let trees = [(&self.exclusive, true), (&self.shared, false)];
        for (tree, kind) in trees.into_iter().filter(|(_, kind)| exclusive || *kind) {
            let _ = tree.visit(range, except, &mut |range, id| {
                if found.len() >= most {
                    return ControlFlow::Break(());
                }
                let owner = self.owners.get(&id).map(|owned| owned.owner.clone());
                found.extend(owner.map(|owner| HeldRange { owner, range, exclusive: kind }));
                ControlFlow::Continue(())
            });
        }
        found
    }

    /// Locks a range that conflicts with none. What the owner had there is replaced, neighbours of one kind
    /// merge.
    pub(crate) fn lock(&mut self, owner: &LockOwner, range: Range, exclusive: bool) {
        self.unlock(owner, range);
        let id = self.id_of(owner);
        let mut merged = range;
        if let Some(owned) = self.owners.get(&id) {
            let before = owned.ranges.before(&range.start()).map(|(_, held)| *held);
            let after = range.end().checked_add(1).and_then(|next| owned.ranges.get(&next)).copied();
            let touches =
                |held: &Range| held.end().checked_add(1) == Some(range.start()) || held.start() > range.end();
            for (held, _) in [before, after]
                .into_iter()
                .flatten()
                .filter(|(held, kind)| *kind == exclusive && touches(held))
            {
                merged = Range::between(merged.start().min(held.start()), merged.end().max(held.end()));
                self.take(id, held, exclusive);
            }
        }
        self.put(id, merged, exclusive);
    }

    /// Unlocks a range; locks that reach beyond it are cut or split.
    pub(crate) fn unlock(&mut self, owner: &LockOwner, range: Range) {
        self.unlock_some(owner, range, usize::MAX);
    }

    /// As [`RangeTable::unlock`], of at most `most` of the owner's locks; true when none is left there.
    pub(crate) fn unlock_some(&mut self, owner: &LockOwner, range: Range, most: usize) -> bool {
        let Some(id) = self.ids.get(owner).copied() else { return true };
        for _ in 0..most {
            let Some((held, exclusive)) = self.first_within(id, &range) else { break };
            step();
            self.take(id, held, exclusive);
            if held.start() < range.start() {
                self.put(id, Range::between(held.start(), range.start() - 1), exclusive);
            }
            if held.end() > range.end() {
                self.put(id, Range::between(range.end() + 1, held.end()), exclusive);
            }
        }
        let is_done = self.first_within(id, &range).is_none();
        if self.owners.get(&id).is_none_or(|owned| owned.ranges.is_empty()) {
            self.owners.remove(&id);
            self.ids.remove(owner);
        }
        is_done
    }

    /// True when unlocking this range would leave a lock of the owner on both sides of it.
    pub(crate) fn would_split(&self, owner: &LockOwner, range: &Range) -> bool {
        let owned = self.ids.get(owner).and_then(|id| self.owners.get(id));
        let around = owned.and_then(|owned| owned.ranges.before(&range.start()));
        around.is_some_and(|(_, (held, _))| held.end() > range.end())
    }

    /// The locks of the owner within a range, cut to it.
    pub(crate) fn held_within(&self, owner: &LockOwner, range: &Range) -> Vec<ByteRangeLock> {
        let Some(owned) = self.ids.get(owner).and_then(|id| self.owners.get(id)) else { return Vec::new() };
        let before = owned.ranges.before(&range.start()).map(|(_, held)| held);
        let from = owned.ranges.from(&range.start()).map(|(_, held)| held);
        let within = before.into_iter().filter(|(held, _)| held.overlaps(range));
        let within = within.chain(from.take_while(|(held, _)| held.overlaps(range)));
        within
            .map(|(held, exclusive)| ByteRangeLock { range: held.cut_to(range), exclusive: *exclusive })
            .collect()
    }

    pub(crate) fn holds(&self, owner: &LockOwner) -> bool {
        self.ids.get(owner).is_some()
    }

    /// An owner of this NLM host, or, with `None`, of any.
    pub(crate) fn an_nlm_owner(&self, host: Option<&Bytes>) -> Option<LockOwner> {
        let first = LockOwner::Nlm {
            host: host.cloned().unwrap_or_default(),
            process: i32::MIN,
            handle: Bytes::new(),
        };
        let (owner, _) = self.ids.from(&first).next()?;
        let LockOwner::Nlm { host: found, .. } = owner else { return None };
        host.is_none_or(|host| host == found).then(|| owner.clone())
    }

    /// The first of the owner's ranges that overlaps this one.
    fn first_within(&self, id: OwnerId, range: &Range) -> Option<(Range, bool)> {
        let ranges = &self.owners.get(&id)?.ranges;
        let before = ranges.before(&range.start()).map(|(_, held)| *held);
        let from = ranges.from(&range.start()).next().map(|(_, held)| *held);
        [before, from].into_iter().flatten().find(|(held, _)| held.overlaps(range))
    }

    fn id_of(&mut self, owner: &LockOwner) -> OwnerId {
        if let Some(id) = self.ids.get(owner) {
            return *id;
        }
        let id = OwnerId(self.next);
        self.next += 1;
        self.ids.insert(owner.clone(), id);
        self.owners.insert(id, Owned { owner: owner.clone(), ranges: SmallMap::default() });
        id
    }

    fn tree(&mut self, exclusive: bool) -> &mut SpanTree {
        if exclusive { &mut self.exclusive } else { &mut self.shared }
    }

    fn put(&mut self, id: OwnerId, range: Range, exclusive: bool) {
        let Some(owned) = self.owners.get_mut(&id) else { return };
        owned.ranges.insert(range.start(), (range, exclusive));
        self.tree(exclusive).insert(range, id);
        self.count += 1;
    }

    fn take(&mut self, id: OwnerId, range: Range, exclusive: bool) {
        let Some(owned) = self.owners.get_mut(&id) else { return };
        owned.ranges.remove(&range.start());
        self.tree(exclusive).remove(range.start(), id);
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::steps::steps_of;

    fn owner(number: u64) -> LockOwner {
        LockOwner::Nfs4 { client: ClientId(number / 2), owner: Bytes::copy_from_slice(&number.to_be_bytes()) }
    }

    fn range(offset: u64, length: u64) -> Range {
        Range::new(offset, length).unwrap()
    }

    #[test]
    fn neighbours_merge_and_holes_split() {
        let mut table = RangeTable::default();
        for (offset, length) in [(0, 10), (20, 10), (10, 10)] {
            table.lock(&owner(1), range(offset, length), true);
        }
        assert_eq!(table.len(), 1);
        table.unlock(&owner(1), range(5, 5));
        assert_eq!(table.len(), 2);
        assert!(table.conflicts(&owner(2), &range(5, 5), true, 1).is_empty());
        assert!(!table.conflicts(&owner(2), &range(4, 1), false, 1).is_empty());
    }

    #[test]
    fn only_the_middle_of_a_lock_splits_it() {
        let mut table = RangeTable::default();
        table.lock(&owner(1), range(10, 10), true);
        for (offset, length, splits) in [(10, 10, false), (10, 1, false), (19, 9, false), (11, 8, true)] {
            let range = range(offset, length);
            assert_eq!(table.would_split(&owner(1), &range), splits, "{offset} {length}");
            assert!(!table.would_split(&owner(2), &range));
        }
    }

    #[test]
    fn the_last_byte_there_can_be_is_locked_and_unlocked() {
        let mut table = RangeTable::default();
        table.lock(&owner(1), range(u64::MAX - 1, u64::MAX), true);
        table.lock(&owner(1), range(0, 10), true);
        assert_eq!(table.len(), 2);
        table.unlock(&owner(1), Range::ALL);
        assert!(table.is_empty() && !table.holds(&owner(1)));
    }

    #[test]
    fn owners_of_an_nlm_host_are_found_by_its_name() {
        let nlm = |host: &'static str, process| LockOwner::Nlm {
            host: Bytes::from(host),
            process,
            handle: Bytes::new(),
        };
        let mut table = RangeTable::default();
        assert_eq!(table.an_nlm_owner(None), None);
        for (number, owner) in [owner(1), nlm("a", 4), nlm("b", i32::MIN)].iter().enumerate() {
            table.lock(owner, range(number as u64, 1), true);
        }
        assert_eq!(table.an_nlm_owner(Some(&Bytes::from("a"))), Some(nlm("a", 4)));
        assert_eq!(table.an_nlm_owner(Some(&Bytes::from("b"))), Some(nlm("b", i32::MIN)));
        assert_eq!(table.an_nlm_owner(Some(&Bytes::from("aa"))), None);
        assert_eq!(table.an_nlm_owner(None), Some(nlm("a", 4)));
    }

    /// The most steps of one operation on a table with `count` ranges.
    fn steps_with(count: u64) -> u64 {
        let mut table = RangeTable::default();
        let mut most = 0;
        let mut measure = |table: &mut RangeTable, work: &mut dyn FnMut(&mut RangeTable)| {
            most = most.max(steps_of(|| work(table)));
        };
        // One owner with half of the ranges, and as many owners with one range each, read-locked on top of
        // each other.
        for number in 0..count / 2 {
            measure(&mut table, &mut |table| table.lock(&owner(0), range(number * 4, 2), true));
            let (other, shared) = (owner(number + 1), range(1 << 40, 1 << 20));
            measure(&mut table, &mut |table| table.lock(&other, shared, false));
        }
        assert_eq!(table.len() as u64, count / 2 * 2);
        for number in (0..count / 2).step_by(37) {
            let at = range(number * 4, 4);
            measure(&mut table, &mut |table| assert_eq!(table.conflicts(&owner(1), &at, false, 1).len(), 1));
            measure(&mut table, &mut |table| assert!(table.conflicts(&owner(0), &at, true, 1).is_empty()));
            measure(&mut table, &mut |table| {
                assert!(table.conflicts(&owner(0), &range(0, 1 << 40), true, 1).is_empty());
            });
            measure(&mut table, &mut |table| {
                assert_eq!(table.conflicts(&owner(number + 1), &Range::ALL, true, 1).len(), 1);
            });
            measure(&mut table, &mut |table| table.unlock(&owner(0), range(number * 4, 1)));
            measure(&mut table, &mut |table| table.unlock(&owner(number + 1), Range::ALL));
        }
        most
    }

    #[test]
    fn steps_of_an_operation_grow_as_the_logarithm_of_the_ranges() {
        let (few, many) = (steps_with(1000), steps_with(32_000));
        assert!(few <= 150, "{few} steps with 1,000 ranges");
        // 32 times as many: log2 grows from 10 to 15.
        assert!(many <= few * 8 / 5, "{many} steps with 32,000 ranges, {few} with 1,000");
    }

    #[test]
    fn an_owners_ranges_are_unlocked_in_pieces() {
        let mut table = RangeTable::default();
        for number in 0..10 {
            table.lock(&owner(0), range(number * 4, 2), true);
        }
        assert!(!table.unlock_some(&owner(0), Range::ALL, 4));
        assert_eq!(table.len(), 6);
        assert!(!table.unlock_some(&owner(0), Range::ALL, 4) && table.unlock_some(&owner(0), Range::ALL, 4));
        assert!(table.is_empty());
    }

    /// For each byte, its owners and their kinds.
    type Model = Vec<Vec<(u64, bool)>>;

    fn apply(model: &mut Model, of: u64, offset: usize, length: usize, action: u8) {
        for byte in model.iter_mut().skip(offset).take(length) {
            byte.retain(|(holder, _)| *holder != of);
            if action > 0 {
                byte.push((of, action == 2));
            }
        }
    }

    /// The ranges of the model: as few as can be, for neighbours of one kind merge.
    fn count(model: &Model) -> usize {
        let begins = |at: usize, held: &(u64, bool)| at == 0 || !model[at - 1].contains(held);
        model.iter().enumerate().map(|(at, byte)| byte.iter().filter(|held| begins(at, held)).count()).sum()
    }

    proptest! {
        #[test]
        fn the_table_agrees_with_a_list_of_bytes(
            actions in prop::collection::vec((0u64..5, 0usize..64, 1usize..24, 0u8..3), 1..100),
        ) {
            let mut table = RangeTable::default();
            let mut model: Model = vec![Vec::new(); 88];
            for (of, offset, length, action) in actions {
                let asked = range(offset as u64, length as u64);
                let bytes = offset..offset + length;
                let conflicts = |(holder, exclusive): &(u64, bool)| {
                    *holder != of && (action == 2 || *exclusive)
                };
                let held = model[bytes.clone()].iter().flatten();
                let mut others: Vec<_> = held.filter(|held| conflicts(held)).collect();
                others.sort_unstable();
                others.dedup();
                let found = table.conflicts(&owner(of), &asked, action == 2, usize::MAX);
                let mut found: Vec<_> =
                    found.iter().map(|held| (held.owner.clone(), held.exclusive)).collect();
                found.sort_unstable();
                found.dedup();
                let expected: Vec<_> = others.iter().map(|(number, kind)| (owner(*number), *kind)).collect();
                prop_assert_eq!(&found, &expected);
                if action == 0 {
                    table.unlock(&owner(of), asked);
                } else if others.is_empty() {
                    table.lock(&owner(of), asked, action == 2);
                }
                if action == 0 || others.is_empty() {
                    apply(&mut model, of, offset, length, action);
                }
                prop_assert_eq!(table.len(), count(&model));
                for number in 0..5 {
                    let mine = |byte: usize| model[byte].iter().find(|(holder, _)| *holder == number);
                    let held = table.held_within(&owner(number), &asked);
                    let at = |byte: u64| {
                        held.iter().find(|held| held.range.overlaps(&Range::between(byte, byte)))
                    };
                    for byte in bytes.clone() {
                        let found = at(byte as u64).map(|held| held.exclusive);
                        prop_assert_eq!(found, mine(byte).map(|held| held.1));
                    }
                    let holds = (0..model.len()).any(|byte| mine(byte).is_some());
                    prop_assert_eq!(table.holds(&owner(number)), holds);
                }
            }
            let listed: Vec<_> = table.list((OwnerId(0), 0)).collect();
            prop_assert_eq!(listed.len(), table.len());
            for (index, (cursor, held)) in listed.iter().enumerate() {
                let next = table.list(*cursor).next();
                prop_assert_eq!(next.as_ref().map(|(_, held)| held), Some(held));
                prop_assert_eq!(table.list(*cursor).count(), listed.len() - index);
            }
        }
    }
}
