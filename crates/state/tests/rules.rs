//! A test for each rule of RFC 8881 that this crate enforces, named as the rule.

#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{
    ChannelAttributes, ClientId, SequenceId, SessionId, SlotId, StateId, StateOther, Status, Verifier, share,
};
use state::{
    Blocked, ByteRangeLock, Client, ClientAddress, ConnectionId, CreateSession, DelegationKind, ExchangeId,
    ExchangedId, FileId, GrantedDelegation, Io, Limits, LockError, LockOwner, LockRequest, Locker, Lost, Now,
    Open, OpenClaim, Opened, Principal, Range, Recall, SequenceRequest, Session, ShareOwner,
    ShareReservation, State,
};

const FILE: FileId = FileId(7, 1);
const ANOTHER: FileId = FileId(8, 1);
const T0: Now = Now(1000);

fn state() -> State {
    State::new(Limits::default(), 42)
}

fn principal(name: &str) -> Principal {
    Principal(Bytes::copy_from_slice(name.as_bytes()))
}

fn exchange(state: &State, owner: &str, verifier: u8, who: &str, now: Now) -> Result<ExchangedId, Status> {
    let owner = Bytes::copy_from_slice(owner.as_bytes());
    let verifier = Verifier([verifier; 8]);
    state.exchange_id(
        &ExchangeId {
            owner,
            verifier,
            principal: principal(who),
            address: ClientAddress::default(),
            update: false,
            minor_version: 1,
        },
        now,
    )
}

fn channel() -> ChannelAttributes {
    ChannelAttributes {
        header_pad_bytes: 0,
        request_bytes_max: 1 << 20,
        response_bytes_max: 1 << 20,
        cached_response_bytes_max: 4096,
        operations_max: 16,
        requests_max: 4,
        rdma_ird: vec![],
    }
}

fn request(state: &State, client: ClientId, sequence: SequenceId, who: &str, id: u8) -> CreateSession {
    CreateSession {
        client,
        sequence,
        principal: principal(who),
        channels: state::negotiate_channels(&channel(), &channel(), false, state.limits()),
        flags: 0,
        id: SessionId([id; 16]),
        connection: ConnectionId(1),
    }
}

fn session(state: &State, owner: &str) -> Arc<Session> {
    let exchanged = exchange(state, owner, 1, owner, T0).unwrap();
    let id = owner.bytes().next().unwrap();
    let asked = request(state, exchanged.client, exchanged.sequence, owner, id);
    let created = *state.create_session(&asked, T0).unwrap().created();
    let session = state.session(created.session).unwrap();
    session.client().set_recorded();
    state.reclaim_complete(session.client()).unwrap();
    session
}

fn client(state: &State, owner: &str) -> Arc<Client> {
    Arc::clone(session(state, owner).client())
}

fn open_as(access: u32, deny: u32, owner: &'static str) -> Open {
    let owner = Bytes::from_static(owner.as_bytes());
    let (timestamps, delegation_alone) = (false, false);
    Open {
        file: FILE,
        owner,
        claim: OpenClaim::New,
        access,
        deny,
        delegate: None,
        timestamps,
        delegation_alone,
    }
}

fn status(blocked: &Blocked) -> Status {
    match blocked {
        Blocked::Status(status) => *status,
        Blocked::By(obstacles) => {
            assert!(!obstacles.is_empty());
            Status::Delay
        }
    }
}

/// The delegations that are in the way.
fn recalls<T>(outcome: Result<T, Blocked>) -> Vec<Recall> {
    match outcome {
        Err(Blocked::By(obstacles)) => obstacles.recalls,
        _ => panic!("nothing is in the way"),
    }
}

/// The delegations that are in the way, recalled for the first time.
fn recalled<T>(state: &State, outcome: Result<T, Blocked>) -> Vec<Recall> {
    let mut recalls = recalls(outcome);
    recalls.retain(|recall| state.begin_recall(recall, T0));
    recalls
}

/// Expels whoever is overdue; how many.
fn expel_overdue(state: &State, now: Now) -> usize {
    let overdue = state.overdue_clients(now);
    for client in &overdue {
        assert!(state.begin_expel(client, now));
        state.finish_expel(client);
    }
    overdue.len()
}

fn open(state: &State, client: &Arc<Client>, access: u32, deny: u32) -> Result<Opened, Status> {
    state.open(client, &open_as(access, deny, "o"), T0).map_err(|blocked| status(&blocked))
}

fn delegated(state: &State, client: &Arc<Client>, now: Now) -> Opened {
    let asked = Open { delegate: Some(DelegationKind::Read), ..open_as(share::READ, 0, "o") };
    state.open(client, &asked, now).unwrap()
}

fn lock(
    state: &State,
    client: &Arc<Client>,
    locker: Locker,
    range: (u64, u64),
    exclusive: bool,
) -> Result<StateId, LockError> {
    let range = Range::new(range.0, range.1).unwrap();
    state.lock(client, &LockRequest { file: FILE, locker, range, exclusive, reclaim: false }, T0)
}

fn new_owner(open: StateId, owner: &'static str) -> Locker {
    Locker::New { open, owner: Bytes::from_static(owner.as_bytes()) }
}

#[test]
fn too_many_clients_are_told_to_come_again() {
    let state = State::new(Limits { clients_max: 2, ..Limits::default() }, 1);
    session(&state, "a");
    assert_eq!(exchange(&state, "c", 1, "c", T0).unwrap_err(), Status::Delay);
    assert_eq!(expel_overdue(&state, Now(T0.0 + 91_000)), 1);
    exchange(&state, "c", 1, "c", Now(T0.0 + 91_000)).unwrap();
}

#[test]
fn a_lease_is_renewed_by_sequence() {
    let state = state();
    let session = session(&state, "a");
    let request = SequenceRequest {
        slot: SlotId(0),
        sequence: SequenceId(1),
        highest_slot: SlotId(0),
        cache_this: true,
        digest: 0,
        connection: ConnectionId(1),
    };
    drop(session.begin(&request, Now(T0.0 + 60_000)).unwrap());
    assert_eq!(expel_overdue(&state, Now(T0.0 + 120_000)), 0);
    assert_eq!(expel_overdue(&state, Now(T0.0 + 160_000)), 1);
    assert_eq!(state.session(session.id()).unwrap_err(), Status::BadSession);
}

#[test]
fn reclaim_is_complete_once() {
    let state = state();
    let client = fresh(&state, "a");
    assert_eq!(state.reclaim_complete(&client), Ok(()));
    assert_eq!(state.reclaim_complete(&client), Err(Status::CompleteAlready));
}

