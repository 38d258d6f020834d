//! The slots of the backchannel: a repeated callback is answered as before (RFC 8881 §2.10.6). Pure.

use bytes::Bytes;
use proto::nfs4::{SequenceId, SlotId, Status};

/// The last callback in each slot and what it was answered.
#[derive(Debug)]
pub(super) struct BackSlots {
    slots: Vec<(SequenceId, Bytes)>,
}

/// What a callback's slot and number say of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    New,
    /// A repetition of the last one, which was answered so; empty while it is still being answered.
    Repeated(Bytes),
}

impl BackSlots {
    pub(super) fn new(count: u32) -> Self {
        Self { slots: vec![(SequenceId(0), Bytes::new()); count as usize] }
    }

    /// A callback arrives.
    ///
    /// # Errors
    /// NFS4ERR_BADSLOT, NFS4ERR_SEQ_MISORDERED.
    pub(super) fn arrive(&mut self, slot: SlotId, sequence: SequenceId) -> Result<Arrival, Status> {
        let (last, reply) = self.slots.get_mut(slot.0 as usize).ok_or(Status::BadSlot)?;
        if sequence == last.next() {
            (*last, *reply) = (sequence, Bytes::new());
            Ok(Arrival::New)
        } else if sequence == *last {
            Ok(Arrival::Repeated(reply.clone()))
        } else {
            Err(Status::SequenceMisordered)
        }
    }

    /// The callback was answered.
    pub(super) fn answered(&mut self, slot: SlotId, sequence: SequenceId, reply: Bytes) {
        if let Some((last, kept)) = self.slots.get_mut(slot.0 as usize)
            && *last == sequence
        {
            *kept = reply;
        }
    }

    /// The highest slot.
    pub(super) fn highest(&self) -> SlotId {
        SlotId(self.slots.len().saturating_sub(1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_is_answered_as_before_and_a_gap_is_refused() {
        let mut slots = BackSlots::new(2);
        let one = SequenceId(1);
        assert_eq!(slots.arrive(SlotId(1), one), Ok(Arrival::New));
        assert_eq!(slots.arrive(SlotId(1), one), Ok(Arrival::Repeated(Bytes::new())));
        slots.answered(SlotId(1), one, "reply".into());
        assert_eq!(slots.arrive(SlotId(1), one), Ok(Arrival::Repeated("reply".into())));
        assert_eq!(slots.arrive(SlotId(1), SequenceId(3)), Err(Status::SequenceMisordered));
        assert_eq!(slots.arrive(SlotId(0), SequenceId(2)), Err(Status::SequenceMisordered));
        assert_eq!(slots.arrive(SlotId(2), one), Err(Status::BadSlot));
        assert_eq!(slots.arrive(SlotId(1), SequenceId(2)), Ok(Arrival::New));
        slots.answered(SlotId(1), one, "late".into());
        assert_eq!(slots.arrive(SlotId(1), SequenceId(2)), Ok(Arrival::Repeated(Bytes::new())));
    }
}
