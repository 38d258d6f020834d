//! What an administrator takes away (RFC 8881 §8.5).

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{ClientId, StateId, Status, sequence_flags};
use state::{
    Blocked, ByteRangeLock, Client, DelegationKind, FileId, Io, Limits, LockError, LockOwner, LockRequest,
    Locker, Opened, Range, Revoked, ShareOwner, ShareReservation, State,
};

use crate::fixture::{FILE, T0, client, open};

const OTHER: FileId = FileId(8, 1);

fn all() -> Range {
    Range::new(0, u64::MAX).unwrap()
}

/// Locks the whole file for reading.
fn lock(state: &State, client: &Arc<Client>, file: FileId, open: StateId) -> Result<StateId, LockError> {
    let locker = Locker::New { open, owner: Bytes::from_static(b"l") };
    state.lock(client, &LockRequest { file, locker, range: all(), exclusive: false, reclaim: false }, T0)
}

fn nlm(host: &'static str) -> LockOwner {
    LockOwner::Nlm { host: Bytes::from_static(host.as_bytes()), process: 1, handle: Bytes::new() }
}

/// What a client holds of a file: an open, locks, a delegation.
fn hold(state: &State, client: &Arc<Client>, file: FileId) -> [StateId; 3] {
    let Opened { state_id, delegation, .. } = open(state, client, file, Some(DelegationKind::Read));
    [state_id, lock(state, client, file, state_id).unwrap(), delegation.unwrap().state_id]
}

fn statuses(state: &State, client: &Client, ids: &[StateId]) -> Vec<Status> {
    ids.iter().map(|id| state.test_state_id(client, id)).collect()
}

const ALL: Revoked = Revoked { opens: 1, locks: 1, delegations: 1, nlm: 0 };

#[test]
fn revoked_state_of_one_file_is_reported_until_freed() {
    let state = State::new(Limits::default(), 42);
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let (mine, others, elsewhere) = (hold(&state, &a, FILE), hold(&state, &b, FILE), hold(&state, &a, OTHER));
    assert_eq!(state.holders(FILE).iter().map(|c| c.id()).collect::<Vec<_>>(), [a.id(), b.id()]);
    assert_eq!(state.revoke(&a, FILE), ALL);
    assert_eq!(statuses(&state, &a, &mine), [Status::AdminRevoked; 3]);
    assert_eq!(statuses(&state, &a, &elsewhere), [Status::Ok; 3]);
    assert_eq!(statuses(&state, &b, &others), [Status::Ok; 3]);
    assert_eq!(state.grant_count(), 2);
    let Err(Blocked::Status(refused)) = state.check_io(&a, FILE, &mine[0], Io::Read, T0) else {
        panic!("it was revoked")
    };
    assert_eq!(refused, Status::AdminRevoked);
    assert_eq!(state.close(&a, &mine[0]), Err(Status::AdminRevoked));
    assert_eq!(state.return_delegation(&a, &mine[2]), Err(Status::AdminRevoked));
    assert!(matches!(
        lock(&state, &a, FILE, mine[0]),
        Err(LockError::Blocked(Blocked::Status(Status::AdminRevoked)))
    ));
    for id in &mine {
        assert_eq!(
            a.status_flags() & sequence_flags::ADMIN_STATE_REVOKED,
            sequence_flags::ADMIN_STATE_REVOKED
        );
        assert!(a.has_lost_by_order());
        state.free_state_id(&a, id).unwrap();
    }
    assert_eq!((a.status_flags(), a.has_lost_by_order(), a.has_revoked()), (0, false, false));
    assert_eq!(statuses(&state, &a, &mine), [Status::BadStateId; 3]);
    assert_eq!(b.status_flags(), 0);
    assert_eq!(state.revoke(&a, FILE), Revoked::default(), "nothing is left");
}

