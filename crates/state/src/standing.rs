//! The standing of a client: its record on stable storage, its reclaim after a restart, and its end.
//!
//! ```text
//!   record:   Unrecorded ──▶ Recorded ──▶ BeingForgotten ──▶ Unrecorded
//!   reclaim:  Reclaiming or Fresh ──RECLAIM_COMPLETE──▶ Complete
//! ```
//! All of it is one word, so that each transition is atomic.

use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

use proto::nfs4::Status;

/// The name of a client on stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordState {
    /// It may be missing: the client is given no state.
    Unrecorded,
    /// It is there.
    Recorded,
    /// It is being removed: until that is done it must not be added again, or the removal would undo the
    /// addition.
    BeingForgotten,
}

const RECORD: u8 = 0b11;
const RECORDED: u8 = 1;
const BEING_FORGOTTEN: u8 = 2;
/// The client held state before the server's restart.
const MAY_RECLAIM: u8 = 1 << 2;
/// RECLAIM_COMPLETE was sent.
const RECLAIMED: u8 = 1 << 3;
/// The client was destroyed, replaced or expired.
const GONE: u8 = 1 << 4;

/// See the module.
#[derive(Debug)]
pub(crate) struct Standing(AtomicU8);

impl Standing {
    /// A new client without a record.
    pub(crate) fn new(may_reclaim: bool) -> Self {
        Self(AtomicU8::new(if may_reclaim { MAY_RECLAIM } else { 0 }))
    }

    pub(crate) fn record(&self) -> RecordState {
        record_of(self.0.load(SeqCst))
    }

    pub(crate) fn set_recorded(&self) {
        self.change(|_| Some(RECORDED));
    }

    /// Notes that the name may be missing, unless it is being removed anyway.
    pub(crate) fn set_unrecorded(&self) {
        self.change(|record| (record == RecordState::Recorded).then_some(0));
    }

    /// Begins the removal of the name. Returns false where there is none to remove.
    pub(crate) fn begin_forgetting(&self) -> bool {
        self.change(|record| (record == RecordState::Recorded).then_some(BEING_FORGOTTEN))
    }

    /// Ends the removal of the name.
    pub(crate) fn end_forgetting(&self) {
        self.change(|record| (record == RecordState::BeingForgotten).then_some(0));
    }

    pub(crate) fn may_reclaim(&self) -> bool {
        self.has(MAY_RECLAIM)
    }

    pub(crate) fn has_reclaimed(&self) -> bool {
        self.has(RECLAIMED)
    }

    /// RECLAIM_COMPLETE (RFC 8881 §18.51).
    ///
    /// # Errors
    /// COMPLETE_ALREADY the second time.
    pub(crate) fn complete_reclaim(&self) -> Result<(), Status> {
        match self.0.fetch_or(RECLAIMED, SeqCst) & RECLAIMED {
            0 => Ok(()),
            _ => Err(Status::CompleteAlready),
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.has(GONE)
    }

    pub(crate) fn set_gone(&self) {
        self.0.fetch_or(GONE, SeqCst);
    }

    fn has(&self, bit: u8) -> bool {
        self.0.load(SeqCst) & bit != 0
    }

    /// Sets the bits of the record to those that `next` gives; true when it gives any.
    fn change(&self, next: impl Fn(RecordState) -> Option<u8>) -> bool {
        let changed =
            self.0.fetch_update(SeqCst, SeqCst, |bits| Some(bits & !RECORD | next(record_of(bits))?));
        changed.is_ok()
    }
}

fn record_of(bits: u8) -> RecordState {
    match bits & RECORD {
        0 => RecordState::Unrecorded,
        RECORDED => RecordState::Recorded,
        _ => RecordState::BeingForgotten,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_is_being_forgotten_is_unrecorded_only_when_it_is_gone() {
        let standing = Standing::new(false);
        assert!(!standing.begin_forgetting(), "there is no name");
        standing.set_recorded();
        assert!(standing.begin_forgetting() && !standing.begin_forgetting());
        standing.set_unrecorded();
        assert_eq!(standing.record(), RecordState::BeingForgotten);
        standing.end_forgetting();
        assert_eq!(standing.record(), RecordState::Unrecorded);
        standing.set_recorded();
        standing.end_forgetting();
        assert_eq!(standing.record(), RecordState::Recorded);
    }

    #[test]
    fn record_reclaim_and_end_do_not_touch_each_other() {
        let standing = Standing::new(true);
        standing.set_recorded();
        standing.complete_reclaim().unwrap();
        assert_eq!(standing.complete_reclaim(), Err(Status::CompleteAlready));
        standing.set_gone();
        standing.set_unrecorded();
        assert!(standing.may_reclaim() && standing.has_reclaimed() && standing.is_gone());
        assert_eq!(standing.record(), RecordState::Unrecorded);
    }
}