// Opens, RFC 8881 §9.7, §18.2, §18.16, §18.18.

#[test]
fn share_reservations_exclude_each_other() {
    let state = state();
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    open(&state, &a, share::READ, share::WRITE).unwrap();
    assert_eq!(open(&state, &b, share::WRITE, 0), Err(Status::ShareDenied));
    assert_eq!(open(&state, &b, share::READ, share::READ), Err(Status::ShareDenied));
    open(&state, &b, share::READ, share::WRITE).unwrap();
    let nlm = ShareOwner { host: "h".into(), handle: "x".into() };
    let denied = state
        .share(FILE, nlm.clone(), ShareReservation { access: share::WRITE, deny: 0 }, T0)
        .map_err(|blocked| status(&blocked));
    assert_eq!(denied, Err(Status::ShareDenied));
    state.share(FILE, nlm.clone(), ShareReservation { access: share::READ, deny: 0 }, T0).unwrap();
    assert_eq!(
        state.check_anonymous_io(FILE, Io::Write, T0).map_err(|blocked| status(&blocked)),
        Err(Status::Locked)
    );
    assert_eq!(state.check_anonymous_io(FILE, Io::Read, T0).map_err(|blocked| status(&blocked)), Ok(()));
    state.unshare(FILE, &nlm);
}

#[test]
fn no_delegation_is_granted_while_an_nlm_host_writes_or_locks_for_writing() {
    let state = state();
    let a = client(&state, "a");
    let is_delegated = || delegated(&state, &a, T0).delegation.is_some();
    let owner = LockOwner::Nlm { host: "h".into(), process: 1, handle: "x".into() };
    let range = Range::new(0, 1).unwrap();
    state.nlm_lock(FILE, &owner, ByteRangeLock { range, exclusive: true }, T0).unwrap();
    assert!(!is_delegated(), "the holder would lock for reading without asking");
    state.nlm_lock(FILE, &owner, ByteRangeLock { range, exclusive: false }, T0).unwrap();
    let sharer = ShareOwner { host: "h".into(), handle: "x".into() };
    state.share(FILE, sharer.clone(), ShareReservation { access: share::WRITE, deny: 0 }, T0).unwrap();
    assert!(!is_delegated());
    state.unshare(FILE, &sharer);
    assert!(is_delegated(), "nobody has anything against a lock for reading");
}

#[test]
fn an_owner_that_opens_again_upgrades_and_can_downgrade_to_what_it_opened() {
    let state = state();
    let a = client(&state, "a");
    let first = open(&state, &a, share::READ, 0).unwrap().state_id;
    let second = open(&state, &a, share::WRITE, share::WRITE).unwrap().state_id;
    assert_eq!((second.other, second.sequence), (first.other, 2));
    assert_eq!(state.test_state_id(&a, &first), Status::OldStateId);
    // Never opened with this pair.
    assert_eq!(state.open_downgrade(&a, &second, share::READ, share::WRITE), Err(Status::Invalid));
    let third = state.open_downgrade(&a, &second, share::READ, 0).unwrap();
    assert_eq!(third.sequence, 3);
    assert_eq!(
        state.check_io(&a, FILE, &third, Io::Write, T0).map_err(|blocked| status(&blocked)),
        Err(Status::OpenMode)
    );
    assert_eq!(state.close(&a, &second), Err(Status::OldStateId));
    assert_eq!(state.close(&a, &third), Ok(()));
    assert_eq!(state.close(&a, &third), Err(Status::BadStateId));
}

#[test]
fn opens_need_an_access_and_known_bits() {
    let state = state();
    let a = client(&state, "a");
    for (access, deny) in [(0, 0), (4, 0), (share::READ, 8)] {
        assert_eq!(open(&state, &a, access, deny), Err(Status::Invalid));
    }
}

#[test]
fn state_belongs_to_its_client() {
    let state = state();
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let opened = open(&state, &a, share::BOTH, 0).unwrap().state_id;
    assert_eq!(state.close(&b, &opened), Err(Status::BadStateId));
    assert_eq!(
        state.check_io(&b, FILE, &opened, Io::Read, T0).map_err(|blocked| status(&blocked)),
        Err(Status::BadStateId)
    );
    assert!(lock(&state, &b, new_owner(opened, "l"), (0, 1), true).is_err());
    assert_eq!(
        state.check_io(&a, FileId(8, 1), &opened, Io::Read, T0).map_err(|blocked| status(&blocked)),
        Err(Status::BadStateId)
    );
    let stale = StateId { sequence: 1, other: StateOther([9; 12]) };
    assert_eq!(
        state.check_io(&a, FILE, &stale, Io::Read, T0).map_err(|blocked| status(&blocked)),
        Err(Status::BadStateId)
    );
    let ahead = StateId { sequence: 9, ..opened };
    assert_eq!(state.test_state_id(&a, &ahead), Status::BadStateId);
}

#[test]
fn silent_client_keeps_state_without_conflicts_and_carries_on() {
    let state = state();
    let a = client(&state, "a");
    let opened = open(&state, &a, share::BOTH, share::BOTH).unwrap().state_id;
    let late = Now(T0.0 + 91_000);
    assert_eq!(expel_overdue(&state, late), 0, "it holds state");
    a.renew(late);
    assert_eq!(state.test_state_id(&a, &opened), Status::Ok);
    assert!(!state.begin_expel(&a, late));
    // Not for ever: after a day of silence nobody counts on it any more.
    let next_day = Now(late.0 + 24 * 3_600_000 + 91_000);
    assert_eq!(expel_overdue(&state, next_day), 1);
    assert!(a.is_gone());
}

#[test]
fn of_too_many_silent_clients_those_silent_the_longest_lose_their_state() {
    let state = State::new(Limits { lapsed_clients_max: 1, ..Limits::default() }, 1);
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    for client in [&a, &b] {
        open(&state, client, share::READ, 0).unwrap();
    }
    b.renew(Now(T0.0 + 1));
    assert_eq!(expel_overdue(&state, Now(T0.0 + 91_001)), 1);
    assert!(a.is_gone() && !b.is_gone());
}

