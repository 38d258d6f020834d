//! Many locks and opens on one file: removal in pieces, and a benchmark.
//!
//! `cargo test --release -p primetime-state --test files -- --ignored --nocapture` prints nanoseconds per
//! operation.

#![allow(clippy::disallowed_methods, reason = "the benchmark reads a clock")]

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use proto::nfs4::{StateId, share};
use state::{
    ByteRangeLock, Client, FileId, Limits, LockOwner, LockRequest, Locker, Open, OpenClaim, Range,
    ShareOwner, ShareReservation, State,
};

use crate::fixture::{FILE, T0, client};

/// More than go in one piece.
const MANY: u64 = 3000;

fn state(count: u64) -> State {
    let ranges_per_file_max = usize::try_from(count).unwrap() * 2 + 16;
    State::new(Limits { ranges_per_file_max, ..Limits::default() }, 1)
}

fn name(number: u64) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

fn open(state: &State, client: &Arc<Client>, number: u64, (access, deny): (u32, u32)) -> StateId {
    let asked = Open {
        file: FILE,
        owner: name(number),
        claim: OpenClaim::New,
        access,
        deny,
        delegate: None,
        timestamps: false,
        delegation_alone: false,
    };
    state.open(client, &asked, T0).unwrap().state_id
}

fn lock(
    state: &State,
    client: &Arc<Client>,
    locker: Locker,
    (offset, length): (u64, u64),
    exclusive: bool,
) -> StateId {
    let range = Range::new(offset, length).unwrap();
    state.lock(client, &LockRequest { file: FILE, locker, range, exclusive, reclaim: false }, T0).unwrap()
}

/// A client with one open, and `count` ranges of one owner.
fn locked(state: &State, count: u64) -> (Arc<Client>, StateId, StateId) {
    let a = client(state, "a");
    let opened = open(state, &a, 0, (share::BOTH, 0));
    let mut id = lock(state, &a, Locker::New { open: opened, owner: name(0) }, (0, 1), true);
    for number in 1..count {
        id = lock(state, &a, Locker::Existing(id), (number * 2, 1), true);
    }
    (a, opened, id)
}

fn is_free(state: &State) -> bool {
    let other = LockOwner::Nlm { host: name(1), process: 1, handle: Bytes::new() };
    state.test_lock(FILE, &other, ByteRangeLock { range: Range::ALL, exclusive: true }, T0).is_ok()
}

#[test]
fn unlock_of_everything_is_one_operation_however_many_locks_there_are() {
    let state = state(MANY);
    let (a, opened, id) = locked(&state, MANY);
    assert!(state.close(&a, &opened).is_err());
    let unlocked = state.unlock(&a, FILE, &id, Range::ALL).unwrap();
    assert_eq!((unlocked.other, unlocked.sequence), (id.other, id.sequence + 1));
    assert!(is_free(&state));
    state.close(&a, &opened).unwrap();
    assert!(!a.has_state());
}

#[test]
fn expelled_clients_leave_none_of_very_many_locks() {
    let state = state(MANY);
    let (a, ..) = locked(&state, MANY);
    assert!(!is_free(&state));
    state.evict(a.id()).unwrap();
    state.finish_expel(&a);
    assert!(is_free(&state) && !a.has_state());
}

#[test]
fn revoking_a_file_takes_very_many_locks_of_both_protocols() {
    let state = state(MANY * 2);
    let (a, ..) = locked(&state, MANY);
    for number in 0..MANY {
        let owner = LockOwner::Nlm { host: name(number % 2), process: 1, handle: Bytes::new() };
        let range = Range::new(number * 2 + 1, 1).unwrap();
        state.nlm_lock(FILE, &owner, ByteRangeLock { range, exclusive: true }, T0).unwrap();
    }
    let host = name(7);
    let owner = ShareOwner { host: host.clone(), handle: Bytes::new() };
    state.share(FILE, owner, ShareReservation { access: share::READ, deny: 0 }, T0).unwrap();
    let revoked = state.revoke(&a, FILE);
    assert_eq!((revoked.opens, revoked.locks, revoked.delegations), (1, 1, 0));
    assert_eq!(state.revoke_nlm(FILE).nlm as u64, MANY + 1);
    assert!(is_free(&state) && !state.nlm_holds(&host) && !state.nlm_holds(&name(0)));
}

#[test]
fn free_all_visits_every_file_of_the_host_and_no_other_host() {
    let state = state(MANY);
    let (host, other) = (name(0), name(1));
    for (number, host) in (0..MANY).map(|number| (number, &host)).chain([(MANY, &other)]) {
        let owner = LockOwner::Nlm { host: host.clone(), process: 1, handle: Bytes::new() };
        let file = FileId(number % 3, 1);
        state
            .nlm_lock(
                file,
                &owner,
                ByteRangeLock { range: Range::new(number * 2, 1).unwrap(), exclusive: true },
                T0,
            )
            .unwrap();
    }
    let owner = ShareOwner { host: host.clone(), handle: Bytes::new() };
    state
        .share(FileId(9, 9), owner, ShareReservation { access: share::READ, deny: share::WRITE }, T0)
        .unwrap();
    state.nlm_free_all(&host);
    assert!(!state.nlm_holds(&host) && state.nlm_holds(&other));
    state.nlm_free_all(&other);
    assert!(!state.nlm_holds(&other));
}

