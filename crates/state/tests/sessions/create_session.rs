//! CREATE_SESSION and the ends of clients and sessions (RFC 8881 §18.36, §18.37, §18.50).

use proto::nfs4::{ClientId, SequenceId, SessionId, SlotId, Status};
use state::{ConnectionId, CreateSession, Creation, Limits, SequenceRequest, State, record_name};

use crate::fixture::*;

#[test]
fn a_retry_gets_the_first_answer_and_makes_nothing() {
    let state = state();
    let client = exchange(&state, "a", 1, "a", T0).unwrap().client;
    let first = state.create_session(&request(&state, client, 1, "a", 1), T0).unwrap();
    assert!(matches!(first, Creation::New { .. }));
    for _ in 0..2 {
        let again = state.create_session(&request(&state, client, 1, "a", 2), T0).unwrap();
        assert!(matches!(&again, Creation::Replay(created) if created == first.created()));
    }
    assert_eq!(state.sessions_of(client).len(), 1);
}

#[test]
fn a_retry_gets_the_first_error_again() {
    let state = State::new(Limits { sessions_per_client_max: 1, ..Limits::default() }, 1);
    let client = exchange(&state, "a", 1, "a", T0).unwrap().client;
    for (sequence, error) in [(1, Status::NoEntry), (2, Status::Invalid)] {
        let failing =
            CreateSession { channels: Err(error), ..request(&state, client, sequence, "a", sequence as u8) };
        assert_eq!(state.create_session(&failing, T0).unwrap_err(), error);
        // Even where it would now succeed.
        let retry = request(&state, client, sequence, "a", sequence as u8);
        assert_eq!(state.create_session(&retry, T0).unwrap_err(), error);
    }
    state.create_session(&request(&state, client, 3, "a", 3), T0).unwrap();
    assert_eq!(state.create_session(&request(&state, client, 4, "a", 4), T0).unwrap_err(), Status::NoSpace);
    state.destroy_session(SessionId([3; 16])).unwrap();
    let retry = request(&state, client, 4, "a", 4);
    assert_eq!(state.create_session(&retry, T0).unwrap_err(), Status::NoSpace);
    state.create_session(&request(&state, client, 5, "a", 5), T0).unwrap();
}

#[test]
fn out_of_order_is_misordered_and_changes_nothing() {
    let state = state();
    let client = exchange(&state, "a", 1, "a", T0).unwrap().client;
    for sequence in [0, 2, u32::MAX] {
        let asked = request(&state, client, sequence, "a", 1);
        assert_eq!(state.create_session(&asked, T0).unwrap_err(), Status::SequenceMisordered);
    }
    state.create_session(&request(&state, client, 1, "a", 1), T0).unwrap();
    assert_eq!(
        state.create_session(&request(&state, client, 3, "a", 3), T0).unwrap_err(),
        Status::SequenceMisordered
    );
    state.create_session(&request(&state, client, 2, "a", 2), T0).unwrap();
}

#[test]
fn another_principal_neither_confirms_nor_adds_nor_learns_anything() {
    let state = state();
    let client = exchange(&state, "a", 1, "a", T0).unwrap().client;
    let steal = |sequence| state.create_session(&request(&state, client, sequence, "thief", 7), T0);
    assert_eq!(steal(1).unwrap_err(), Status::ClientIdInUse);
    state.create_session(&request(&state, client, 1, "a", 1), T0).unwrap();
    for sequence in [1, 2] {
        assert_eq!(steal(sequence).unwrap_err(), Status::ClientIdInUse);
    }
    assert_eq!(state.sessions_of(client).len(), 1);
    let unknown = request(&state, ClientId(99), 1, "a", 1);
    assert_eq!(state.create_session(&unknown, T0).unwrap_err(), Status::StaleClientId);
}

