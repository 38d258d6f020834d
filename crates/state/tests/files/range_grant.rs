//! A kind of recallable state that only this file knows: a grant of a range, like a layout of pNFS (RFC 8881
//! §12.5). It runs through the same grant, conflict, recall, return and revocation as delegations.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{CallbackOperation, ClientId, FileHandle, StateId, Status};
use state::recallable::{Class, FileUses, GrantRequest, Kind, Returned, Usage};
use state::{
    Blocked, Client, DelegationKind, FileId, Holding, HoldingsAfter, Io, Limits, Now, Obstacles, Range,
    Recall, State,
};
use xdr::Encoder;

use crate::fixture::{FILE, T0, client, open};

const RANGE_CLASS: Class = Class(1);

static READ_RANGE: Kind = Kind {
    name: "read range",
    class: RANGE_CLASS,
    delegation: None,
    keeps_times: false,
    opens: 0,
    io: 0,
    is_reclaimable: false,
    is_excluded: |uses, client| has_overlapping(uses, client, &WRITE_RANGE),
    conflicts: |usage| usage.io == Io::Write,
    recall_times_max: 2,
    revoked: Status::BadStateId,
    callback: CallbackOperation::LayoutRecall,
    encode_recall,
    recall_any: 1 << 3,
};

static WRITE_RANGE: Kind = Kind {
    name: "write range",
    class: RANGE_CLASS,
    delegation: None,
    keeps_times: false,
    opens: 0,
    io: 0,
    is_reclaimable: false,
    is_excluded: |uses, client| {
        has_overlapping(uses, client, &READ_RANGE) || has_overlapping(uses, client, &WRITE_RANGE)
    },
    conflicts: |_| true,
    recall_times_max: 2,
    revoked: Status::BadStateId,
    callback: CallbackOperation::LayoutRecall,
    encode_recall,
    recall_any: 1 << 3,
};

fn has_overlapping(uses: &FileUses<'_>, client: ClientId, kind: &'static Kind) -> bool {
    uses.overlapping().any(|held| held.client != client && held.kind == kind)
}

fn encode_recall(recall: &Recall, object: &FileHandle, to: &mut Encoder) {
    to.put(object);
    to.u64(recall.range.offset());
    to.u64(recall.range.length());
    to.put(&recall.state_id);
}

fn range(offset: u64) -> Range {
    Range::new(offset, 100).unwrap()
}

fn granted(state: &State, client: &Arc<Client>, kind: &'static Kind, offset: u64) -> Option<StateId> {
    let request = GrantRequest { file: FILE, kind, range: range(offset) };
    state.grant(client, &request, false, T0).unwrap()
}

/// The grants in conflict with a write to a range by a caller without state.
fn conflicts(state: &State, offset: u64) -> Obstacles {
    state.conflicts(FILE, None, &Usage { io: Io::Write, range: range(offset) }, T0)
}

fn state() -> State {
    State::new(Limits::default(), 1)
}

#[test]
fn overlapping_writer_excludes_range_grant_of_other_client() {
    let state = state();
    let (a, b) = (client(&state, "a"), client(&state, "b"));
    assert!(granted(&state, &a, &WRITE_RANGE, 0).is_some());
    assert_eq!(granted(&state, &a, &READ_RANGE, 500), None, "a client has one grant of a class");
    assert_eq!(granted(&state, &b, &READ_RANGE, 99), None);
    assert!(granted(&state, &b, &READ_RANGE, 100).is_some());
}

#[test]
fn grants_of_different_classes_do_not_exclude_each_other() {
    let state = state();
    let a = client(&state, "a");
    let range_id = granted(&state, &a, &READ_RANGE, 0).unwrap();
    let delegation = open(&state, &a, FILE, Some(DelegationKind::Read)).delegation.unwrap().state_id;
    assert_eq!(state.grant_count(), 2);
    assert_eq!(state.return_delegation(&a, &range_id), Err(Status::BadStateId));
    assert_eq!(state.return_grant(&a, &delegation, RANGE_CLASS), Err(Status::BadStateId));
    let listed = |held: &(FileId, Holding)| match &held.1 {
        Holding::Grant { kind, .. } => Some(kind.name),
        _ => None,
    };
    let (holdings, mut after) = state.list_holdings(HoldingsAfter::default(), 10);
    let mut names: Vec<_> = holdings.iter().filter_map(listed).collect();
    while let Some(next) = after {
        let (holdings, again) = state.list_holdings(next, 10);
        names.extend(holdings.iter().filter_map(listed));
        after = again;
    }
    assert_eq!(names, ["read", "read range"]);
    assert_eq!(state.revoke(&a, FILE).delegations, 2);
    assert_eq!(state.grant_count(), 0);
}

