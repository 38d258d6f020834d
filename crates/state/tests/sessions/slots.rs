//! Slots and exactly-once (RFC 8881 §2.10.6).

use std::sync::Arc;

use proto::nfs4::{ChannelAttributes, SequenceId, SessionId, SlotId, Status};
use state::{Begin, Completed, ConnectionId, CreateSession, Limits, SequenceRequest, Session, State};

use crate::fixture::*;

fn begin(session: &Arc<Session>, slot: u32, sequence: u32, digest: u64) -> Result<Begin, Status> {
    let request = SequenceRequest {
        slot: SlotId(slot),
        sequence: SequenceId(sequence),
        highest_slot: SlotId(3),
        cache_this: true,
        digest,
        connection: ConnectionId(1),
    };
    session.begin(&request, T0)
}

fn complete(begun: Begin, reply: Option<&'static [u8]>) {
    match begun {
        Begin::New(ticket) => drop(ticket.complete(reply)),
        other => panic!("not new: {other:?}"),
    }
}

#[test]
fn a_retry_gets_the_cached_reply_byte_for_byte() {
    let session = session(&state(), "a");
    complete(begin(&session, 0, 1, 5).unwrap(), Some(b"reply"));
    for _ in 0..2 {
        assert!(matches!(begin(&session, 0, 1, 5), Ok(Begin::Replay(reply)) if reply == "reply"));
    }
    complete(begin(&session, 0, 2, 5).unwrap(), None);
    assert!(matches!(begin(&session, 0, 2, 5), Ok(Begin::NotCached)));
}

#[test]
fn retry_with_other_arguments_is_false_retry() {
    let session = session(&state(), "a");
    complete(begin(&session, 0, 1, 5).unwrap(), Some(b"reply"));
    assert_eq!(begin(&session, 0, 1, 6).unwrap_err(), Status::SequenceFalseRetry);
}

#[test]
fn sequences_out_of_order_are_misordered() {
    let session = session(&state(), "a");
    for sequence in [0, 2, u32::MAX] {
        assert_eq!(begin(&session, 0, sequence, 5).unwrap_err(), Status::SequenceMisordered);
    }
    complete(begin(&session, 0, 1, 5).unwrap(), None);
    assert_eq!(begin(&session, 0, 3, 5).unwrap_err(), Status::SequenceMisordered);
    complete(begin(&session, 1, 1, 5).unwrap(), None);
}

#[test]
fn completion_reports_waiting_retries_of_its_slot_only() {
    let session = session(&state(), "a");
    assert!(!session.await_end(SlotId(0)), "nothing is under way");
    for (sequence, is_awaited) in [(1, false), (2, true), (3, false)] {
        let Ok(Begin::New(ticket)) = begin(&session, 0, sequence, 5) else { panic!("not new") };
        assert!(!is_awaited || (session.await_end(SlotId(0)) && session.await_end(SlotId(0))));
        assert!(!session.await_end(SlotId(1)), "another slot");
        assert_eq!(ticket.complete(None), Completed { is_awaited, is_client_gone: false });
        assert!(!session.await_end(SlotId(0)), "it has ended");
    }
}

#[test]
fn a_retry_of_a_request_under_way_is_delayed_and_the_request_runs_once() {
    let session = session(&state(), "a");
    let first = begin(&session, 0, 1, 5).unwrap();
    assert_eq!(begin(&session, 0, 1, 5).unwrap_err(), Status::Delay);
    assert_eq!(begin(&session, 0, 2, 5).unwrap_err(), Status::SequenceMisordered);
    assert!(session.is_busy(None) && !session.is_busy(Some(SlotId(0))));
    complete(first, Some(b"r"));
    assert!(matches!(begin(&session, 0, 1, 5), Ok(Begin::Replay(_))));
}

#[test]
fn a_request_that_was_given_up_leaves_its_slot_usable() {
    let session = session(&state(), "a");
    complete(begin(&session, 0, 1, 5).unwrap(), Some(b"of the one before"));
    drop(begin(&session, 0, 2, 5).unwrap());
    assert!(matches!(begin(&session, 0, 2, 5), Ok(Begin::NotCached)));
    complete(begin(&session, 0, 3, 5).unwrap(), None);
}

