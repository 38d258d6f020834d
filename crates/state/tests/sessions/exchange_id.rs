//! EXCHANGE_ID: the nine cases of RFC 8881 §18.35.4.

use std::sync::Arc;

use proto::nfs4::{SequenceId, Status};
use state::{ExchangeId, ExchangedId, Limits, State};

use crate::fixture::*;

fn update(state: &State, owner: &str, verifier: u8, who: &str) -> Result<ExchangedId, Status> {
    state.exchange_id(&ExchangeId { update: true, ..asked(owner, verifier, who) }, T0)
}

#[test]
fn case_1_new_owner_gets_an_unconfirmed_record() {
    let state = state();
    let exchanged = exchange(&state, "a", 1, "p", T0).unwrap();
    assert!(!exchanged.confirmed && exchanged.replaced.is_none());
    assert_eq!(exchanged.sequence, SequenceId(1));
    assert_ne!(exchange(&state, "b", 1, "p", T0).unwrap().client, exchanged.client);
}

#[test]
fn case_2_non_update_of_existing_client_returns_confirmed_record() {
    let state = state();
    let holder = client(&state, "a");
    let opened = open(&state, &holder);
    for _ in 0..2 {
        let again = exchange(&state, "a", 1, "a", T0).unwrap();
        assert!(again.confirmed && again.replaced.is_none());
        assert_eq!((again.client, again.sequence), (holder.id(), SequenceId(2)));
    }
    assert_eq!(state.test_state_id(&holder, &opened.state_id), Status::Ok);
}

#[test]
fn case_2_leaves_a_restarted_incarnation_its_unconfirmed_record() {
    // A late duplicate of the incarnation before must not undo what its successor has begun.
    let state = state();
    client(&state, "a");
    let after = exchange(&state, "a", 2, "a", T0).unwrap();
    exchange(&state, "a", 1, "a", T0).unwrap();
    state.create_session(&request(&state, after.client, 1, "a", 9), T0).unwrap();
}

#[test]
fn case_3_collision_with_state_and_lease_is_clid_inuse() {
    let state = state();
    let holder = client(&state, "a");
    let opened = open(&state, &holder);
    for verifier in [1, 9] {
        assert_eq!(exchange(&state, "a", verifier, "thief", T0).unwrap_err(), Status::ClientIdInUse);
    }
    assert!(!holder.is_gone());
    assert_eq!(state.test_state_id(&holder, &opened.state_id), Status::Ok);
    assert_eq!(exchange(&state, "a", 1, "a", T0).unwrap().client, holder.id());
}

#[test]
fn case_3_client_collision_with_a_session_alone_is_clid_inuse() {
    let state = state();
    let session = session(&state, "a");
    assert_eq!(exchange(&state, "a", 9, "thief", T0).unwrap_err(), Status::ClientIdInUse);
    assert!(state.session(session.id()).is_ok());
}

#[test]
fn case_3_client_collision_without_state_replaces_the_record() {
    let state = state();
    let session = session(&state, "a");
    state.destroy_session(session.id()).unwrap();
    let heir = exchange(&state, "a", 9, "heir", T0).unwrap();
    assert!(!heir.confirmed);
    assert!(Arc::ptr_eq(&heir.replaced.unwrap(), session.client()));
    assert!(session.client().is_gone());
}

#[test]
fn case_3_collision_without_lease_replaces_record_and_state() {
    let state = state();
    let holder = client(&state, "a");
    let opened = open(&state, &holder);
    let heir = exchange(&state, "a", 9, "heir", LATE).unwrap();
    assert!(!heir.confirmed);
    assert!(holder.is_gone());
    assert!(state.sessions_of(holder.id()).is_empty());
    // What it held stands until it is written down that nobody may reclaim it.
    assert_eq!(state.test_state_id(&holder, &opened.state_id), Status::Ok);
    state.finish_expel(&heir.replaced.unwrap());
    assert_eq!(state.test_state_id(&holder, &opened.state_id), Status::BadStateId);
}

