//! Slots and exactly-once (RFC 8881 §2.10.6).

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{SequenceId, SlotId, Status};
use state::{Begin, ConnectionId, SequenceRequest, Session};

use crate::fixture::*;

fn begin(session: &Arc<Session>, slot: u32, sequence: u32, digest: u64) -> Result<Begin, Status> {
    let request = SequenceRequest {
        slot: SlotId(slot),
        sequence: SequenceId(sequence),
        highest_slot: SlotId(3),
        digest,
        connection: ConnectionId(1),
    };
    session.begin(&request, T0)
}

fn complete(begun: Result<Begin, Status>, reply: Option<&'static [u8]>) {
    match begun {
        Ok(Begin::New(ticket)) => ticket.complete(reply.map(Bytes::from_static)),
        other => panic!("not new: {other:?}"),
    }
}

#[test]
fn a_retry_gets_the_cached_reply_byte_for_byte() {
    let session = session(&state(), "a");
    complete(begin(&session, 0, 1, 5), Some(b"reply"));
    for _ in 0..2 {
        assert!(matches!(begin(&session, 0, 1, 5), Ok(Begin::Replay(reply)) if reply == "reply"));
    }
    complete(begin(&session, 0, 2, 5), None);
    assert!(matches!(begin(&session, 0, 2, 5), Ok(Begin::NotCached)));
}

#[test]
fn retry_with_other_arguments_is_false_retry() {
    let session = session(&state(), "a");
    complete(begin(&session, 0, 1, 5), Some(b"reply"));
    assert_eq!(begin(&session, 0, 1, 6).unwrap_err(), Status::SequenceFalseRetry);
}

#[test]
fn sequences_out_of_order_are_misordered() {
    let session = session(&state(), "a");
    for sequence in [0, 2, u32::MAX] {
        assert_eq!(begin(&session, 0, sequence, 5).unwrap_err(), Status::SequenceMisordered);
    }
    complete(begin(&session, 0, 1, 5), None);
    assert_eq!(begin(&session, 0, 3, 5).unwrap_err(), Status::SequenceMisordered);
    complete(begin(&session, 1, 1, 5), None);
}

#[test]
fn a_retry_of_a_request_under_way_is_delayed_and_the_request_runs_once() {
    let session = session(&state(), "a");
    let first = begin(&session, 0, 1, 5);
    assert_eq!(begin(&session, 0, 1, 5).unwrap_err(), Status::Delay);
    assert_eq!(begin(&session, 0, 2, 5).unwrap_err(), Status::SequenceMisordered);
    assert!(session.is_busy(None) && !session.is_busy(Some(SlotId(0))));
    complete(first, Some(b"r"));
    assert!(matches!(begin(&session, 0, 1, 5), Ok(Begin::Replay(_))));
}

#[test]
fn a_request_that_was_given_up_leaves_its_slot_usable() {
    let session = session(&state(), "a");
    drop(begin(&session, 0, 1, 5).unwrap());
    assert!(matches!(begin(&session, 0, 1, 5), Ok(Begin::NotCached)));
    complete(begin(&session, 0, 2, 5), None);
}

#[test]
fn slots_beyond_the_table_are_bad() {
    let session = session(&state(), "a");
    assert_eq!(begin(&session, 4, 1, 5).unwrap_err(), Status::BadSlot);
    let request = SequenceRequest {
        slot: SlotId(0),
        sequence: SequenceId(1),
        highest_slot: SlotId(4),
        digest: 0,
        connection: ConnectionId(1),
    };
    assert_eq!(session.begin(&request, T0).unwrap_err(), Status::BadHighSlot);
}
