//! The slot table of a session, client side (RFC 8881 §2.10.6): which slots may be used, and the number that
//! the next request in each carries. Pure: who waits for a slot is not its business.

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
    /// A bit for each slot: it is in use.
    in_use: Vec<u64>,
    /// Slots that the server wants used, at most those of the table.
    target: u32,
}

impl SlotTable {
    /// A table of `count` slots, as CREATE_SESSION has agreed on; at least one.
    pub(crate) fn new(count: u32) -> Self {
        let count = count.max(1);
        let mut table = Self { last: Vec::new(), in_use: Vec::new(), target: count };
        table.grow();
        table
    }

    /// The lowest free slot, so that the highest ones stay unused as RFC 8881 §2.10.6.1 asks.
    pub(crate) fn acquire(&mut self) -> Option<Slot> {
        let (index, word) = self.in_use.iter_mut().enumerate().find(|(_, word)| **word != u64::MAX)?;
        let bit = word.trailing_ones();
        let id = index as u32 * u64::BITS + bit;
        if id >= self.target {
            return None;
        }
        *word |= 1 << bit;
        Some(Slot { id: SlotId(id), sequence: self.last[id as usize].next() })
    }

    /// The request of `slot` is over. `taken` tells whether the server has counted it: then the next request
    /// has the next number, else the same again.
    pub(crate) fn release(&mut self, slot: Slot, taken: bool) {
        let (word, bit) = (&mut self.in_use[(slot.id.0 / u64::BITS) as usize], 1 << (slot.id.0 % u64::BITS));
        if *word & bit != 0 {
            *word &= !bit;
            if taken {
                self.last[slot.id.0 as usize] = slot.sequence;
            }
        }
    }

    /// The server's wish for the highest slot in use (`sr_target_highest_slotid`, RFC 8881 §18.46.3). A wish
    /// above what the session has makes the table grow up to `count_max`.
    pub(crate) fn set_target(&mut self, target_highest: SlotId, count_max: u32) {
        self.target = target_highest.0.saturating_add(1).clamp(1, count_max.max(1));
        self.grow();
    }

    /// Makes room for as many slots as may be used.
    fn grow(&mut self) {
        let count = self.last.len().max(self.target as usize);
        // The first request in a slot has number 1 (RFC 8881 §2.10.6.1).
        self.last.resize(count, SequenceId(0));
        self.in_use.resize(count.div_ceil(u64::BITS as usize), 0);
    }

    /// The highest slot in use, which each SEQUENCE names.
    pub(crate) fn highest_in_use(&self) -> SlotId {
        let highest = self.in_use.iter().enumerate().rev().find(|(_, word)| **word != 0);
        SlotId(highest.map_or(0, |(index, word)| index as u32 * u64::BITS + word.ilog2()))
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
    fn lower_slot_target_stops_high_slots_and_higher_target_grows_table() {
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
    fn a_table_of_many_slots_hands_out_each_once_and_knows_the_highest() {
        let mut table = SlotTable::new(130);
        for id in 0..130 {
            assert_eq!(table.acquire(), Some(slot(id, 1)));
            assert_eq!(table.highest_in_use(), SlotId(id));
        }
        assert_eq!(table.acquire(), None);
        for id in [129, 63, 64] {
            table.release(slot(id, 1), true);
        }
        assert_eq!(table.highest_in_use(), SlotId(128));
        let next = [table.acquire(), table.acquire(), table.acquire(), table.acquire()];
        assert_eq!(next, [Some(slot(63, 2)), Some(slot(64, 2)), Some(slot(129, 2)), None]);
    }

    #[test]
    fn numbers_wrap_around() {
        let mut table = SlotTable::new(1);
        table.last[0] = SequenceId(u32::MAX);
        assert_eq!(table.acquire(), Some(slot(0, 0)));
    }
}