#[test]
fn a_conflict_expels_a_silent_client_but_not_before_its_record_is_gone() {
    let state = state();
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let late = Now(T0.0 + 91_000);
    let opened = open(&state, &a, share::BOTH, share::WRITE).unwrap().state_id;
    lock(&state, &a, new_owner(opened, "l"), (0, 1), true).unwrap();
    b.renew(late);
    let asked = open_as(share::WRITE, 0, "o");
    let Err(Blocked::By(obstacles)) = state.open(&b, &asked, late) else { panic!("in the way") };
    assert_eq!(obstacles.lapsed.iter().map(|c| c.id()).collect::<Vec<_>>(), [a.id()]);
    assert!(state.begin_expel(&a, late));
    assert!(a.is_gone());
    // Nothing is given away between the two steps: in the middle the record is removed from stable storage.
    assert!(matches!(state.open(&b, &asked, late), Err(Blocked::By(_))));
    state.finish_expel(&a);
    let opened = state.open(&b, &asked, late).unwrap().state_id;
    lock(&state, &b, new_owner(opened, "l"), (0, 1), true).unwrap();
}

#[test]
fn state_of_a_silent_client_conflicts_only_until_it_is_expelled() {
    let state = state();
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let late = Now(T0.0 + 91_000);
    let opened = open(&state, &a, share::READ, 0).unwrap().state_id;
    lock(&state, &a, new_owner(opened, "l"), (0, 1), false).unwrap();
    let nlm = LockOwner::Nlm { host: "h".into(), process: 1, handle: "x".into() };
    let range = Range::new(0, 1).unwrap();
    let now = state.test_lock(FILE, &nlm, ByteRangeLock { range, exclusive: true }, T0);
    assert!(matches!(now, Err(LockError::Denied(_))));
    let locked = state.nlm_lock(FILE, &nlm, ByteRangeLock { range, exclusive: true }, late).map(drop);
    for outcome in [locked, state.test_lock(FILE, &nlm, ByteRangeLock { range, exclusive: true }, late)] {
        let Err(LockError::Blocked(Blocked::By(obstacles))) = outcome else { panic!("lapsed") };
        assert_eq!(obstacles.lapsed.len(), 1);
    }
    let c = client(&state, "c");
    let asked =
        Open { file: FileId(8, 1), delegate: Some(DelegationKind::Read), ..open_as(share::READ, 0, "o") };
    assert!(state.open(&c, &asked, T0).unwrap().delegation.is_some());
    b.renew(late);
    let Err(Blocked::By(obstacles)) = state.begin_change(FileId(8, 1), Some(b.id()), late) else {
        panic!("delegated")
    };
    assert!(obstacles.recalls.is_empty(), "nobody is there to be asked");
    assert_eq!(obstacles.lapsed[0].id(), c.id());
}

// Restart, RFC 8881 §8.4.2.

fn recorded(owner: &str) -> (Bytes, Lost) {
    (state::record_name(owner.as_bytes(), &principal(owner)), Lost::default())
}

fn fresh(state: &State, owner: &str) -> Arc<Client> {
    in_life(state, owner, 1)
}

fn in_life(state: &State, owner: &str, life: u8) -> Arc<Client> {
    let exchanged = exchange(state, owner, life, owner, T0).unwrap();
    // Each life has a session of its own.
    let id = owner.bytes().next().unwrap() + life - 1;
    let asked = request(state, exchanged.client, exchanged.sequence, owner, id);
    let created = *state.create_session(&asked, T0).unwrap().created();
    let client = Arc::clone(state.session(created.session).unwrap().client());
    client.set_recorded();
    client
}

fn reclaimed(access: u32, deny: u32, kind: Option<DelegationKind>) -> Open {
    Open { claim: OpenClaim::Reclaim(kind), ..open_as(access, deny, "o") }
}

#[test]
fn no_grace_period_without_clients_to_reclaim() {
    let state = state();
    state.begin_grace([], T0);
    assert!(!state.in_grace());
}

#[test]
fn a_reclaim_may_be_repeated_by_its_open_owner_and_conflicts_with_others() {
    let state = state();
    state.begin_grace([recorded("a"), recorded("b")], T0);
    let (a, b) = (fresh(&state, "a"), fresh(&state, "b"));
    let reclaim = reclaimed(share::READ, share::READ, None);
    let first = state.open(&a, &reclaim, T0).unwrap().state_id;
    // The client has lost its session, and with it the reply.
    let again = state.open(&a, &reclaim, T0).unwrap().state_id;
    assert_eq!((again.other, again.sequence), (first.other, first.sequence + 1));
    let conflict = state.open(&b, &reclaim, T0).map_err(|blocked| status(&blocked));
    assert_eq!(conflict, Err(Status::ReclaimConflict));
}

#[test]
fn in_grace_what_was_held_may_be_had_and_nothing_else() {
    let state = state();
    state.begin_grace([recorded("a")], T0);
    let (a, stranger) = (fresh(&state, "a"), fresh(&state, "s"));
    assert_eq!(open(&state, &a, share::BOTH, 0), Err(Status::Grace));
    let reclaim = reclaimed(share::BOTH, share::WRITE, None);
    assert_eq!(
        state.open(&stranger, &reclaim, T0).map_err(|blocked| status(&blocked)),
        Err(Status::ReclaimBad)
    );
    let opened = state.open(&a, &reclaim, T0).unwrap().state_id;
    let mut request = LockRequest {
        file: FILE,
        locker: new_owner(opened, "l"),
        range: Range::new(0, 1).unwrap(),
        exclusive: true,
        reclaim: false,
    };
    let grace = state.lock(&a, &request, T0);
    assert!(matches!(grace, Err(LockError::Blocked(Blocked::Status(Status::Grace)))));
    request.reclaim = true;
    state.lock(&a, &request, T0).unwrap();
    assert!(matches!(state.begin_change(FILE, None, T0), Err(Blocked::Status(Status::Grace))));
    let anonymous =
        state.check_io(&a, FILE, &StateId::ANONYMOUS, Io::Read, T0).map_err(|blocked| status(&blocked));
    assert_eq!(anonymous, Err(Status::Grace));
    assert_eq!(state.check_io(&a, FILE, &opened, Io::Write, T0).map_err(|blocked| status(&blocked)), Ok(()));
}

#[test]
fn grace_ends_after_all_reclaims_or_its_time_and_then_refuses_reclaims() {
    let state = state();
    state.begin_grace(["a", "b"].map(recorded), T0);
    let a = fresh(&state, "a");
    assert_eq!(state.reclaim_complete(&a), Ok(()));
    assert!(!state.grace_may_end(T0), "b has not come back");
    assert_eq!(state.awaited_clients(), 1);
    assert_eq!(
        state.open(&a, &reclaimed(share::READ, 0, None), T0).map_err(|blocked| status(&blocked)),
        Err(Status::NoGrace)
    );
    let b = fresh(&state, "b");
    state.reclaim_complete(&b).unwrap();
    assert!(state.grace_may_end(T0));
    state.end_grace();
    open(&state, &b, share::READ, 0).unwrap();

    let state = self::state();
    state.begin_grace([recorded("a")], T0);
    let late = Now(T0.0 + 90_000);
    assert!(state.grace_may_end(late));
    state.end_grace();
    let a = fresh(&state, "a");
    assert_eq!(
        state.open(&a, &reclaimed(share::READ, 0, None), late).map_err(|blocked| status(&blocked)),
        Err(Status::NoGrace)
    );
    assert_eq!(open(&state, &a, share::READ, 0), Err(Status::Grace), "before its RECLAIM_COMPLETE");
}

