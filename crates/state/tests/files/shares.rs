//! Share reservations and their own open-owner (RFC 8881 §9.7, §9.9).

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{Status, share};
use state::{Blocked, Client, Limits, Open, OpenClaim, Opened, State};

use crate::fixture::{FILE, T0, client};

const NONE: u32 = 0;
const READ: u32 = share::READ;
const WRITE: u32 = share::WRITE;
const BOTH: u32 = share::BOTH;

fn open(state: &State, client: &Arc<Client>, (access, deny): (u32, u32)) -> Result<Opened, Status> {
    let (owner, claim) = (Bytes::from_static(b"o"), OpenClaim::New);
    let (delegate, timestamps, delegation_alone) = (None, false, false);
    let asked = Open { file: FILE, owner, claim, access, deny, delegate, timestamps, delegation_alone };
    state.open(client, &asked, T0).map_err(|blocked| match blocked {
        Blocked::Status(status) => status,
        Blocked::By(obstacles) => panic!("{obstacles:?}"),
    })
}

#[test]
fn a_reservation_excludes_its_own_owners_later_opens() {
    for (first, second) in [
        ((READ, READ), (READ, NONE)),
        ((BOTH, NONE), (BOTH, WRITE)),
        ((READ, WRITE), (WRITE, NONE)),
        ((WRITE, NONE), (READ, WRITE)),
        ((BOTH, BOTH), (BOTH, BOTH)),
    ] {
        let state = State::new(Limits::default(), 1);
        let a = client(&state, "a");
        let before = open(&state, &a, first).unwrap().state_id;
        let again = open(&state, &a, second);
        assert_eq!(again.map(|_| ()), Err(Status::ShareDenied), "{first:?} {second:?}");
        state.close(&a, &before).unwrap();
        open(&state, &a, second).unwrap();
    }
}

#[test]
fn an_owner_upgrades_its_open_where_no_reservation_conflicts() {
    for (first, second) in
        [((READ, NONE), (BOTH, NONE)), ((READ, WRITE), (READ, WRITE)), ((WRITE, READ), (WRITE, NONE))]
    {
        let state = State::new(Limits::default(), 1);
        let a = client(&state, "a");
        let before = open(&state, &a, first).unwrap().state_id;
        let after = open(&state, &a, second).unwrap().state_id;
        assert_eq!((after.other, after.sequence), (before.other, before.sequence + 1));
    }
}

#[test]
fn an_owner_that_gives_up_its_denial_may_open_again() {
    let state = State::new(Limits::default(), 1);
    let a = client(&state, "a");
    open(&state, &a, (READ, NONE)).unwrap();
    let denying = open(&state, &a, (READ, WRITE)).unwrap().state_id;
    assert_eq!(open(&state, &a, (WRITE, NONE)).map(|_| ()), Err(Status::ShareDenied));
    state.open_downgrade(&a, &denying, READ, NONE).unwrap();
    open(&state, &a, (WRITE, NONE)).unwrap();
}