#[test]
fn close_is_refused_while_its_open_alone_holds_an_owners_ranges() {
    let state = state(MANY);
    let a = client(&state, "a");
    let opens = [0, 1].map(|number| open(&state, &a, number, (share::BOTH, 0)));
    let owned = opens.map(|open| {
        let locker = Locker::New { open, owner: name(0) };
        lock(&state, &a, locker, (0, 1), true)
    });
    let refused = |open: &StateId| state.close(&a, open).is_err();
    state.close(&a, &opens[0]).unwrap();
    assert!(refused(&opens[1]), "the other open was the last one that the ranges are under");
    state.unlock(&a, FILE, &owned[1], Range::ALL).unwrap();
    let locker = Locker::New { open: opens[1], owner: name(5) };
    let last = lock(&state, &a, locker, (0, 1), false);
    assert!(refused(&opens[1]));
    let last = state.unlock(&a, FILE, &last, Range::ALL).unwrap();
    state.free_state_id(&a, &last).unwrap();
    state.close(&a, &opens[1]).unwrap();
    assert!(!a.has_state());
}

struct Row(&'static str, Vec<u128>);

fn measure(rows: &mut Vec<Row>, what: &'static str, count: u64, mut work: impl FnMut(u64)) {
    let begun = Instant::now();
    for number in 0..count {
        work(number);
    }
    record(rows, what, begun.elapsed().as_nanos() / u128::from(count));
}

fn record(rows: &mut Vec<Row>, what: &'static str, each: u128) {
    match rows.iter_mut().find(|row| row.0 == what) {
        Some(row) => row.1.push(each),
        None => rows.push(Row(what, vec![each])),
    }
}

fn measure_locks(rows: &mut Vec<Row>, count: u64) {
    let state = state(count * 2);
    let a = client(&state, "a");
    let opened = open(&state, &a, 0, (share::BOTH, 0));
    let mut id = lock(&state, &a, Locker::New { open: opened, owner: name(0) }, (1 << 40, 1), true);
    measure(rows, "LOCK, one owner", count, |number| {
        id = lock(&state, &a, Locker::Existing(id), (number * 2, 1), true);
    });
    measure(rows, "LOCK, an owner each", count, |number| {
        lock(&state, &a, Locker::New { open: opened, owner: name(number + 1) }, (1 << 41, 1 << 20), false);
    });
    let mine = LockOwner::Nfs4 { client: a.id(), owner: name(0) };
    measure(rows, "LOCKT, free", count, |number| {
        state
            .test_lock(
                FILE,
                &mine,
                ByteRangeLock { range: Range::new(0, number + 1).unwrap(), exclusive: true },
                T0,
            )
            .unwrap();
    });
    measure(rows, "LOCKT, denied", count, |number| {
        let other = LockOwner::Nfs4 { client: a.id(), owner: name(number + 1) };
        state
            .test_lock(
                FILE,
                &other,
                ByteRangeLock { range: Range::new(number * 2, 1).unwrap(), exclusive: false },
                T0,
            )
            .unwrap_err();
    });
    measure(rows, "CLOSE, refused", count, |_| assert!(state.close(&a, &opened).is_err()));
    measure(rows, "LOCKU", count / 2, |number| {
        id = state.unlock(&a, FILE, &id, Range::new(number * 4, 1).unwrap()).unwrap();
    });
    state.evict(a.id()).unwrap();
    let begun = Instant::now();
    state.finish_expel(&a);
    let each = begun.elapsed().as_nanos() / u128::from(count * 3 / 2);
    record(rows, "end of the client, each range", each);
}

fn measure_opens(rows: &mut Vec<Row>, count: u64) {
    let state = state(16);
    let a = client(&state, "a");
    let mut opens = Vec::new();
    measure(rows, "OPEN, an owner each", count, |number| {
        opens.push(open(&state, &a, number, (share::READ, share::WRITE)));
    });
    measure(rows, "OPEN_DOWNGRADE", count, |number| {
        let at = usize::try_from(number).unwrap();
        opens[at] = state.open_downgrade(&a, &opens[at], share::READ, share::WRITE).unwrap();
    });
    measure(rows, "WRITE without stateid, denied", count, |_| {
        state.check_anonymous_io(FILE, state::Io::Write, T0).unwrap_err();
    });
    measure(rows, "READ", count, |number| {
        let id = &opens[usize::try_from(number).unwrap()];
        state.check_io(&a, FILE, id, state::Io::Read, T0).unwrap();
    });
    measure(rows, "CLOSE", count, |number| {
        state.close(&a, &opens[usize::try_from(number).unwrap()]).unwrap();
    });
}

#[test]
#[ignore = "a benchmark: prints figures"]
fn operations_on_one_file_in_nanoseconds() {
    let mut rows = Vec::new();
    for count in [1000, 10_000, 100_000] {
        measure_locks(&mut rows, count);
        measure_opens(&mut rows, count);
    }
    println!("\n{:<32}{:>10}{:>10}{:>10}", "on one file, ns each", "1,000", "10,000", "100,000");
    for Row(what, each) in rows {
        println!("{what:<32}{:>10}{:>10}{:>10}", each[0], each[1], each[2]);
    }
}