#[test]
fn grace_goes_on_while_clients_reclaim_up_to_two_leases() {
    const LEASE: u64 = 90_000;
    let after = |ms| Now(T0.0 + ms);
    let state = state();
    state.begin_grace(["a", "b"].map(recorded), T0);
    let a = fresh(&state, "a");
    let reclaim = |now| state.open(&a, &reclaimed(share::READ, 0, None), now);
    reclaim(after(LEASE / 2)).unwrap();
    assert!(state.grace_may_end(after(LEASE)), "nothing is reclaimed any more");
    reclaim(after(LEASE - 1)).unwrap();
    assert!(!state.grace_may_end(after(LEASE)));
    assert!(state.grace_may_end(after(LEASE + LEASE / 8)));
    for now in (LEASE..=2 * LEASE).step_by(1000) {
        assert_eq!(state.grace_may_end(after(now)), now == 2 * LEASE, "{now}");
        reclaim(after(now)).unwrap();
    }
    let unknown = fresh(&state, "c");
    let refused =
        state.open(&unknown, &reclaimed(share::READ, 0, None), T0).map_err(|blocked| status(&blocked));
    assert_eq!(refused, Err(Status::ReclaimBad));
}

#[test]
fn a_reclaim_that_somebody_is_in_the_way_of_is_a_conflict() {
    let state = state();
    state.begin_grace(["a", "b"].map(recorded), T0);
    let (a, b) = (fresh(&state, "a"), fresh(&state, "b"));
    let first = state.open(&a, &reclaimed(share::BOTH, share::WRITE, None), T0).unwrap();
    let second = state.open(&b, &reclaimed(share::WRITE, 0, None), T0).map_err(|blocked| status(&blocked));
    assert_eq!(second, Err(Status::ReclaimConflict));
    let reader = state.open(&b, &reclaimed(share::READ, 0, None), T0).unwrap();
    let ask = |client: &Arc<Client>, open: StateId, exclusive| {
        let range = Range::new(0, 1).unwrap();
        let locker = new_owner(open, "l");
        state.lock(client, &LockRequest { file: FILE, locker, range, exclusive, reclaim: true }, T0)
    };
    ask(&a, first.state_id, true).unwrap();
    let conflict = ask(&b, reader.state_id, false);
    assert!(matches!(conflict, Err(LockError::Blocked(Blocked::Status(Status::ReclaimConflict)))));
}

#[test]
fn revoked_delegation_bars_reclaims_of_its_file_only() {
    let state = state();
    state.begin_grace([(recorded("a").0, Lost::from_iter([FILE]))], T0);
    let a = fresh(&state, "a");
    for kind in [None, Some(DelegationKind::Read)] {
        let refused =
            state.open(&a, &reclaimed(share::READ, 0, kind), T0).map_err(|blocked| status(&blocked));
        assert_eq!(refused, Err(Status::NoGrace), "RFC 8881 §8.4.3");
    }
    assert_eq!(state.delegate_file(&a, FILE, DelegationKind::Read, true, T0), Err(Status::NoGrace));
    let kept = Open { file: ANOTHER, ..reclaimed(share::READ, 0, Some(DelegationKind::Read)) };
    let opened = state.open(&a, &kept, T0).unwrap();
    assert!(opened.delegation.is_some());
    let (locker, range) = (new_owner(opened.state_id, "l"), Range::new(0, 1).unwrap());
    let lock = LockRequest { file: ANOTHER, locker, range, exclusive: false, reclaim: true };
    state.lock(&a, &lock, T0).unwrap();
}

#[test]
fn client_with_too_many_losses_to_record_reclaims_nothing() {
    let state = state();
    state.begin_grace([(recorded("a").0, Lost::everything())], T0);
    let a = fresh(&state, "a");
    assert_eq!(state.check_reclaim(&a), Err(Status::NoGrace));
    let refused = state.open(&a, &reclaimed(share::READ, 0, None), T0).map_err(|blocked| status(&blocked));
    assert_eq!(refused, Err(Status::NoGrace));
    state.reclaim_complete(&a).unwrap();
    assert!(state.grace_may_end(T0), "nobody is waited for in vain");
}

#[test]
fn pending_revocation_counts_as_lost_until_freed() {
    let state = state();
    let a = client(&state, "a");
    let GrantedDelegation { state_id: id, .. } = delegated(&state, &a, T0).delegation.unwrap();
    assert_eq!(recalled(&state, state.begin_change(FILE, None, T0)).len(), 1);
    let late = Now(T0.0 + state.limits().recall_ms);
    assert!(a.lost().is_nothing());
    let overdue = state.overdue(late);
    assert!(a.lost().covers(FILE), "what is written down of it now must say so");
    drop(overdue);
    assert!(a.lost().is_nothing());
    assert_eq!(revoke_overdue(&state, late), 1);
    assert!(a.lost().covers(FILE) && !a.lost().covers(ANOTHER));
    state.free_state_id(&a, &id).unwrap();
    assert!(a.lost().is_nothing(), "it knows");
}

fn revoke_overdue(state: &State, now: Now) -> usize {
    state.overdue(now).iter().map(|overdue| state.revoke_overdue(overdue, now)).sum()
}

#[test]
fn delegations_are_reclaimed_with_their_opens() {
    for kind in [DelegationKind::Read, DelegationKind::Write] {
        let state = state();
        state.begin_grace([recorded("a")], T0);
        let a = fresh(&state, "a");
        let access = if kind == DelegationKind::Read { share::READ } else { share::BOTH };
        let opened = state.open(&a, &reclaimed(access, 0, Some(kind)), T0).unwrap();
        assert_eq!(opened.delegation.map(|granted| granted.kind), Some(kind));
    }
}