#[test]
fn case_4_replacement_of_unconfirmed_record_makes_a_new_client_id() {
    let state = state();
    let first = exchange(&state, "a", 1, "p", T0).unwrap();
    for (verifier, who) in [(1, "p"), (2, "p"), (2, "q")] {
        let second = exchange(&state, "a", verifier, who, T0).unwrap();
        assert_ne!(first.client, second.client);
    }
    let asked = request(&state, first.client, 1, "p", 1);
    assert_eq!(state.create_session(&asked, T0).unwrap_err(), Status::StaleClientId);
}

#[test]
fn case_5_client_restart_keeps_state_until_new_record_is_confirmed() {
    let state = state();
    let before = client(&state, "a");
    let opened = open(&state, &before);
    let after = exchange(&state, "a", 2, "a", T0).unwrap();
    assert!(!after.confirmed && after.replaced.is_none());
    assert_ne!(after.client, before.id());
    assert_eq!(state.test_state_id(&before, &opened.state_id), Status::Ok);
    let creation = state.create_session(&request(&state, after.client, 1, "a", 9), T0).unwrap();
    let state::Creation::New { replaced: Some(replaced), .. } = creation else { panic!("{creation:?}") };
    assert!(Arc::ptr_eq(&replaced, &before) && before.is_gone());
    assert!(state.sessions_of(before.id()).is_empty());
    state.finish_expel(&replaced);
    assert_eq!(state.test_state_id(&before, &opened.state_id), Status::BadStateId);
}

#[test]
fn case_6_update_leaves_the_record_intact() {
    let state = state();
    let holder = client(&state, "a");
    let opened = open(&state, &holder);
    let updated = update(&state, "a", 1, "a").unwrap();
    assert!(updated.confirmed && updated.replaced.is_none());
    assert_eq!(updated.client, holder.id());
    assert_eq!(state.test_state_id(&holder, &opened.state_id), Status::Ok);
}

#[test]
fn case_7_update_without_confirmed_record_is_noent() {
    let state = state();
    assert_eq!(update(&state, "a", 1, "a").unwrap_err(), Status::NoEntry);
    let unconfirmed = exchange(&state, "a", 1, "a", T0).unwrap();
    assert_eq!(update(&state, "a", 1, "a").unwrap_err(), Status::NoEntry);
    state.create_session(&request(&state, unconfirmed.client, 1, "a", 1), T0).unwrap();
}

#[test]
fn case_8_update_but_wrong_verifier_is_not_same_whoever_asks() {
    let state = state();
    let holder = client(&state, "a");
    for who in ["a", "thief"] {
        assert_eq!(update(&state, "a", 2, who).unwrap_err(), Status::NotSame);
    }
    assert!(!holder.is_gone());
}

#[test]
fn case_9_update_but_wrong_principal_is_perm() {
    let state = state();
    let holder = client(&state, "a");
    assert_eq!(update(&state, "a", 1, "thief").unwrap_err(), Status::NotPermitted);
    assert_eq!(update(&state, "a", 1, "a").unwrap().client, holder.id());
}

#[test]
fn an_empty_name_is_refused() {
    let state = state();
    assert_eq!(exchange(&state, "", 1, "p", T0).unwrap_err(), Status::Invalid);
    assert_eq!(update(&state, "", 1, "p").unwrap_err(), Status::Invalid);
}

#[test]
fn an_unconfirmed_record_is_removed_after_a_lease_period() {
    let state = state();
    let exchanged = exchange(&state, "a", 1, "p", T0).unwrap();
    assert!(state.overdue_clients(T0).is_empty());
    let overdue = state.overdue_clients(LATE);
    assert_eq!(overdue.iter().map(|client| client.id()).collect::<Vec<_>>(), [exchanged.client]);
    assert!(state.begin_expel(&overdue[0], LATE));
    let asked = request(&state, exchanged.client, 1, "p", 1);
    assert_eq!(state.create_session(&asked, LATE).unwrap_err(), Status::StaleClientId);
}

#[test]
fn a_full_table_still_replaces() {
    let state = State::new(Limits { clients_max: 1, ..Limits::default() }, 1);
    client(&state, "a");
    assert_eq!(exchange(&state, "b", 1, "b", T0).unwrap_err(), Status::Delay);
    assert!(exchange(&state, "a", 1, "heir", LATE).unwrap().replaced.is_some());
    assert!(exchange(&state, "a", 2, "heir", LATE).is_ok());
}
