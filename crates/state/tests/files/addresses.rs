//! Shares of client addresses in the tables.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{SessionId, Status, Verifier, share};
use state::{
    Blocked, Channels, Client, ClientAddress, ConnectionId, CreateSession, ExchangeId, ExchangedId, FileId,
    Limits, LockError, LockRequest, Locker, Now, Open, OpenClaim, Opened, Principal, Range, State,
};

use crate::fixture::{FILE, T0, client, client_at};

fn address(number: u8) -> ClientAddress {
    ClientAddress(Bytes::copy_from_slice(&[10, 0, 0, number]))
}

fn state(clients_max: usize) -> State {
    State::new(Limits { clients_max, ..Limits::default() }, 1)
}

fn exchange(state: &State, name: &str, from: u8) -> Result<ExchangedId, Status> {
    let asked = ExchangeId {
        owner: Bytes::copy_from_slice(name.as_bytes()),
        verifier: Verifier([1; 8]),
        principal: Principal(Bytes::new()),
        address: address(from),
        update: false,
        minor_version: 1,
    };
    state.exchange_id(&asked, T0)
}

fn confirm(state: &State, exchanged: &ExchangedId, id: u8) -> Result<(), Status> {
    confirm_caching(state, exchanged, id, 0)
}

/// With a session that keeps replies of up to so many bytes.
fn confirm_caching(state: &State, exchanged: &ExchangedId, id: u8, bytes: u32) -> Result<(), Status> {
    let channel = state::ChannelLimits {
        request_bytes_max: 4096,
        response_bytes_max: 4096,
        cached_response_bytes_max: bytes,
        operations_max: 8,
        requests_max: 1,
    };
    let request = CreateSession {
        client: exchanged.client,
        sequence: exchanged.sequence,
        principal: Principal(Bytes::new()),
        channels: Ok(Channels { fore: channel, back: channel }),
        flags: 0,
        id: SessionId([id; 16]),
        connection: ConnectionId(1),
    };
    state.create_session(&request, T0).map(drop)
}

#[test]
fn sessions_of_one_address_leave_memory_for_replies_of_others() {
    let state = State::new(Limits { session_bytes_max: 256 << 10, ..Limits::default() }, 1);
    let session = |number: u8, from| {
        let exchanged = exchange(&state, &format!("client {number}"), from).unwrap();
        confirm_caching(&state, &exchanged, number, 4096)
    };
    let own = (0..255).take_while(|number| session(*number, 1).is_ok()).count();
    assert!((20..=32).contains(&own), "{own} sessions take half of the memory");
    assert_eq!(session(200, 1), Err(Status::NoSpace));
    assert_eq!(session(201, 2), Ok(()));
}

#[test]
fn a_flood_of_exchange_ids_keeps_no_client_out() {
    let state = state(100);
    let kept = client(&state, "kept");
    let first = exchange(&state, "first", 1).unwrap();
    for number in 0..500 {
        exchange(&state, &format!("flood {number}"), 1).unwrap();
    }
    assert_eq!(state.client_and_session_counts().0, 100);
    for (name, from) in [("victim", 2), ("neighbour of the flood", 1)] {
        let victim = exchange(&state, name, from).unwrap();
        for number in 0..50 {
            exchange(&state, &format!("flood {number} beside {name}"), 1).unwrap();
        }
        confirm(&state, &victim, from).unwrap();
    }
    assert_eq!(confirm(&state, &first, 3), Err(Status::StaleClientId), "the oldest gave way");
    assert!(!kept.is_gone());
}