#[test]
fn idle_client_loses_its_record_and_is_recorded_before_new_state() {
    let state = state();
    let a = client(&state, "a");
    for _ in 0..30 {
        assert!(state.idle_clients().is_empty());
    }
    assert_eq!(state.idle_clients().len(), 1);
    assert!(!a.is_recorded() && a.is_being_forgotten(), "its name is to be removed first");
    a.set_forgotten();
    assert_eq!(open(&state, &a, share::READ, 0), Err(Status::Delay), "it could not be reclaimed");
    a.set_recorded();
    open(&state, &a, share::READ, 0).unwrap();
    assert!((0..99).all(|_| state.idle_clients().is_empty()));
}

// Locks, RFC 8881 §9, §18.10 – §18.12.

#[test]
fn locks_of_both_protocols_exclude_each_other() {
    let state = state();
    let a = client(&state, "a");
    let opened = open(&state, &a, share::BOTH, 0).unwrap().state_id;
    let locked = lock(&state, &a, new_owner(opened, "l"), (10, 10), true).unwrap();
    let nlm = LockOwner::Nlm { host: "h".into(), process: 1, handle: "x".into() };
    let range = Range::new(15, 100).unwrap();
    let Err(LockError::Denied(denied)) =
        state.test_lock(FILE, &nlm, ByteRangeLock { range, exclusive: false }, T0)
    else {
        panic!("in the way")
    };
    assert_eq!((denied.range.offset(), denied.range.length(), denied.exclusive), (10, 10, true));
    assert!(matches!(
        state.nlm_lock(FILE, &nlm, ByteRangeLock { range, exclusive: true }, T0),
        Err(LockError::Denied(_))
    ));
    let locked = state.unlock(&a, FILE, &locked, Range::new(15, u64::MAX).unwrap()).unwrap();
    state.nlm_lock(FILE, &nlm, ByteRangeLock { range, exclusive: true }, T0).unwrap();
    let again = lock(&state, &a, Locker::Existing(locked), (19, 1), false);
    assert!(matches!(again, Err(LockError::Denied(denied)) if denied.owner == nlm));
    state.nlm_free_all(&"h".into());
    lock(&state, &a, Locker::Existing(locked), (19, 1), false).unwrap();
}

#[test]
fn a_lock_needs_the_mode_of_its_open() {
    let state = state();
    let a = client(&state, "a");
    let opened = open(&state, &a, share::READ, 0).unwrap().state_id;
    let exclusive = lock(&state, &a, new_owner(opened, "l"), (0, 1), true);
    assert!(matches!(exclusive, Err(LockError::Blocked(Blocked::Status(Status::OpenMode)))));
    lock(&state, &a, new_owner(opened, "l"), (0, 1), false).unwrap();
}

#[test]
fn an_open_with_locks_is_not_closed_and_a_lock_in_use_not_freed() {
    let state = state();
    let a = client(&state, "a");
    let opened = open(&state, &a, share::BOTH, 0).unwrap().state_id;
    let locked = lock(&state, &a, new_owner(opened, "l"), (0, 9), true).unwrap();
    assert_eq!(state.close(&a, &opened), Err(Status::LocksHeld));
    assert_eq!(state.free_state_id(&a, &locked), Err(Status::LocksHeld));
    assert_eq!(state.free_state_id(&a, &opened), Err(Status::LocksHeld));
    let unlocked = state.unlock(&a, FILE, &locked, Range::new(0, 9).unwrap()).unwrap();
    assert_eq!(state.free_state_id(&a, &locked), Err(Status::OldStateId));
    state.free_state_id(&a, &unlocked).unwrap();
    assert_eq!(state.test_state_id(&a, &unlocked), Status::BadStateId);
    state.close(&a, &opened).unwrap();
}

#[test]
fn a_file_has_a_bounded_number_of_ranges() {
    let state = State::new(Limits { ranges_per_file_max: 2, ..Limits::default() }, 1);
    let a = client(&state, "a");
    let opened = open(&state, &a, share::BOTH, 0).unwrap().state_id;
    let locked = lock(&state, &a, new_owner(opened, "l"), (0, 1), true).unwrap();
    let locked = lock(&state, &a, Locker::Existing(locked), (2, 1), true).unwrap();
    let third = lock(&state, &a, Locker::Existing(locked), (4, 1), true);
    assert!(matches!(third, Err(LockError::Blocked(Blocked::Status(Status::Delay)))));
    // A full table lets go of what it holds, but has no room for the halves of a lock.
    state.unlock(&a, FILE, &locked, Range::new(0, 1).unwrap()).unwrap();
    let nlm = LockOwner::Nlm { host: "h".into(), process: 1, handle: "x".into() };
    let (whole, middle) = (Range::new(10, 10).unwrap(), Range::new(15, 1).unwrap());
    state.nlm_lock(FILE, &nlm, ByteRangeLock { range: whole, exclusive: true }, T0).unwrap();
    assert_eq!(state.nlm_unlock(FILE, &nlm, middle), Err(Status::Delay));
    assert_eq!(state.nlm_unlock(FILE, &nlm, whole), Ok(()));
}

#[test]
fn a_lock_that_is_undone_leaves_what_was_held_before() {
    let state = state();
    let owner = |process| LockOwner::Nlm { host: "h".into(), process, handle: "x".into() };
    let (ann, bob) = (owner(1), owner(2));
    let range = |offset, length| Range::new(offset, length).unwrap();
    let free = |of: &LockOwner, at, exclusive| {
        state.test_lock(FILE, of, ByteRangeLock { range: at, exclusive }, T0).is_ok()
    };
    state.nlm_lock(FILE, &ann, ByteRangeLock { range: range(0, 10), exclusive: false }, T0).unwrap();
    state.nlm_lock(FILE, &ann, ByteRangeLock { range: range(20, 10), exclusive: true }, T0).unwrap();
    let before =
        state.nlm_lock(FILE, &ann, ByteRangeLock { range: range(5, 20), exclusive: true }, T0).unwrap();
    assert!(!free(&bob, range(5, 1), false) && !free(&bob, range(15, 1), false));
    state.nlm_undo(FILE, &ann, range(5, 20), &before);
    assert!(free(&bob, range(0, 10), false) && !free(&bob, range(5, 1), true), "shared again");
    assert!(free(&bob, range(10, 10), true), "not held before");
    assert!(!free(&bob, range(20, 1), false) && !free(&bob, range(29, 1), false), "exclusive as before");
    state.nlm_unlock(FILE, &ann, Range::ALL).unwrap();
    assert!(!state.nlm_holds(&"h".into()) && state.nlm_hosts(b"").is_empty());
}