#[test]
fn slots_beyond_the_table_are_bad() {
    let session = session(&state(), "a");
    assert_eq!(begin(&session, 4, 1, 5).unwrap_err(), Status::BadSlot);
    let request = SequenceRequest {
        slot: SlotId(0),
        sequence: SequenceId(1),
        highest_slot: SlotId(4),
        cache_this: true,
        digest: 0,
        connection: ConnectionId(1),
    };
    assert_eq!(session.begin(&request, T0).unwrap_err(), Status::BadHighSlot);
}

// Tables that grow and shrink.

/// A state with so much memory for sessions, and a session with so many slots that cache up to 4096 bytes.
fn with_memory(session_bytes_max: u64, slots: u32) -> (State, Arc<Session>) {
    let state = State::new(Limits { session_bytes_max, ..Limits::default() }, 1);
    let session = wide_session(&state, 1, slots).unwrap();
    (state, session)
}

fn wide_session(state: &State, id: u8, slots: u32) -> Result<Arc<Session>, Status> {
    let client = exchange(state, &id.to_string(), 1, "p", T0).unwrap().client;
    let fore = ChannelAttributes { requests_max: slots, ..channel() };
    let channels = state::negotiate_channels(&fore, &channel(), false, state.limits());
    let asked = CreateSession { channels, ..request(state, client, 1, "p", id) };
    state.create_session(&asked, T0)?;
    state.session(SessionId([id; 16]))
}

/// A reply of the greatest length that is kept.
const LONG: &[u8] = &[7; 4096];

/// Runs the `sequence`th request in a slot, by a client that uses slots up to `highest`.
fn run(session: &Arc<Session>, slot: u32, sequence: u32, highest: u32) -> Result<(), Status> {
    complete(begin_using(session, slot, sequence, highest)?, Some(LONG));
    Ok(())
}

fn begin_using(session: &Arc<Session>, slot: u32, sequence: u32, highest: u32) -> Result<Begin, Status> {
    let request = SequenceRequest {
        slot: SlotId(slot),
        sequence: SequenceId(sequence),
        highest_slot: SlotId(highest),
        cache_this: true,
        digest: 0,
        connection: ConnectionId(1),
    };
    session.begin(&request, T0)
}

fn target(session: &Session) -> u32 {
    session.target_highest_slot().0
}

#[test]
fn as_many_requests_are_under_way_as_were_asked_for() {
    let (state, session) = with_memory(512 << 20, 2560);
    assert_eq!(session.fore_channel().requests_max, 2560);
    let before = state.session_bytes();
    assert!(before < 20_000, "slots take memory when they are used, not {before} bytes at once");
    let begun: Vec<_> = (0..2560).map(|slot| begin_using(&session, slot, 1, 2559).unwrap()).collect();
    assert!(begun.iter().all(|begun| matches!(begun, Begin::New(_))));
    assert_eq!((session.highest_slot(), session.target_highest_slot()), (SlotId(2559), SlotId(2559)));
    assert!(state.session_bytes() >= 2559 * 4096);
    assert_eq!(begin_using(&session, 2560, 1, 2559).unwrap_err(), Status::BadSlot);
    begun.into_iter().for_each(|begun| complete(begun, Some(b"a short reply")));
    let kept = state.session_bytes() - before;
    assert!(kept < 2560 * 256, "{kept} bytes: what a slot and its reply take");
    let id = session.id();
    drop(session);
    state.destroy_session(id).unwrap();
    assert_eq!(state.session_bytes(), 0);
}

#[test]
fn low_memory_lowers_the_target_and_frees_slots_once_the_client_follows() {
    let (state, session) = with_memory(2 << 20, 256);
    for slot in 0..200 {
        run(&session, slot, 1, 199).unwrap();
    }
    let full = state.session_bytes();
    assert!(full > (1 << 20) / 4 * 3);
    let fallen = target(&session);
    assert!(fallen < 200, "{fallen}");
    assert_eq!(session.highest_slot(), SlotId(255), "what is enforced stays");
    // A client that has not seen the answer yet still uses all, and its replies stay.
    run(&session, 5, 2, 199).unwrap();
    assert!(matches!(begin_using(&session, 199, 1, 199), Ok(Begin::Replay(_))));
    assert_eq!(state.session_bytes(), full);
    // One that has seen it on this slot, and has no request above any more.
    run(&session, 5, 3, fallen).unwrap();
    assert!(state.session_bytes() < full);
    assert!(matches!(begin_using(&session, fallen, 1, fallen), Ok(Begin::Replay(_))));
    assert!(matches!(begin_using(&session, 199, 1, 199), Ok(Begin::NotCached)), "it runs once all the same");
}