#[test]
fn two_kinds_of_loss_have_a_bit_each_that_lasts_as_long_as_its_kind() {
    let state = State::new(Limits::default(), 42);
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let recalled = open(&state, &a, OTHER, Some(DelegationKind::Read)).delegation.unwrap().state_id;
    let Err(Blocked::By(found)) = state.begin_entry_change(OTHER, Some(b.id()), T0) else {
        panic!("a delegation is in the way");
    };
    assert!(state.begin_recall(&found.recalls[0], T0));
    let late = state::Now(T0.0 + state.limits().recall_ms);
    assert_eq!(
        state.overdue(late).iter().map(|overdue| state.revoke_overdue(overdue, late)).sum::<usize>(),
        1
    );
    assert_eq!(a.status_flags(), sequence_flags::RECALLABLE_STATE_REVOKED);
    let opened = open(&state, &a, FILE, None).state_id;
    assert_eq!(state.revoke(&a, FILE), Revoked { opens: 1, ..Revoked::default() });
    let both = sequence_flags::RECALLABLE_STATE_REVOKED | sequence_flags::ADMIN_STATE_REVOKED;
    assert_eq!(a.status_flags(), both);
    assert_eq!(statuses(&state, &a, &[recalled, opened]), [Status::DelegationRevoked, Status::AdminRevoked]);
    state.free_state_id(&a, &opened).unwrap();
    assert_eq!(a.status_flags(), sequence_flags::RECALLABLE_STATE_REVOKED);
    assert!(!a.has_lost_by_order());
    state.free_state_id(&a, &recalled).unwrap();
    assert_eq!(a.status_flags(), 0);
}

#[test]
fn revoked_lock_is_free_for_others() {
    let state = State::new(Limits::default(), 42);
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let opened = open(&state, &a, FILE, None).state_id;
    lock(&state, &a, FILE, opened).unwrap();
    state.nlm_lock(FILE, &nlm("h"), ByteRangeLock { range: all(), exclusive: false }, T0).unwrap();
    let share = ShareOwner { host: Bytes::from_static(b"h"), handle: Bytes::new() };
    state.share(FILE, share, ShareReservation { access: 1, deny: 0 }, T0).unwrap();
    let writer = LockOwner::Nfs4 { client: b.id(), owner: Bytes::from_static(b"w") };
    state.test_lock(FILE, &writer, ByteRangeLock { range: all(), exclusive: true }, T0).unwrap_err();
    state.revoke(&a, FILE);
    state.test_lock(FILE, &writer, ByteRangeLock { range: all(), exclusive: true }, T0).unwrap_err();
    assert_eq!(state.revoke_nlm(FILE), Revoked { nlm: 2, ..Revoked::default() });
    state.test_lock(FILE, &writer, ByteRangeLock { range: all(), exclusive: true }, T0).unwrap();
}

#[test]
fn revoked_state_counts_until_it_is_freed() {
    let state = State::new(Limits { states_per_client_max: 1, ..Limits::default() }, 42);
    let a = client(&state, "a");
    let opened = open(&state, &a, FILE, None).state_id;
    state.revoke(&a, FILE);
    let another = state::Open {
        file: OTHER,
        owner: Bytes::from_static(b"o"),
        claim: state::OpenClaim::New,
        access: proto::nfs4::share::READ,
        deny: 0,
        delegate: None,
        timestamps: false,
        delegation_alone: false,
    };
    assert!(matches!(state.open(&a, &another, T0), Err(Blocked::Status(Status::Delay))));
    state.free_state_id(&a, &opened).unwrap();
    state.open(&a, &another, T0).unwrap();
}

#[test]
fn a_client_that_is_evicted_keeps_its_state_until_that_is_discarded() {
    let state = State::new(Limits::default(), 42);
    let a = client(&state, "a");
    hold(&state, &a, FILE);
    assert!(state.evict(ClientId(5)).is_none());
    assert!(Arc::ptr_eq(&state.evict(a.id()).unwrap(), &a));
    assert!(a.is_gone() && a.has_state() && state.client(a.id()).is_none());
    assert!(state.sessions_of(a.id()).is_empty());
    state.finish_expel(&a);
    assert!(!a.has_state() && state.holders(FILE).is_empty());
}