#[test]
fn an_undone_lock_keeps_later_locks_and_brings_back_nothing_unlocked() {
    let state = state();
    let owner = |process| LockOwner::Nlm { host: "h".into(), process, handle: "x".into() };
    let (ann, bob) = (owner(1), owner(2));
    let range = |offset, length| Range::new(offset, length).unwrap();
    let free =
        |at, exclusive| state.test_lock(FILE, &bob, ByteRangeLock { range: at, exclusive }, T0).is_ok();
    state.nlm_lock(FILE, &ann, ByteRangeLock { range: Range::ALL, exclusive: false }, T0).unwrap();
    let mut before =
        state.nlm_lock(FILE, &ann, ByteRangeLock { range: Range::ALL, exclusive: true }, T0).unwrap();
    for (at, is_lock) in [(range(10, 10), false), (range(12, 2), true), (range(30, u64::MAX), false)] {
        if is_lock {
            state.nlm_lock(FILE, &ann, ByteRangeLock { range: at, exclusive: true }, T0).unwrap();
            before.lock(at, true);
        } else {
            state.nlm_unlock(FILE, &ann, at).unwrap();
            before.unlock(at);
        }
    }
    state.nlm_undo(FILE, &ann, Range::ALL, &before);
    assert!(free(range(0, 10), false) && !free(range(0, 1), true) && !free(range(9, 1), true), "shared");
    assert!(!free(range(12, 1), false) && !free(range(13, 1), false), "locked since");
    assert!(free(range(10, 2), true) && free(range(14, 6), true), "unlocked since");
    assert!(!free(range(29, 1), true) && free(range(30, u64::MAX), true));
}

#[test]
fn locks_of_a_host_are_found_and_removed_by_address() {
    let state = state();
    let hosts = ["10.0.0.1 ann", "10.0.0.1 bob", "10.0.0.10 ann"];
    for (number, host) in hosts.into_iter().enumerate() {
        let owner = LockOwner::Nlm { host: host.into(), process: 1, handle: "x".into() };
        state
            .nlm_lock(
                FILE,
                &owner,
                ByteRangeLock { range: Range::new(number as u64, 1).unwrap(), exclusive: true },
                T0,
            )
            .unwrap();
        state
            .share(
                ANOTHER,
                ShareOwner { host: host.into(), handle: "x".into() },
                ShareReservation { access: 1, deny: 0 },
                T0,
            )
            .unwrap();
    }
    assert_eq!(state.nlm_hosts(b"10.0.0.1 "), ["10.0.0.1 ann", "10.0.0.1 bob"]);
    state.nlm_free_all(&"10.0.0.1 ann".into());
    assert_eq!(state.nlm_hosts(b"10.0.0.1"), ["10.0.0.1 bob", "10.0.0.10 ann"]);
    let bob = LockOwner::Nlm { host: "10.0.0.1 bob".into(), process: 1, handle: "x".into() };
    state
        .nlm_lock(FILE, &bob, ByteRangeLock { range: Range::new(0, 1).unwrap(), exclusive: true }, T0)
        .unwrap();
    // A share is counted once, however often it is changed.
    let share = ShareOwner { host: "10.0.0.10 ann".into(), handle: "x".into() };
    state.share(ANOTHER, share.clone(), ShareReservation { access: 2, deny: 0 }, T0).unwrap();
    state.unshare(ANOTHER, &share);
    let range = Range::new(2, 1).unwrap();
    let ann = LockOwner::Nlm { host: "10.0.0.10 ann".into(), process: 1, handle: "x".into() };
    state.nlm_unlock(FILE, &ann, range).unwrap();
    assert_eq!(state.nlm_hosts(b"10."), ["10.0.0.1 bob"]);
}

#[test]
fn revoked_locks_of_a_host_are_not_counted() {
    let state = state();
    let owner = LockOwner::Nlm { host: "h".into(), process: 1, handle: "x".into() };
    for offset in [0, 10] {
        state
            .nlm_lock(
                FILE,
                &owner,
                ByteRangeLock { range: Range::new(offset, 5).unwrap(), exclusive: true },
                T0,
            )
            .unwrap();
    }
    state
        .share(
            FILE,
            ShareOwner { host: "h".into(), handle: "x".into() },
            ShareReservation { access: 1, deny: 0 },
            T0,
        )
        .unwrap();
    assert_eq!(state.revoke_nlm(FILE).nlm, 3);
    assert!(!state.nlm_holds(&"h".into()) && state.nlm_hosts(b"").is_empty());
}

#[test]
fn hosts_that_lock_through_nlm_are_waited_for_until_time_is_up() {
    let state = state();
    state.begin_grace([recorded("a")], T0);
    state.begin_grace_of_hosts(T0);
    client(&state, "a");
    assert!(state.in_grace() && !state.grace_may_end(T0), "nobody else says when it is done");
    assert!(state.grace_may_end(Now(T0.0 + 90_000)));
    state.end_grace();
    assert!(!state.in_grace());
}

#[test]
fn data_without_state_wait_for_clients_and_not_for_hosts() {
    let state = state();
    state.begin_grace([recorded("a")], T0);
    state.begin_grace_of_hosts(T0);
    let read = || state.check_anonymous_io(FILE, Io::Read, T0).map_err(|blocked| status(&blocked));
    let change = || state.begin_change(FILE, None, T0).map(drop).map_err(|blocked| status(&blocked));
    assert_eq!((read(), change()), (Err(Status::Grace), Err(Status::Grace)), "a may take back a delegation");
    let a = fresh(&state, "a");
    state.open(&a, &reclaimed(share::READ, 0, None), T0).unwrap();
    state.reclaim_complete(&a).unwrap();
    assert!(state.in_grace(), "hosts may take back locks");
    assert_eq!((read(), change()), (Ok(()), Ok(())));
    // Another life of the client comes too late: what it held may have been changed.
    let again = in_life(&state, "a", 2);
    let reclaim = state.open(&again, &reclaimed(share::READ, 0, None), T0);
    assert_eq!(reclaim.map_err(|blocked| status(&blocked)), Err(Status::NoGrace));
}

// Delegations, RFC 8881 §10.

