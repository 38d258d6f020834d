//! Room for an open that is promised before its file is made.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{Status, share};
use state::{Blocked, FileId, Limits, Open, OpenClaim, State};

use crate::fixture::{FILE, T0, client, open};

fn asked(file: FileId) -> Open {
    let owner = Bytes::from_static(b"o");
    Open {
        file,
        owner,
        claim: OpenClaim::New,
        access: share::READ,
        deny: 0,
        delegate: None,
        timestamps: false,
        delegation_alone: false,
    }
}

#[test]
fn a_reserved_place_is_taken_by_nobody_else_and_given_back() {
    let state = State::new(Limits { states_per_client_max: 2, ..Limits::default() }, 42);
    let a = client(&state, "a");
    let place = state.reserve(&a).unwrap();
    let first = open(&state, &a, FILE, None).state_id;
    let second = FileId(8, 1);
    assert!(matches!(state.open(&a, &asked(second), T0), Err(Blocked::Status(Status::Delay))));
    assert_eq!(state.reserve(&a).unwrap_err(), Status::Delay);
    state.open_reserved(&place, &asked(second), T0).unwrap();
    drop(place);
    assert_eq!(state.reserve(&a).unwrap_err(), Status::Delay, "both places are taken");
    state.close(&a, &first).unwrap();
    drop(state.reserve(&a).unwrap());
    drop(state.reserve(&a).unwrap());
}

#[test]
fn client_with_a_reservation_is_not_idle() {
    let state = State::new(Limits::default(), 42);
    let a = client(&state, "a");
    let place = state.reserve(&a).unwrap();
    for _ in 0..100 {
        assert!(state.idle_clients().is_empty());
    }
    drop(place);
    let idle: Vec<_> = (0..100).flat_map(|_| state.idle_clients()).collect();
    assert!(idle.len() == 1 && Arc::ptr_eq(&idle[0], &a));
}
