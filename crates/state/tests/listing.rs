//! Lists are whole however small their pieces are.

#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{ChannelAttributes, ClientId, SessionId, Verifier, share};
use state::{
    Client, ClientAddress, ConnectionId, CreateSession, DelegationKind, ExchangeId, FileId, Holding,
    HoldingsAfter, Limits, LockOwner, LockRequest, Locker, Now, Open, OpenClaim, Principal, Range,
    ShareOwner, ShareReservation, State, Totals,
};

const T0: Now = Now(1000);

fn client(state: &State, number: u8) -> Arc<Client> {
    let owner = Bytes::copy_from_slice(&[number]);
    let principal = Principal(Bytes::from_static(b"root"));
    let verifier = Verifier([1; 8]);
    let asked = ExchangeId {
        owner,
        verifier,
        principal: principal.clone(),
        address: ClientAddress::default(),
        update: false,
        minor_version: 1,
    };
    let exchanged = state.exchange_id(&asked, T0).unwrap();
    let channel = ChannelAttributes {
        header_pad_bytes: 0,
        request_bytes_max: 1 << 20,
        response_bytes_max: 1 << 20,
        cached_response_bytes_max: 4096,
        operations_max: 16,
        requests_max: 4,
        rdma_ird: vec![],
    };
    let session = CreateSession {
        client: exchanged.client,
        sequence: exchanged.sequence,
        principal,
        channels: state::negotiate_channels(&channel, &channel, false, state.limits()),
        flags: 0,
        id: SessionId([number; 16]),
        connection: ConnectionId(1),
    };
    let created = *state.create_session(&session, T0).unwrap().created();
    let client = Arc::clone(state.session(created.session).unwrap().client());
    client.set_recorded();
    state.reclaim_complete(&client).unwrap();
    client
}

/// Clients 1 to 5; each has ten files open, has locked the first of them, and is delegated the others. NLM
/// shares one.
fn state() -> State {
    let state = State::new(Limits::default(), 42);
    for number in 1..=5 {
        let client = client(&state, number);
        for file in 0..10 {
            let open = Open {
                file: FileId(u64::from(number) * 100 + file, 1),
                owner: Bytes::from_static(b"owner"),
                claim: OpenClaim::New,
                access: share::BOTH,
                deny: 0,
                delegate: (file > 0).then_some(DelegationKind::Write),
                timestamps: false,
                delegation_alone: false,
            };
            let opened = state.open(&client, &open, T0).unwrap();
            assert_eq!(opened.delegation.is_some(), file > 0);
            if file == 0 {
                let locker = Locker::New { open: opened.state_id, owner: Bytes::from_static(b"locker") };
                let range = Range::new(5, 10).unwrap();
                let request = LockRequest { file: open.file, locker, range, exclusive: true, reclaim: false };
                state.lock(&client, &request, T0).unwrap();
            }
        }
    }
    let owner = ShareOwner { host: Bytes::from_static(b"host"), handle: Bytes::new() };
    state
        .share(FileId(9000, 1), owner, ShareReservation { access: share::READ, deny: share::WRITE }, T0)
        .unwrap();
    state
}

fn holdings(state: &State, most: usize) -> Vec<(FileId, Holding)> {
    let mut all = Vec::new();
    let mut next = Some(HoldingsAfter::default());
    while let Some(after) = next {
        let (piece, then) = state.list_holdings(after, most);
        assert!(piece.len() <= most);
        all.extend(piece);
        next = then;
    }
    all
}

#[test]
fn every_holding_is_listed_once_however_small_the_pieces_are() {
    let state = state();
    let whole = holdings(&state, 1000);
    assert_eq!(whole.len(), 50 + 5 + 45 + 1);
    for most in [1, 2, 3, 7] {
        assert_eq!(holdings(&state, most), whole, "{most}");
    }
    let file = FileId(100, 1);
    let of_file: Vec<_> = whole.iter().filter(|(id, _)| *id == file).map(|(_, holding)| holding).collect();
    let [Holding::Open { client, owner, access, deny }, Holding::Lock { owner: locker, range, exclusive }] =
        of_file[..]
    else {
        panic!("{of_file:?}")
    };
    assert_eq!((&owner[..], *access, *deny), (&b"owner"[..], share::BOTH, 0));
    assert_eq!(*locker, LockOwner::Nfs4 { client: *client, owner: Bytes::from_static(b"locker") });
    assert_eq!((range.offset(), range.length(), *exclusive), (5, 10, true));
}

#[test]
fn totals_are_what_the_lists_have() {
    let state = state();
    for most in [1, 3, 1000] {
        let mut totals = Totals::default();
        let mut next = Some(HoldingsAfter::default());
        while let Some(after) = next {
            next = state.add_up(after, most, &mut totals);
        }
        assert_eq!(totals, Totals { opens: 50, locks: 5, delegations: 45, shares: 1 }, "{most}");
    }
    assert_eq!(state.client_and_session_counts(), (5, 5));
}

#[test]
fn clients_and_sessions_are_listed_in_pieces() {
    let state = state();
    let mut seen: Vec<ClientId> = Vec::new();
    loop {
        let piece = state.list_clients(seen.last().copied(), 2, T0);
        assert!(piece.len() <= 2);
        assert!(piece.iter().all(|listed| listed.confirmed && listed.sessions == 1 && !listed.lapsed));
        assert!(piece.iter().all(|listed| listed.client.state_count() == 10 + 10 + 1));
        if piece.is_empty() {
            break;
        }
        seen.extend(piece.iter().map(|listed| listed.client.id()));
    }
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 5);
    // Some of those that follow on each other stand in different parts of the table.
    for most in [1, 2, 3, 1000] {
        let mut sessions: Vec<SessionId> = Vec::new();
        loop {
            let piece = state.list_sessions(sessions.last().copied(), most);
            assert!(piece.len() <= most && piece.iter().all(|session| session.slots_in_use() == 0));
            if piece.is_empty() {
                break;
            }
            sessions.extend(piece.iter().map(|session| session.id()));
        }
        assert_eq!(sessions, (1..=5).map(|number| SessionId([number; 16])).collect::<Vec<_>>(), "{most}");
    }
}

#[test]
fn removal_during_a_listing_does_not_end_it() {
    let state = state();
    let mut after = HoldingsAfter::default();
    let mut seen = 0;
    loop {
        let (piece, next) = state.list_holdings(after, 1);
        seen += piece.len();
        if seen == 20 && !piece.is_empty() {
            for number in 1..=5 {
                let client = state.session(SessionId([number; 16])).unwrap().client().clone();
                assert!(state.begin_expel(&client, Now(10_000_000)));
                state.finish_expel(&client);
            }
        }
        let Some(next) = next else { break };
        after = next;
    }
    assert!((20..=21).contains(&seen), "what was left is the share, before or behind: {seen}");
}