#[test]
fn an_address_has_as_many_confirmed_clients_as_it_leaves_to_others() {
    let state = state(8);
    let late: Vec<_> = (0..6).map(|number| exchange(&state, &format!("{number}"), 1).unwrap()).collect();
    let confirmed: Vec<_> = (0..).zip(&late).map(|(id, exchanged)| confirm(&state, exchanged, id)).collect();
    assert_eq!(confirmed.iter().filter(|outcome| outcome.is_ok()).count(), 4);
    assert_eq!(confirmed[5], Err(Status::Delay));
    assert_eq!(exchange(&state, "more", 1).unwrap_err(), Status::Delay);
    let other = exchange(&state, "other", 2).unwrap();
    confirm(&state, &other, 9).unwrap();
    // It gets DELAY, and its slot has not moved: when there is room, the same request succeeds.
    let session = state.session(SessionId([0; 16])).unwrap();
    state.destroy_session(session.id()).unwrap();
    state.destroy_client(session.client().id(), &Principal(Bytes::new())).unwrap();
    confirm(&state, &late[5], 5).unwrap();
    assert_eq!(confirm(&state, &late[4], 4), Err(Status::Delay));
}

fn open(state: &State, client: &Arc<Client>, file: u64) -> Result<Opened, Status> {
    let asked = Open {
        file: FileId(file, 1),
        owner: Bytes::from_static(b"o"),
        claim: OpenClaim::New,
        access: share::BOTH,
        deny: 0,
        delegate: None,
        timestamps: false,
        delegation_alone: false,
    };
    state.open(client, &asked, T0).map_err(|blocked| match blocked {
        Blocked::Status(status) => status,
        Blocked::By(obstacles) => panic!("{obstacles:?}"),
    })
}

#[test]
fn an_address_holds_as_much_state_as_it_leaves_to_others() {
    let state = State::new(Limits { states_max: 16, ..Limits::default() }, 1);
    let [a, b, c] =
        [("a", 1), ("b", 1), ("c", 2)].map(|(name, from)| client_at(&state, name, &address(from)));
    let opened =
        |client: &Arc<Client>| (0..20).take_while(|file| open(&state, client, *file).is_ok()).count();
    assert_eq!((opened(&a), opened(&b), opened(&c)), (8, 0, 4));
    let id = open(&state, &c, 100).map(|_| ());
    assert_eq!(id, Err(Status::Delay));
    state.evict(a.id()).unwrap();
    state.finish_expel(&a);
    assert_eq!(opened(&b), 6);
}

#[test]
fn locked_ranges_count_as_state_of_their_client() {
    let state = State::new(Limits { states_per_client_max: 6, ..Limits::default() }, 1);
    let a = client(&state, "a");
    let opened = open(&state, &a, FILE.0).unwrap().state_id;
    let owner = Bytes::from_static(b"l");
    let mut locker = Locker::New { open: opened, owner };
    let mut lock = |number: u64| {
        let range = Range::new(number * 2, 1).unwrap();
        let request =
            LockRequest { file: FILE, locker: locker.clone(), range, exclusive: true, reclaim: false };
        let id = state.lock(&a, &request, T0)?;
        locker = Locker::Existing(id);
        Ok::<_, LockError>(id)
    };
    let locked: Vec<_> = (0..4).map(|number| lock(number).unwrap()).collect();
    assert!(matches!(lock(4), Err(LockError::Blocked(Blocked::Status(Status::Delay)))));
    assert_eq!(a.state_count(), 6);
    let unlocked = state.unlock(&a, FILE, locked.last().unwrap(), Range::ALL).unwrap();
    assert_eq!(a.state_count(), 2);
    state.free_state_id(&a, &unlocked).unwrap();
    state.close(&a, &opened).unwrap();
    assert_eq!(a.state_count(), 0);
}

#[test]
fn silent_clients_lose_their_state_when_the_table_is_nearly_full() {
    let state = State::new(Limits { states_max: 8, ..Limits::default() }, 1);
    let clients: Vec<_> =
        (0..).zip(["a", "b", "c"]).map(|(from, name)| client_at(&state, name, &address(from))).collect();
    let late = Now(T0.0 + 91_000);
    for (client, files) in clients.iter().zip([4, 2, 0]) {
        assert!((0..files).all(|file| open(&state, client, file).is_ok()));
    }
    assert_eq!(state.overdue_clients(late).len(), 1, "the one without state");
    open(&state, &clients[2], 0).unwrap();
    assert_eq!(state.overdue_clients(late).len(), 3);
    clients[0].renew(late);
    assert_eq!(state.overdue_clients(late).len(), 2, "never one with a lease");
}
