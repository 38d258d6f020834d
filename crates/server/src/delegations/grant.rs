//! The facts about a granted delegation that callbacks need.

use bytes::Bytes;
use proto::nfs4::{FileHandle, ReferringCallList, SequenceId, SessionId, SlotId};
use state::FileId;
use vfs::{Handle, Timestamp};

/// The times of a file at the grant of its delegation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrantedTimes {
    /// Of the last access.
    pub(crate) accessed: Timestamp,
    /// Of the last modification.
    pub(crate) modified: Timestamp,
}

/// A request as its client knows it (RFC 8881 §2.10.6.1).
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotRequest {
    /// Its session.
    pub(crate) session: SessionId,
    /// Its slot.
    pub(crate) slot: SlotId,
    /// Its sequence number in the slot.
    pub(crate) sequence: SequenceId,
}

/// The facts that the holder was given with a delegation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DelegationGrant {
    /// The file.
    pub(crate) file: FileId,
    /// How the client knows it.
    pub(crate) handle: Handle,
    /// The change attribute then, for a write delegation: another one in CB_GETATTR's answer means that the
    /// client has modified the file (RFC 8881 §10.4.3).
    pub(crate) change: u64,
    /// The times then, for a delegation whose holder keeps them (RFC 9754).
    pub(crate) times: Option<GrantedTimes>,
    /// The request that was answered with it.
    pub(crate) call: SlotRequest,
}

impl DelegationGrant {
    pub(crate) fn object(&self) -> FileHandle {
        FileHandle(Bytes::copy_from_slice(self.handle.as_bytes()))
    }

    /// The time of modification that a holder tells, as it may be taken: not one before the delegation was
    /// granted, and not one in the future (RFC 9754).
    pub(crate) fn modified(&self, told: Timestamp, now: Timestamp) -> Option<Timestamp> {
        self.times.and_then(|granted| take(told, granted.modified, now))
    }

    /// The same for the time of access.
    pub(crate) fn accessed(&self, told: Timestamp, now: Timestamp) -> Option<Timestamp> {
        self.times.and_then(|granted| take(told, granted.accessed, now))
    }

    /// The callback may overtake the reply that tells of the delegation: so the client knows which reply to
    /// wait for (RFC 8881 §2.10.6.3).
    pub(crate) fn referring_calls(&self) -> Vec<ReferringCallList> {
        let SlotRequest { session, slot, sequence } = self.call;
        vec![ReferringCallList { session, calls: vec![(sequence, slot)] }]
    }
}

fn take(told: Timestamp, granted: Timestamp, now: Timestamp) -> Option<Timestamp> {
    (told >= granted).then(|| told.min(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_between_the_grant_and_now() {
        let at = |seconds| Timestamp { seconds, nanoseconds: 5 };
        for (told, taken) in [(9, None), (10, Some(10)), (15, Some(15)), (20, Some(20)), (21, Some(20))] {
            assert_eq!(take(at(told), at(10), at(20)), taken.map(at), "{told}");
        }
    }
}