#[test]
fn a_reader_is_delegated_to_and_a_writer_recalls() {
    let state = state();
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let GrantedDelegation { state_id: id, .. } = delegated(&state, &a, T0).delegation.unwrap();
    assert_eq!(state.check_io(&a, FILE, &id, Io::Read, T0).map_err(|blocked| status(&blocked)), Ok(()));
    assert_eq!(
        state.check_io(&a, FILE, &id, Io::Write, T0).map_err(|blocked| status(&blocked)),
        Err(Status::OpenMode)
    );
    // Another reader is not in the way.
    assert!(delegated(&state, &b, T0).delegation.is_some());
    let write = open_as(share::WRITE, 0, "w");
    assert_eq!(recalls(state.open(&b, &write, T0)).len(), 1, "one's own delegation is not in the way");
    let recalled_first = recalled(&state, state.open(&b, &write, T0));
    assert_eq!(recalled_first.iter().map(|recall| recall.client).collect::<Vec<_>>(), [a.id()]);
    assert_eq!(recalled(&state, state.open(&b, &write, T0)), [], "CB_RECALL is sent once");
    assert_eq!(recalls(state.open(&b, &write, T0)), recalled_first, "it is still in the way");
    assert_eq!(state.return_delegation(&a, &id), Ok(FILE));
    assert_eq!(state.return_delegation(&a, &id), Err(Status::BadStateId));
    state.open(&b, &write, T0).unwrap();
}

#[test]
fn no_delegation_during_writes_or_changes_or_soon_after_a_recall() {
    let state = state();
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let changing = state.begin_change(FILE, None, T0).unwrap();
    assert_eq!(delegated(&state, &a, T0).delegation, None);
    drop(changing);
    let GrantedDelegation { state_id: id, .. } = delegated(&state, &a, T0).delegation.unwrap();
    assert_eq!(recalls(state.begin_change(FILE, None, T0))[0].state_id, id);
    state.return_delegation(&a, &id).unwrap();
    drop(state.begin_change(FILE, None, T0).unwrap());
    assert_eq!(delegated(&state, &a, T0).delegation, None, "just recalled");
    let later = Now(T0.0 + state.limits().recall_pause_ms + 1);
    assert!(delegated(&state, &a, later).delegation.is_some());
    let writer = open(&state, &b, share::READ, 0).unwrap().state_id;
    state.close(&b, &writer).unwrap();
}

#[test]
fn a_delegation_that_is_not_returned_is_revoked_and_the_rest_stays() {
    let state = state();
    let a = client(&state, "a");
    let opened = delegated(&state, &a, T0);
    let GrantedDelegation { state_id: id, .. } = opened.delegation.unwrap();
    let found = recalls(state.begin_change(FILE, None, T0));
    a.renew(Now(T0.0 + 90_000));
    assert!(state.overdue(Now(T0.0 + 90_000)).is_empty(), "its holder was not asked");
    assert!(state.begin_recall(&found[0], T0));
    let late = Now(T0.0 + 90_000);
    assert_eq!(state.overdue(late).iter().map(|overdue| overdue.client().id()).collect::<Vec<_>>(), [a.id()]);
    assert_eq!(revoke_overdue(&state, late), 1);
    assert_ne!(a.status_flags(), 0);
    assert_eq!(
        state.check_io(&a, FILE, &id, Io::Read, T0).map_err(|blocked| status(&blocked)),
        Err(Status::DelegationRevoked)
    );
    assert_eq!(state.test_state_id(&a, &opened.state_id), Status::Ok);
    state.free_state_id(&a, &id).unwrap();
    assert_eq!(a.status_flags(), 0);
    assert!(state.begin_change(FILE, None, T0).is_ok());
}

#[test]
fn a_holder_that_flushes_gets_its_time_again_up_to_a_bound() {
    let state = state();
    let recall_ms = state.limits().recall_ms;
    let at = |ms: u64| Now(T0.0 + ms);
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let wish = Open { delegate: Some(DelegationKind::Write), ..open_as(share::BOTH, 0, "o") };
    let Opened { state_id, delegation, .. } = state.open(&a, &wish, T0).unwrap();
    let id = delegation.unwrap().state_id;
    let overdue = |ms| state.overdue(at(ms)).len();
    let begin = |id, io, ms| state.begin_io(&a, FILE, id, io, at(ms)).unwrap();
    assert!(state.begin_recall(&state.read_conflicts(FILE, Some(b.id()), T0).recalls[0], T0));
    assert!(begin(&state_id, Io::Read, recall_ms / 2).is_none(), "to read under an open is no use of it");
    assert_eq!((overdue(recall_ms - 1), overdue(recall_ms)), (0, 1));
    drop(begin(&state_id, Io::Write, recall_ms).unwrap());
    assert_eq!((overdue(2 * recall_ms - 1), overdue(2 * recall_ms)), (0, 1), "it was seen to write");
    let using = begin(&id, Io::Read, 2 * recall_ms).unwrap();
    assert_eq!(overdue(3 * recall_ms), 0, "it uses the delegation");
    drop(using);
    assert_eq!((overdue(4 * recall_ms - 1), overdue(4 * recall_ms)), (0, 1), "and has just used it");
    let _using = begin(&id, Io::Write, 4 * recall_ms - 1).unwrap();
    state.check_delegation(&a, FILE, &id, at(4 * recall_ms - 1)).unwrap();
    assert_eq!(overdue(4 * recall_ms), 1, "but not for ever");
    assert_eq!(revoke_overdue(&state, at(4 * recall_ms)), 1);
}

#[test]
fn opens_and_locks_that_go_with_a_delegation_give_time_too() {
    for step in 0..2 {
        let state = state();
        let recall_ms = state.limits().recall_ms;
        let a = client(&state, "a");
        let opened = delegated(&state, &a, T0);
        let GrantedDelegation { state_id: id, .. } = opened.delegation.unwrap();
        assert_eq!(recalled(&state, state.begin_change(FILE, None, T0)).len(), 1);
        let middle = Now(T0.0 + recall_ms / 2);
        match step {
            0 => state.check_delegation(&a, FILE, &id, middle).unwrap(),
            _ => {
                let (locker, range) = (new_owner(opened.state_id, "l"), Range::new(0, 1).unwrap());
                let asked = LockRequest { file: FILE, locker, range, exclusive: false, reclaim: false };
                state.lock(&a, &asked, middle).unwrap();
            }
        }
        assert!(state.overdue(Now(T0.0 + recall_ms)).is_empty());
        assert_eq!(state.overdue(Now(middle.0 + recall_ms)).len(), 1);
    }
}