#[test]
fn conflict_recalls_range_grant_until_its_return() {
    let state = state();
    let a = client(&state, "a");
    let id = granted(&state, &a, &READ_RANGE, 1000).unwrap();
    assert!(conflicts(&state, 900).is_empty(), "the ranges do not overlap");
    let of_holder = state.conflicts(FILE, Some(a.id()), &Usage::WRITE, T0);
    assert!(of_holder.is_empty(), "a client does not conflict with itself");
    let recalls = conflicts(&state, 1050).recalls;
    let [recall] = recalls[..] else { panic!("{recalls:?}") };
    assert_eq!((recall.client, recall.state_id, recall.kind), (a.id(), id, &READ_RANGE));
    assert_eq!(recall.kind.callback, CallbackOperation::LayoutRecall);
    let mut arguments = Encoder::new();
    (recall.kind.encode_recall)(&recall, &FileHandle(Bytes::from_static(b"file")), &mut arguments);
    let mut expected = Encoder::new();
    expected.opaque(b"file");
    expected.u64(1000);
    expected.u64(100);
    expected.put(&id);
    assert_eq!(arguments.as_slice(), expected.as_slice());

    assert_eq!(state.begin_callback(&recall), None, "the recall has not begun");
    assert!(state.begin_recall(&recall, T0));
    assert!(!state.begin_recall(&recall, T0), "it is recalled once");
    assert_eq!((state.begin_callback(&recall), state.begin_callback(&recall)), (Some(1), Some(2)));
    assert_eq!(state.return_grant(&a, &id, RANGE_CLASS), Ok(Returned { file: FILE, recalled: Some(T0) }));
    assert_eq!(state.begin_callback(&recall), None);
    assert!(conflicts(&state, 1050).is_empty());
    assert_eq!(granted(&state, &a, &READ_RANGE, 0), None, "the recall was recent");
}

#[test]
fn range_grant_that_is_not_returned_is_revoked_until_it_is_freed() {
    let state = state();
    let a = client(&state, "a");
    let id = granted(&state, &a, &READ_RANGE, 0).unwrap();
    assert_eq!(state.test_state_id(&a, &id), Status::Ok);
    assert_eq!(state.free_state_id(&a, &id), Err(Status::LocksHeld));
    assert!(state.begin_recall(&conflicts(&state, 0).recalls[0], T0));
    let late = Now(T0.0 + state.limits().recall_ms);
    let overdue = state.overdue(late);
    assert_eq!(overdue.iter().map(|overdue| state.revoke_overdue(overdue, late)).sum::<usize>(), 1);
    drop(overdue);
    assert_eq!(state.test_state_id(&a, &id), READ_RANGE.revoked);
    assert_ne!(a.status_flags(), 0, "SEQ4_STATUS_RECALLABLE_STATE_REVOKED");
    assert_eq!(state.free_state_id(&a, &id), Ok(()));
    assert_eq!((a.status_flags(), state.grant_count()), (0, 0));
}

#[test]
fn range_grants_end_with_their_client_and_are_not_reclaimed() {
    let state = state();
    let a = client(&state, "a");
    granted(&state, &a, &WRITE_RANGE, 0).unwrap();
    let request = GrantRequest { file: FILE, kind: &WRITE_RANGE, range: Range::ALL };
    assert_eq!(state.grant(&a, &request, true, T0), Err(Status::NoGrace));
    let late = Now(T0.0 + 1000 * u64::from(state.limits().lease_seconds) + 1);
    let Err(Blocked::By(obstacles)) = state.begin_change(FILE, None, late) else { panic!("no conflict") };
    assert!(obstacles.recalls.is_empty(), "its lease is over: it is expelled, not called back");
    assert!(state.begin_expel(&obstacles.lapsed[0], late));
    state.finish_expel(&a);
    assert!(state.begin_change(FILE, None, late).is_ok());
    assert_eq!(state.grant_count(), 0);
}
