//! Read delegations and their recall (RFC 8881 §10.4).

use futures_util::FutureExt;
use proto::nfs4::*;

use crate::peer::{Peer, TestServer, open, size_only};

pub(crate) fn delegated(peer: &mut Peer, name: &str) -> Option<StateId> {
    let arguments = open(name, share::READ | share::WANT_ANY_DELEGATION, None);
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments);
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    match results.body::<OpenResult>(Operation::Open).delegation {
        OpenDelegation::Read(delegation) => Some(delegation.state_id),
        OpenDelegation::NoneExt(_) => None,
        other => panic!("{other:?}"),
    }
}

/// Two clients and a file that nobody has open.
fn two(server: &std::sync::Arc<TestServer>) -> (Peer, Peer, FileHandle) {
    let (mut a, b) = (Peer::new(server, 1), Peer::new(server, 2));
    let (file, state_id) = a.create("f");
    assert_eq!(a.close(&file, state_id), Status::Ok);
    (a, b, file)
}

#[test]
fn a_conflicting_open_is_held_and_answered_when_the_delegation_is_back() {
    let server = TestServer::new();
    let (mut a, mut b, file) = two(&server);
    let delegation = delegated(&mut a, "f").expect("delegated");
    assert!(delegated(&mut b, "f").is_some(), "readers do not conflict");
    let mut held = b.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::BOTH, None));
    });
    assert!((&mut held).now_or_never().is_none(), "held, not refused");
    server.world.run();
    assert_eq!(*a.callbacks.recalled.lock(), [delegation], "recalled once");
    assert!(b.callbacks.recalled.lock().is_empty(), "one's own delegation is not in the way");
    assert!((&mut held).now_or_never().is_none());
    let back = DelegReturnArgs { state_id: delegation };
    assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
    let results = held.now_or_never().expect("answered at once");
    assert_eq!(results.status, Status::Ok);
    assert_eq!(delegated(&mut a, "f"), None, "written, and just recalled");
    assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::BadStateId);
}

#[test]
fn the_retry_of_a_held_request_is_held_until_that_one_has_ended() {
    let server = TestServer::new();
    let (mut a, mut b, file) = two(&server);
    let state_id = delegated(&mut a, "f").expect("delegated");
    let build = |c: &mut CompoundBuilder<'_>| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::BOTH, None));
    };
    let mut held = b.begin(build);
    assert!((&mut held).now_or_never().is_none());
    let mut again = b.begin_again(build);
    assert!((&mut again).now_or_never().is_none(), "neither done twice nor sent away");
    server.world.run();
    assert_eq!(a.on(&file, Operation::DelegReturn, &DelegReturnArgs { state_id }).status, Status::Ok);
    assert!((&mut again).now_or_never().is_none(), "only the first one goes on");
    assert_eq!(held.now_or_never().expect("answered").status, Status::Ok);
    let results = again.now_or_never().expect("answered");
    assert_eq!(
        (results.status, results.count),
        (Status::RetryUncachedReply, 2),
        "nobody asked to keep the reply"
    );
}

#[test]
fn a_cancelled_request_leaves_its_slot_free_and_answers_its_retry() {
    let server = TestServer::new();
    let (mut a, mut b, _) = two(&server);
    delegated(&mut a, "f").expect("delegated");
    let build = |c: &mut CompoundBuilder<'_>| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::BOTH, None));
    };
    let mut held = b.begin(build);
    assert!((&mut held).now_or_never().is_none());
    let mut again = b.begin_again(build);
    assert!((&mut again).now_or_never().is_none());
    drop(held);
    let results = again.now_or_never().expect("nothing is under way in the slot");
    assert_eq!((results.status, results.count), (Status::RetryUncachedReply, 2));
    let next = b.compound(|c| {
        c.push(Operation::PutRootFh, &());
    });
    assert_eq!(next.status, Status::Ok);
}