#[test]
fn a_lone_writer_is_delegated_to_and_anybody_else_recalls() {
    let state = state();
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let wish = Open { delegate: Some(DelegationKind::Write), ..open_as(share::BOTH, 0, "o") };
    let GrantedDelegation { state_id: id, kind } = state.open(&a, &wish, T0).unwrap().delegation.unwrap();
    assert_eq!(kind, DelegationKind::Write);
    for io in [Io::Read, Io::Write] {
        assert_eq!(state.check_io(&a, FILE, &id, io, T0).map_err(|blocked| status(&blocked)), Ok(()));
    }
    assert_eq!(state.read_conflicts(FILE, Some(b.id()), T0).recalls.len(), 1);
    assert_eq!(recalls(state.open(&b, &open_as(share::READ, 0, "r"), T0))[0].state_id, id);
    state.return_delegation(&a, &id).unwrap();
    state.open(&b, &open_as(share::READ, 0, "r"), T0).unwrap();
    let later = Now(T0.0 + state.limits().recall_pause_ms + 1);
    assert_eq!(state.open(&a, &wish, later).unwrap().delegation, None, "b has it open");
}

#[test]
fn locks_and_shares_of_nlm_recall_what_would_hide_others() {
    let whole = Range::new(0, u64::MAX).unwrap();
    let nlm = LockOwner::Nlm { host: Bytes::from_static(b"h"), process: 1, handle: Bytes::new() };
    let host = ShareOwner { host: Bytes::from_static(b"h"), handle: Bytes::new() };
    for kind in [DelegationKind::Read, DelegationKind::Write] {
        let wish = |access| Open { delegate: Some(kind), ..open_as(access, 0, "o") };
        let is_write = kind == DelegationKind::Write;
        let access = if is_write { share::BOTH } else { share::READ };
        let in_the_way = |attempt: &dyn Fn(&State) -> Result<(), Blocked>| {
            let state = state();
            let a = client(&state, "a");
            let GrantedDelegation { state_id: id, kind: granted } =
                state.open(&a, &wish(access), T0).unwrap().delegation.unwrap();
            assert_eq!(granted, kind);
            let Err(blocked) = attempt(&state) else { return false };
            assert_eq!(recalls::<()>(Err(blocked))[0].state_id, id);
            state.return_delegation(&a, &id).unwrap();
            attempt(&state).unwrap();
            true
        };
        let lock = |exclusive| {
            in_the_way(&|state| match state.nlm_lock(
                FILE,
                &nlm,
                ByteRangeLock { range: whole, exclusive },
                T0,
            ) {
                Ok(_) => Ok(()),
                Err(LockError::Blocked(blocked)) => Err(blocked),
                Err(LockError::Denied(denied)) => panic!("{denied:?}"),
            })
        };
        assert_eq!((lock(true), lock(false)), (true, is_write));
        let reserve = |modes| in_the_way(&|state| state.share(FILE, host.clone(), modes, T0));
        let reserve = |access| reserve(ShareReservation::of_access(access));
        assert_eq!((reserve(share::WRITE), reserve(share::READ)), (true, is_write));
    }
}

#[test]
fn delegations_are_bounded() {
    let state = State::new(Limits { delegations_max: 0, ..Limits::default() }, 1);
    let a = client(&state, "a");
    assert_eq!(delegated(&state, &a, T0).delegation, None);
}

// Memory.

#[test]
fn stored_owner_does_not_keep_its_request() {
    let state = state();
    let record = Bytes::from(vec![b'x'; 1 << 16]);
    let inside = |name: &Bytes| record.as_ptr_range().contains(&name.as_ptr());
    let a = client(&state, "a");
    let asked = Open { owner: record.slice(0..8), ..open_as(share::BOTH, 0, "") };
    let opened = state.open(&a, &asked, T0).unwrap().state_id;
    let locker = Locker::New { open: opened, owner: record.slice(8..16) };
    lock(&state, &a, locker, (0, 1), true).unwrap();
    let other = LockOwner::Nlm { host: "h".into(), process: 1, handle: "x".into() };
    let Err(LockError::Denied(denied)) =
        state.test_lock(FILE, &other, ByteRangeLock { range: Range::ALL, exclusive: true }, T0)
    else {
        panic!("in the way")
    };
    assert!(
        matches!(denied.owner, LockOwner::Nfs4 { owner, .. } if owner == record[8..16] && !inside(&owner))
    );
    drop(asked);
    assert!(record.is_unique(), "neither the open nor the lock shares its memory");
}

#[test]
fn delegation_replaces_an_open_that_denies_nothing() {
    let state = state();
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    let alone = |access, deny, owner| Open {
        delegate: Some(DelegationKind::Write),
        timestamps: true,
        delegation_alone: true,
        ..open_as(access, deny, owner)
    };
    let denying = state.open(&a, &alone(share::BOTH, share::WRITE, "d"), T0).unwrap();
    assert_ne!(denying.state_id, StateId::ANONYMOUS, "a delegation denies nobody anything");
    let GrantedDelegation { state_id: id, .. } = denying.delegation.unwrap();
    state.return_delegation(&a, &id).unwrap();
    state.close(&a, &denying.state_id).unwrap();
    let opened = state.open(&a, &alone(share::BOTH, 0, "o"), T0).unwrap();
    let GrantedDelegation { state_id: id, kind } = opened.delegation.unwrap();
    assert_eq!((opened.state_id, kind, opened.timestamps), (StateId::ANONYMOUS, DelegationKind::Write, true));
    state.check_io(&a, FILE, &id, Io::Write, T0).unwrap();
    state.check_timestamps(&a, FILE, &id, T0).unwrap();
    assert_eq!(state.check_timestamps(&b, FILE, &id, T0), Err(Status::BadStateId));
    // It has one: then there is an open, and no second delegation.
    let again = state.open(&a, &alone(share::BOTH, 0, "o"), T0).unwrap();
    assert_ne!(again.state_id, StateId::ANONYMOUS);
    assert_eq!((again.delegation, again.timestamps), (None, false));
    assert_eq!(state.check_timestamps(&a, FILE, &again.state_id, T0), Err(Status::BadStateId), "an open");
    state.return_delegation(&a, &id).unwrap();
    // The owner has it open: both are told.
    let both = state.open(&a, &alone(share::BOTH, 0, "o"), T0).unwrap();
    assert_eq!((both.state_id.other, both.state_id.sequence), (again.state_id.other, 2));
    assert!(both.delegation.is_some());
}

#[test]
fn times_are_kept_under_write_delegations_alone() {
    let state = state();
    let a = client(&state, "a");
    let reads =
        Open { timestamps: true, delegate: Some(DelegationKind::Read), ..open_as(share::READ, 0, "o") };
    let opened = state.open(&a, &reads, T0).unwrap();
    let GrantedDelegation { state_id: id, kind } = opened.delegation.unwrap();
    assert_eq!((kind, opened.timestamps), (DelegationKind::Read, false));
    assert_eq!(state.check_timestamps(&a, FILE, &id, T0), Err(Status::BadStateId));
}