#[test]
fn without_a_session_nothing_is_confirmed_or_replaced() {
    let state = state();
    let before = client(&state, "a");
    let after = exchange(&state, "a", 2, "a", T0).unwrap();
    let failing =
        CreateSession { channels: Err(Status::TooSmall), ..request(&state, after.client, 1, "a", 9) };
    assert_eq!(state.create_session(&failing, T0).unwrap_err(), Status::TooSmall);
    // TOOSMALL leaves the slot where it was, other errors are kept in it.
    let failing = CreateSession { channels: Err(Status::Invalid), ..failing };
    assert_eq!(state.create_session(&failing, T0).unwrap_err(), Status::Invalid);
    assert!(!before.is_gone());
    assert!(exchange(&state, "a", 1, "a", T0).unwrap().confirmed);
    state.create_session(&request(&state, after.client, 2, "a", 9), T0).unwrap();
    assert!(before.is_gone());
}

#[test]
fn a_client_with_sessions_or_state_is_busy() {
    let state = state();
    let session = session(&state, "a");
    let id = session.client().id();
    assert_eq!(state.destroy_client(id, &principal("a")).unwrap_err(), Status::ClientIdBusy);
    let opened = open(&state, session.client());
    state.destroy_session(session.id()).unwrap();
    assert_eq!(state.destroy_session(session.id()), Err(Status::BadSession));
    assert_eq!(state.destroy_client(id, &principal("a")).unwrap_err(), Status::ClientIdBusy);
    state.close(session.client(), &opened.state_id).unwrap();
    state.destroy_client(id, &principal("a")).unwrap();
    assert_eq!(state.destroy_client(id, &principal("a")).unwrap_err(), Status::StaleClientId);
}

#[test]
fn another_principal_does_not_end_a_client_confirmed_or_not() {
    let state = state();
    let unconfirmed = exchange(&state, "a", 1, "a", T0).unwrap().client;
    let steal = |id| state.destroy_client(id, &principal("thief")).unwrap_err();
    assert_eq!(steal(unconfirmed), Status::WrongCredential);
    let session = session(&state, "b");
    state.destroy_session(session.id()).unwrap();
    assert_eq!(steal(session.client().id()), Status::WrongCredential);
    assert_eq!(steal(ClientId(99)), Status::StaleClientId);
    state.destroy_client(unconfirmed, &principal("a")).unwrap();
}

#[test]
fn a_connection_is_associated_by_making_the_session_or_by_a_request() {
    let state = state();
    let session = session(&state, "a");
    let [made, other] = [1, 2].map(ConnectionId);
    assert!(session.is_associated(made) && !session.is_associated(other));
    let mut request = SequenceRequest {
        slot: SlotId(0),
        sequence: SequenceId(2),
        highest_slot: SlotId(0),
        cache_this: true,
        digest: 0,
        connection: other,
    };
    assert_eq!(session.begin(&request, T0).unwrap_err(), Status::SequenceMisordered);
    assert!(!session.is_associated(other), "only by a SEQUENCE that succeeds");
    request.sequence = SequenceId(1);
    drop(session.begin(&request, T0).unwrap());
    assert!(session.is_associated(other));
    // Of many, the newest are known.
    (3..100).for_each(|number| session.associate(ConnectionId(number)));
    assert!(!session.is_associated(made) && session.is_associated(ConnectionId(99)));
    assert!(session.is_associated(ConnectionId(36)) && !session.is_associated(ConnectionId(35)));
}

#[test]
fn state_is_reclaimed_by_the_same_owner_and_principal_only() {
    let state = state();
    state.begin_grace([(record_name(b"a", &principal("a")), Default::default())], T0);
    let thief = exchange(&state, "a", 1, "thief", T0).unwrap().client;
    state.create_session(&request(&state, thief, 1, "thief", 1), T0).unwrap();
    let session = state.session(SessionId([1; 16])).unwrap();
    assert_eq!(state.check_reclaim(session.client()), Err(Status::ReclaimBad));
    state.reclaim_complete(session.client()).unwrap();
    assert_eq!(state.awaited_clients(), 1, "the client is still waited for");
}
