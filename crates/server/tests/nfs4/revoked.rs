//! What an administrator takes away (RFC 8881 §8.5).

use std::sync::Arc;

use futures_util::FutureExt;
use proto::nfs4::*;
use state::{FileId, Revoked};
use testkit::records::{Change, MemoryRecords, Outcome};

use crate::peer::{Peer, TestServer, open};
use crate::store::Machine;

fn in_root(peer: &mut Peer, arguments: &OpenArgs) -> Result<OpenResult, Status> {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, arguments);
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    if results.status == Status::Ok { Ok(results.body(Operation::Open)) } else { Err(results.status) }
}

fn flags(peer: &mut Peer) -> u32 {
    peer.compound(|_| {}).body::<SequenceResult>(Operation::Sequence).status_flags
}

fn free(peer: &mut Peer, state_id: StateId) -> Status {
    let free = FreeStateIdArgs { state_id };
    peer.compound(|c| {
        c.push(Operation::FreeStateId, &free);
    })
    .status
}

/// The one file that a client holds something of.
fn file_of(peer: &Peer) -> FileId {
    let state = &peer.server.state;
    let files = state.files_of(&state.client(peer.client).unwrap());
    assert_eq!(files.len(), 1);
    files[0]
}

fn revoke_file(server: &TestServer, file: FileId) -> Revoked {
    server.recaller.revoke_file(file).now_or_never().expect("nothing has to wait").unwrap()
}

#[test]
fn a_client_is_told_what_it_has_lost_and_is_recorded_again_when_it_knows() {
    let mut machine = Machine::new();
    let server = machine.start();
    let mut peer = Peer::new(&server, 1);
    let (file, state_id) = peer.create("f");
    let victim = file_of(&peer);
    let (_, other) = peer.create("g");
    assert_eq!(machine.store.clients(), 1);
    assert_eq!(revoke_file(&server, victim), Revoked { opens: 1, ..Revoked::default() });
    assert_eq!(flags(&mut peer), sequence_flags::ADMIN_STATE_REVOKED);
    assert_eq!(peer.close(&file, state_id), Status::AdminRevoked);
    let test = TestStateIdArgs { state_ids: vec![state_id, other] };
    let mut tested = peer
        .compound(|c| {
            c.push(Operation::TestStateId, &test);
        })
        .sequenced();
    let tested: TestStateIdResult = tested.body(Operation::TestStateId);
    assert_eq!(tested.statuses, [Status::AdminRevoked, Status::Ok]);
    assert!(in_root(&mut peer, &open("f", share::BOTH | share::WANT_NO_DELEGATION, None)).is_ok());
    server.at(60_000);
    assert_eq!(machine.store.clients(), 0, "it may not know yet");
    assert_eq!(free(&mut peer, state_id), Status::Ok);
    assert_eq!((flags(&mut peer), machine.store.clients()), (0, 1));
}

#[test]
fn client_unaware_of_its_loss_reclaims_nothing() {
    let mut machine = Machine::new();
    let server = machine.start();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, _) = a.create("f");
    b.create("g");
    revoke_file(&server, file_of(&a));
    let deny = OpenArgs { share_deny: share::BOTH, ..open("f", share::READ, None) };
    in_root(&mut b, &deny).expect("it is free for others");
    drop((server, a, b));
    let server = machine.start();
    let mut again = Peer::stranger(&server, 1, 0);
    let exchanged = again.exchange_id("client 1", 1).unwrap();
    again.client = exchanged.client;
    again.create_session(exchanged.sequence).unwrap();
    let claim = OpenClaim::Previous(DelegationType::None);
    let reclaim = OpenArgs { claim, ..open("", share::BOTH, None) };
    assert_eq!(again.on(&file, Operation::Open, &reclaim).status, Status::ReclaimBad);
}

#[test]
fn revocation_releases_waiting_operations() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, state_id) = a.create("f");
    assert_eq!(a.close(&file, state_id), Status::Ok);
    let reading = open("f", share::READ | share::WANT_ANY_DELEGATION, None);
    let opened = in_root(&mut a, &reading).unwrap();
    let OpenDelegation::Read(delegation) = opened.delegation else { panic!("{:?}", opened.delegation) };
    let mut held = b.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::BOTH, None));
    });
    assert!((&mut held).now_or_never().is_none());
    let all = Revoked { opens: 1, delegations: 1, ..Revoked::default() };
    assert_eq!(revoke_file(&server, file_of(&a)), all);
    assert_eq!(held.now_or_never().expect("nothing is in the way").status, Status::Ok);
    let back = DelegReturnArgs { state_id: delegation.state_id };
    assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::AdminRevoked);
    for id in [opened.state_id, delegation.state_id] {
        assert_eq!(free(&mut a, id), Status::Ok);
    }
    assert_eq!(flags(&mut a), 0);
}

#[test]
fn a_client_that_is_expelled_by_order_has_lost_everything_at_once() {
    let mut machine = Machine::new();
    let server = machine.start();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    a.create("f");
    let deny = OpenArgs { share_deny: share::BOTH, ..open("f", share::READ, None) };
    assert_eq!(in_root(&mut b, &deny).unwrap_err(), Status::ShareDenied);
    assert_eq!(machine.store.clients(), 2);
    let expel = |id| server.recaller.expel_client(id).now_or_never().expect("nothing has to wait");
    assert!(expel(a.client));
    assert!(!expel(a.client), "it is gone");
    assert_eq!(machine.store.clients(), 1);
    assert!(in_root(&mut b, &deny).is_ok());
    let lost = a.with_sequence(a.last_sequence() + 1, false, |_| {});
    assert_eq!(lost.status, Status::BadSession);
    let mut back = Peer::new(&server, 1);
    assert_ne!(back.client, a.client);
    assert_eq!(flags(&mut back), 0);
}

#[test]
fn nothing_is_revoked_that_its_holder_could_reclaim() {
    let records = MemoryRecords::new();
    records.set_outcome(Change::RemoveClient, Outcome::Failed);
    let server = TestServer::with_records(Arc::new(records));
    let mut peer = Peer::new(&server, 1);
    let (file, state_id) = peer.create("f");
    let revoking = server.recaller.revoke_file(file_of(&peer));
    revoking.now_or_never().expect("nothing has to wait").unwrap_err();
    let revoking = server.recaller.revoke_client(peer.client);
    revoking.now_or_never().expect("nothing has to wait").unwrap_err();
    assert_eq!(flags(&mut peer), 0);
    assert_eq!(peer.close(&file, state_id), Status::Ok);
}