#[test]
fn changes_without_an_open_recall_too() {
    for operation in [Operation::SetAttr, Operation::Write, Operation::Remove] {
        let server = TestServer::new();
        let (mut a, mut b, file) = two(&server);
        let delegation = delegated(&mut a, "f").expect("delegated");
        let object = file.clone();
        let mut held = b.begin(|c| match operation {
            Operation::SetAttr => {
                let values = attributes::AttributeValues { mode: Some(0o600), ..Default::default() };
                c.push(Operation::PutFh, &PutFhArgs { object })
                    .push(operation, &(SetAttrArgs { state_id: StateId::ANONYMOUS }, values));
            }
            Operation::Write => {
                let (state_id, stable) = (StateId::ANONYMOUS, StableHow::FileSync);
                c.push(Operation::PutFh, &PutFhArgs { object })
                    .push(operation, &WriteArgs { state_id, offset: 0, stable, data: "x".into() });
            }
            _ => {
                c.push(Operation::PutRootFh, &()).push(operation, &RemoveArgs { target: "f".into() });
            }
        });
        assert!((&mut held).now_or_never().is_none(), "{operation}");
        server.world.run();
        assert_eq!(a.callbacks.recalled.lock().len(), 1, "{operation}");
        let back = DelegReturnArgs { state_id: delegation };
        assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
        assert_eq!(held.now_or_never().expect("answered").status, Status::Ok, "{operation}");
    }
}

#[test]
fn nothing_is_delegated_to_who_does_not_want_it_or_cannot_be_called_back() {
    let server = TestServer::new();
    let (mut a, _, _) = two(&server);
    let unwanted = open("f", share::READ | share::WANT_NO_DELEGATION, None);
    let mut results = a
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &unwanted);
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let delegation = results.body::<OpenResult>(Operation::Open).delegation;
    assert_eq!(delegation, OpenDelegation::NoneExt(WhyNoDelegation::NotWanted));
    // A session whose callback path was never seen to work.
    let mut c = Peer::stranger(&server, 3, 0);
    let exchanged = c.exchange_id("client 3", 1).unwrap();
    c.client = exchanged.client;
    c.create_session(exchanged.sequence).unwrap();
    assert_eq!(c.reclaim_complete(), Status::Ok);
    assert_eq!(delegated(&mut c, "f"), None);
    server.world.run();
    let (file, state_id) = c.create("g");
    assert_eq!(c.close(&file, state_id), Status::Ok);
    assert!(delegated(&mut c, "g").is_some(), "now it works");
}

#[test]
fn the_stateid_of_a_delegation_reads_and_does_not_write() {
    let server = TestServer::new();
    let (mut a, mut b, file) = two(&server);
    let state_id = delegated(&mut a, "f").expect("delegated");
    let read = ReadArgs { state_id, offset: 0, count: 10 };
    assert_eq!(a.on(&file, Operation::Read, &read).status, Status::Ok);
    assert_eq!(b.on(&file, Operation::Read, &read).status, Status::BadStateId);
    let write = WriteArgs { state_id, offset: 0, stable: StableHow::FileSync, data: "x".into() };
    assert_eq!(a.on(&file, Operation::Write, &write).status, Status::OpenMode);
    let cur = OpenArgs { claim: OpenClaim::DelegateCurrentHandle(state_id), ..open("", share::READ, None) };
    assert_eq!(a.on(&file, Operation::Open, &cur).status, Status::Ok);
    assert_eq!(b.on(&file, Operation::Open, &cur).status, Status::BadStateId);
    let mut reopened = a.on(&file, Operation::Open, &cur);
    let opened: OpenResult = reopened.body(Operation::Open);
    let claim = OpenClaim::DelegateCurrentHandle(opened.state_id);
    let no_delegation = OpenArgs { claim, ..open("", share::READ, None) };
    assert_eq!(a.on(&file, Operation::Open, &no_delegation).status, Status::BadStateId, "an open is none");
}

