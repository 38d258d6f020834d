//! The slot table of a session, client side (RFC 8881 §2.10.6): which slots may be used, and the number that the next
//! request in each carries. Pure: who waits for a slot is not its business.

use std::collections::BTreeSet;

use proto::nfs4::{SequenceId, SlotId};

/// A slot in use, with the number of the request in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) id: SlotId,
    pub(crate) sequence: SequenceId,
}

/// The slots of the fore channel.
#[derive(Debug)]
pub(crate) struct SlotTable {
    /// The number of the last request in each slot that the server has taken.
    last: Vec<SequenceId>,
    free: BTreeSet<u32>,
    in_use: BTreeSet<u32>,
    /// Slots that the server wants used, at most those of the table.
    target: u32,
}

impl SlotTable {
    /// A table of `count` slots, as CREATE_SESSION has agreed on; at least one.
    pub(crate) fn new(count: u32) -> Self {
        let count = count.max(1);
        Self {
            // The first request in a slot has number 1 (RFC 8881 §2.10.6.1).
            last: vec![SequenceId(0); count as usize],
            free: (0..count).collect(),
            in_use: BTreeSet::new(),
            target: count,
        }
    }

    /// The lowest free slot, so that the highest ones stay unused as RFC 8881 §2.10.6.1 asks.
    pub(crate) fn acquire(&mut self) -> Option<Slot> {
        let id = *self.free.first().filter(|id| **id < self.target)?;
        self.free.remove(&id);
        self.in_use.insert(id);
        Some(Slot { id: SlotId(id), sequence: self.last[id as usize].next() })
    }

    /// The request of `slot` is over. `taken` tells whether the server has counted it: then the next request has the next
    /// number, else the same again.
    pub(crate) fn release(&mut self, slot: Slot, taken: bool) {
        if self.in_use.remove(&slot.id.0) {
            if taken {
                self.last[slot.id.0 as usize] = slot.sequence;
            }
            self.free.insert(slot.id.0);
        }
    }

    /// The server's wish for the highest slot in use (`sr_target_highest_slotid`, RFC 8881 §18.46.3). A wish above
    /// what the session has makes the table grow up to `count_max`.
    pub(crate) fn set_target(&mut self, target_highest: SlotId, count_max: u32) {
        self.target = target_highest.0.saturating_add(1).clamp(1, count_max.max(1));
        while (self.last.len() as u32) < self.target {
            self.free.insert(self.last.len() as u32);
            self.last.push(SequenceId(0));
        }
    }

    /// The highest slot in use, which each SEQUENCE names.
    pub(crate) fn highest_in_use(&self) -> SlotId {
        SlotId(self.in_use.last().copied().unwrap_or(0))
    }

    /// Slots that may be used.
    pub(crate) fn target(&self) -> u32 {
        self.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(id: u32, sequence: u32) -> Slot {
        Slot { id: SlotId(id), sequence: SequenceId(sequence) }
    }

    #[test]
    fn the_lowest_free_slot_comes_first_and_numbers_start_at_one() {
        let mut table = SlotTable::new(3);
        assert_eq!(table.acquire(), Some(slot(0, 1)));
        assert_eq!(table.acquire(), Some(slot(1, 1)));
        table.release(slot(0, 1), true);
        assert_eq!(table.acquire(), Some(slot(0, 2)));
        assert_eq!(table.highest_in_use(), SlotId(1));
        assert_eq!(table.acquire(), Some(slot(2, 1)));
        assert_eq!(table.acquire(), None);
    }

    #[test]
    fn a_request_that_the_server_did_not_take_leaves_its_number_to_the_next() {
        let mut table = SlotTable::new(1);
        let first = table.acquire().unwrap();
        table.release(first, false);
        assert_eq!(table.acquire(), Some(first));
    }

    #[test]
    fn releasing_twice_changes_nothing() {
        let mut table = SlotTable::new(1);
        let first = table.acquire().unwrap();
        table.release(first, true);
        table.release(first, true);
        assert_eq!(table.acquire(), Some(slot(0, 2)));
        assert_eq!(table.acquire(), None);
    }

    #[test]
    fn a_lower_target_stops_new_use_of_high_slots_and_a_higher_one_grows_the_table() {
        let mut table = SlotTable::new(2);
        let (a, b) = (table.acquire().unwrap(), table.acquire().unwrap());
        table.set_target(SlotId(0), 8);
        table.release(b, true);
        assert_eq!(table.acquire(), None, "slot 1 is above the target");
        table.release(a, true);
        assert_eq!(table.acquire(), Some(slot(0, 2)));
        table.set_target(SlotId(3), 3);
        assert_eq!(table.target(), 3);
        assert_eq!(table.acquire(), Some(slot(1, 2)), "its number is remembered");
        assert_eq!(table.acquire(), Some(slot(2, 1)));
        assert_eq!(table.acquire(), None);
    }

    #[test]
    fn numbers_wrap_around() {
        let mut table = SlotTable::new(1);
        table.last[0] = SequenceId(u32::MAX);
        assert_eq!(table.acquire(), Some(slot(0, 0)));
    }
}
