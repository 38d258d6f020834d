//! Persistent sessions after a restart of the server (RFC 8881 §2.10.6.5, §15.1.11.5).

use bytes::Bytes;
use proto::nfs4::{SequenceId, SessionId, SlotId, Status, session_flags};
use state::{CachedReply, CreateSession, DEAD_SESSIONS_MAX, DeadSession, DeadSlot, Now, State};

use crate::fixture::*;

const REPLY: CachedReply = CachedReply::Reply(Bytes::from_static(b"reply"));
const DONE: CachedReply = CachedReply::Done(Bytes::from_static(b"done"));

fn dead(id: u8) -> DeadSession {
    let slot = |sequence, digest, kept| DeadSlot { sequence: SequenceId(sequence), digest, kept };
    DeadSession {
        id: SessionId([id; 16]),
        principal: principal("a"),
        highest_slot: SlotId(3),
        slots: [(SlotId(0), slot(7, 5, REPLY)), (SlotId(2), slot(1, 6, DONE))].into(),
    }
}

fn with_dead(ids: &[u8]) -> State {
    let state = state();
    state.bury(ids.iter().map(|id| dead(*id)), T0);
    state
}

#[test]
fn a_retry_of_what_was_kept_is_answered_as_often_as_it_comes() {
    let state = with_dead(&[9]);
    let session = state.dead_session(SessionId([9; 16])).unwrap();
    for _ in 0..2 {
        assert_eq!(session.retry(SlotId(0), SequenceId(7), 5), Ok(&REPLY));
        assert_eq!(session.retry(SlotId(2), SequenceId(1), 6), Ok(&DONE));
    }
}

#[test]
fn everything_else_on_a_dead_session_is_told_so() {
    let state = with_dead(&[9]);
    assert_eq!(state.session(SessionId([9; 16])).unwrap_err(), Status::DeadSession);
    let session = state.dead_session(SessionId([9; 16])).unwrap();
    // The next request, the one before, another one under the number, an unused slot, and one that there is
    // not.
    for (slot, sequence, digest) in [(0, 8, 5), (0, 6, 5), (0, 7, 6), (1, 1, 5), (2, 0, 6), (99, 7, 5)] {
        let answer = session.retry(SlotId(slot), SequenceId(sequence), digest);
        assert_eq!(answer, Err(Status::DeadSession), "{slot} {sequence} {digest}");
    }
    assert_eq!(state.session(SessionId([8; 16])).unwrap_err(), Status::BadSession);
}

#[test]
fn dead_sessions_are_kept_for_a_lease() {
    let state = with_dead(&[8, 9]);
    state.tick(Now(LATE.0 - 2));
    assert!(state.dead_session(SessionId([9; 16])).is_some());
    state.tick(LATE);
    assert_eq!(state.session(SessionId([9; 16])).unwrap_err(), Status::BadSession);
}

#[test]
fn only_its_principal_destroys_a_dead_session() {
    let state = with_dead(&[8, 9]);
    let id = SessionId([9; 16]);
    let refused = state.destroy_dead_session(id, &principal("b"));
    assert_eq!(refused, Err(Status::ConnectionNotBoundToSession));
    assert_eq!(state.destroy_dead_session(id, &principal("a")), Ok(()));
    assert_eq!(state.destroy_dead_session(id, &principal("a")), Err(Status::BadSession));
    assert!(state.dead_session(SessionId([8; 16])).is_some(), "the other one stays");
}

#[test]
fn new_sessions_of_the_same_client_leave_the_dead_one_alone() {
    let state = with_dead(&[9]);
    let living = session(&state, "a");
    assert!(state.session(living.id()).is_ok());
    state.destroy_session(living.id()).unwrap();
    assert!(state.dead_session(SessionId([9; 16])).is_some());
}

#[test]
fn of_too_many_those_that_died_last_are_kept() {
    let state = state();
    let id = |number: usize| SessionId(u128::to_be_bytes(number as u128));
    let many = (0..DEAD_SESSIONS_MAX + 10).rev().map(|number| DeadSession { id: id(number), ..dead(0) });
    state.bury(many, T0);
    let kept = |number| state.dead_session(id(number)).is_some();
    assert_eq!([kept(9), kept(10), kept(DEAD_SESSIONS_MAX + 9)], [false, true, true]);
}

#[test]
fn a_session_is_persistent_when_that_was_granted() {
    let state = state();
    let client = exchange(&state, "a", 1, "a", T0).unwrap().client;
    for (sequence, flags, persistent) in [(1, 0, false), (2, session_flags::PERSIST, true)] {
        let asked = CreateSession { flags, ..request(&state, client, sequence, "a", sequence as u8) };
        state.create_session(&asked, T0).unwrap();
        assert_eq!(state.session(asked.id).unwrap().is_persistent(), persistent);
    }
}