#[test]
fn return_of_a_lost_delegation_tells_no_attributes_of_others_changes() {
    let server = TestServer::new();
    let (mut a, mut b, object) = two(&server);
    let state_id = delegated(&mut a, "f").expect("delegated");
    let give_back = |peer: &mut Peer, state_id| {
        peer.compound(|c| {
            c.push(Operation::PutFh, &PutFhArgs { object: object.clone() });
            c.push(Operation::GetAttr, &GetAttrArgs { wanted: size_only() });
            c.push(Operation::DelegReturn, &DelegReturnArgs { state_id });
        })
        .sequenced()
    };
    let mut refused = give_back(&mut b, state_id);
    refused.ok(Operation::PutFh);
    assert_eq!((refused.status, refused.count), (Status::AccessDenied, 3), "another's");
    let mut given = give_back(&mut a, state_id);
    given.ok(Operation::PutFh);
    assert_eq!(attributes::AttributeValues::decode(given.ok(Operation::GetAttr)).unwrap().size, Some(0));
    given.ok(Operation::DelegReturn);
    let mut lost = give_back(&mut a, state_id);
    lost.ok(Operation::PutFh);
    assert_eq!((lost.status, lost.count), (Status::AccessDenied, 3), "not held any more");
    let alone = a.on(&object, Operation::DelegReturn, &DelegReturnArgs { state_id });
    assert_eq!(alone.status, Status::BadStateId, "and so it learns of the loss");
}

#[test]
fn delegation_is_kept_for_a_bounded_time_while_its_holder_writes() {
    let (server, trigger) = TestServer::faulty();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let how = CreateHow::Guarded(attributes::AttributeValues::default());
    let making = open("f", share::BOTH | share::WANT_WRITE_DELEGATION, Some(how));
    let mut made = a
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &making).push(Operation::GetFh, &());
        })
        .sequenced();
    made.ok(Operation::PutRootFh);
    let OpenDelegation::Write(granted) = made.body::<OpenResult>(Operation::Open).delegation else {
        panic!("no write delegation");
    };
    let object = made.body::<GetFhResult>(Operation::GetFh).object;
    let mut held = b.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::READ, None));
    });
    assert!((&mut held).now_or_never().is_none());
    let recall_ms = server.state.limits().recall_ms;
    server.at(recall_ms / 2);
    trigger.set_stuck(Some("write"));
    let state_id = granted.state_id;
    let write = WriteArgs { state_id, offset: 0, stable: StableHow::FileSync, data: "x".into() };
    let mut writing = a.begin(|c| {
        c.push(Operation::PutFh, &PutFhArgs { object: object.clone() }).push(Operation::Write, &write);
    });
    assert!((&mut writing).now_or_never().is_none(), "the disk is slow");
    // Both are alive, in other slots.
    let renew = |peer: &Peer, sequence: u32| {
        let sequence = SequenceArgs { slot: SlotId(2), ..peer.sequence_args(sequence, false) };
        let renewed = peer.begin_kept(&sequence, |_| {}).now_or_never().expect("nothing is in the way");
        assert_eq!(renewed.status, Status::Ok);
    };
    for (sequence, half) in (1..8).zip(1..) {
        let at = half * recall_ms / 2 + recall_ms / 2 - 1;
        server.at(at);
        renew(&a, sequence);
        renew(&b, sequence);
        assert_eq!(server.state.grant_count(), 1, "{at}");
        assert!((&mut held).now_or_never().is_none());
    }
    server.at(4 * recall_ms);
    assert_eq!(server.state.grant_count(), 0, "it is not waited for without end");
    assert_eq!(held.now_or_never().expect("nothing is in the way").status, Status::Ok);
    trigger.set_stuck(None);
    assert_eq!(writing.now_or_never().expect("the disk has it").status, Status::Ok);
    let read = ReadArgs { state_id, offset: 0, count: 1 };
    assert_eq!(a.on(&object, Operation::Read, &read).status, Status::DelegationRevoked);
}