#[test]
fn target_rises_again_and_a_freed_slot_goes_on_with_its_sequence() {
    let (state, session) = with_memory(2 << 20, 256);
    for slot in 0..200 {
        run(&session, slot, 1, 199).unwrap();
    }
    let mut sequence = 1;
    let mut idle = || {
        sequence += 1;
        run(&session, 0, sequence, 0).unwrap();
        target(&session)
    };
    let lowest = (0..4).map(|_| idle()).min().unwrap();
    assert_eq!(lowest, 15);
    assert!(state.session_bytes() < (1 << 20) / 2);
    assert_eq!((0..8).map(|_| idle()).max(), Some(255));
    assert_eq!(run(&session, 199, 3, 199), Err(Status::SequenceMisordered));
    run(&session, 199, 2, 199).unwrap();
}

#[test]
fn a_request_that_is_late_gives_up_no_slot_that_was_used_since() {
    let (_state, session) = with_memory(2 << 20, 256);
    for slot in 0..200 {
        run(&session, slot, 1, 199).unwrap();
    }
    run(&session, 7, 2, 199).unwrap();
    run(&session, 150, 2, 199).unwrap();
    // The client sent this before it began the second request in slot 150; it arrives after, and the reply
    // may be lost.
    run(&session, 7, 3, 15).unwrap();
    assert!(matches!(begin_using(&session, 150, 2, 199), Ok(Begin::Replay(_))));
    assert!(matches!(begin_using(&session, 149, 1, 199), Ok(Begin::NotCached)));
    // Nor one in which a request is under way.
    let begun = begin_using(&session, 140, 2, 199).unwrap();
    for sequence in 4..8 {
        run(&session, 7, sequence, 15).unwrap();
    }
    complete(begun, Some(b"reply"));
    assert!(matches!(begin_using(&session, 140, 2, 199), Ok(Begin::Replay(_))));
    assert!(matches!(begin_using(&session, 150, 2, 199), Ok(Begin::NotCached)));
}

#[test]
fn without_memory_new_slots_wait_used_ones_work_and_no_session_is_made() {
    let (state, session) = with_memory(64 << 10, 64);
    let other = wide_session(&state, 2, 64).unwrap();
    let mut used = 0;
    let refused = loop {
        match run(&session, used, 1, used) {
            Ok(()) => used += 1,
            Err(status) => break status,
        }
    };
    assert_eq!(refused, Status::Delay);
    assert!((6..16).contains(&used), "{used} slots");
    assert!(state.session_bytes() <= 64 << 10);
    assert!(target(&session) < used, "the client is not asked for more than it can have");
    for slot in 0..used {
        run(&session, slot, 2, used).unwrap();
        assert!(target(&session) < used);
    }
    assert_eq!(wide_session(&state, 3, 1).unwrap_err(), Status::NoSpace);
    // What need not be kept needs no memory.
    let unkept = SequenceRequest {
        slot: SlotId(used),
        sequence: SequenceId(1),
        highest_slot: SlotId(used),
        cache_this: false,
        digest: 0,
        connection: ConnectionId(1),
    };
    complete(session.begin(&unkept, T0).unwrap(), None);
    // The first slot of a session always has room. Another is as it was, and works when there is memory
    // again.
    run(&other, 0, 1, 0).unwrap();
    assert_eq!(run(&other, 1, 1, 1), Err(Status::Delay));
    assert_eq!(target(&other), 0);
    // An idle client's slots are for others, but for the first.
    for sequence in 3..6 {
        run(&session, 0, sequence, 0).unwrap();
    }
    run(&other, 1, 1, 1).unwrap();
    run(&session, 0, 6, 0).unwrap();
}
