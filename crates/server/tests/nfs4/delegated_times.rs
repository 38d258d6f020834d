//! Delegations under which the client keeps the times, and delegations without an open (RFC 9754).

use std::sync::Arc;

use futures_util::FutureExt;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap, SetTime};
use proto::nfs4::*;

use crate::peer::{Peer, Results, TestServer, open};

/// The time of day on the server: later than any clock that a test runs by.
const NOW_SECONDS: i64 = 1 << 33;

fn server() -> Arc<TestServer> {
    let server = TestServer::of_minor_version_2();
    server.world.set_wall_seconds(NOW_SECONDS);
    server
}

fn at(seconds: i64) -> Time {
    Time { seconds, nanoseconds: 0 }
}

/// Opens a file of the root, which is made if it is not there.
fn opened(peer: &mut Peer, name: &str, access: u32) -> (FileHandle, OpenResult) {
    let how = CreateHow::Unchecked(AttributeValues::default());
    let arguments = open(name, access, Some(how));
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments).push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let opened = results.body(Operation::Open);
    (results.body::<GetFhResult>(Operation::GetFh).object, opened)
}

/// A file whose times a client keeps.
fn delegated(peer: &mut Peer, name: &str) -> (FileHandle, StateId) {
    let (file, opened) = opened(peer, name, share::BOTH | share::WANT_DELEGATED_TIMESTAMPS);
    let OpenDelegation::WriteAttributes(granted) = opened.delegation else {
        panic!("{:?}", opened.delegation)
    };
    assert_eq!(opened.flags & open_result::NO_OPEN_STATE_ID, 0);
    (file, granted.state_id)
}

fn set(peer: &mut Peer, file: &FileHandle, state_id: StateId, values: &AttributeValues) -> Results {
    peer.on(file, Operation::SetAttr, &(SetAttrArgs { state_id }, values.clone()))
}

fn modified_at(time: Time) -> AttributeValues {
    AttributeValues { time_deleg_modify: Some(time), ..Default::default() }
}

const TIMES: [AttributeId; 4] =
    [AttributeId::Change, AttributeId::Size, AttributeId::TimeAccess, AttributeId::TimeModify];

#[test]
fn a_client_is_told_what_open_can_be_asked_for() {
    let mut peer = Peer::new(&server(), 1);
    let (file, state_id) = peer.create("f");
    let values = peer.attributes(&file, &[AttributeId::OpenArguments, AttributeId::SupportedAttrs]);
    let told = values.open_arguments.unwrap();
    let word = |numbers: &[u32]| Bitmap::from_word(numbers.iter().map(|number| 1 << number).sum());
    assert_eq!((told.access, told.deny), (word(&[1, 2, 3]), word(&[0, 1, 2, 3])));
    assert_eq!(told.want, word(&[3, 4, 5, 20, 21]));
    assert_eq!((told.claim, told.create_mode), (word(&[0, 1, 2, 4, 5]), word(&[0, 1, 2, 3])));
    let supported = values.supported_attrs.unwrap();
    for of_holder in [AttributeId::TimeDelegAccess, AttributeId::TimeDelegModify] {
        assert!(supported.contains(of_holder));
        let wanted = GetAttrArgs { wanted: Bitmap::of(&[of_holder]) };
        assert_eq!(peer.on(&file, Operation::GetAttr, &wanted).status, Status::Invalid);
    }
    for operation in [Operation::Verify, Operation::NVerify] {
        assert_eq!(peer.on(&file, operation, &modified_at(at(1))).status, Status::Invalid);
    }
    // An open is no delegation, and nobody's stateid neither.
    for id in [state_id, StateId::ANONYMOUS] {
        assert_eq!(set(&mut peer, &file, id, &modified_at(at(1))).status, Status::BadStateId);
    }
}

#[test]
fn minor_version_1_knows_nothing_of_it() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    for flag in [share::WANT_DELEGATED_TIMESTAMPS, share::WANT_OPEN_XOR_DELEGATION, 1 << 24] {
        let arguments = open("f", share::READ | flag, None);
        let results = peer.compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments);
        });
        assert_eq!(results.status, Status::Invalid, "{flag:#x}");
    }
    let (file, state_id) = peer.create("f");
    assert_eq!(set(&mut peer, &file, state_id, &modified_at(at(1))).status, Status::Invalid);
}

#[test]
fn a_delegation_may_come_without_an_open() {
    let server = server();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let how = CreateHow::Guarded(AttributeValues::default());
    let arguments = open("f", share::BOTH | share::WANT_OPEN_XOR_DELEGATION, Some(how));
    let stable = StableHow::FileSync;
    let write = WriteArgs { state_id: StateId::CURRENT, offset: 0, stable, data: "data".into() };
    let mut results = a
        .compound(|c| {
            c.push(Operation::PutRootFh, &())
                .push(Operation::Open, &arguments)
                .push(Operation::Write, &write)
                .push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let opened: OpenResult = results.body(Operation::Open);
    assert_eq!(opened.state_id, StateId::ANONYMOUS);
    assert_ne!(opened.flags & open_result::NO_OPEN_STATE_ID, 0);
    let OpenDelegation::Write(granted) = opened.delegation else { panic!("{:?}", opened.delegation) };
    assert_eq!(results.body::<WriteResult>(Operation::Write).count, 4, "under the delegation");
    let file = results.body::<GetFhResult>(Operation::GetFh).object;
    assert_eq!(a.read(&file, granted.state_id, 0, 10), "data");
    // Somebody else: the holder makes its open known before it gives the delegation back.
    let mut held = b.begin(|c| {
        let denying = OpenArgs { share_deny: share::WRITE, ..open("f", share::READ, None) };
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &denying);
    });
    assert!((&mut held).now_or_never().is_none());
    server.world.run();
    assert_eq!(*a.callbacks.recalled.lock(), [granted.state_id]);
    let claim = OpenClaim::DelegateCurrentHandle(granted.state_id);
    let mine = OpenArgs { claim, ..open("", share::BOTH | share::WANT_OPEN_XOR_DELEGATION, None) };
    let mut results = a.on(&file, Operation::Open, &mine);
    let reopened: OpenResult = results.body(Operation::Open);
    assert_ne!(reopened.state_id, StateId::ANONYMOUS);
    assert_eq!(reopened.flags & open_result::NO_OPEN_STATE_ID, 0);
    let back = DelegReturnArgs { state_id: granted.state_id };
    assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
    assert_eq!(held.now_or_never().expect("answered").status, Status::ShareDenied);
    a.write(&file, reopened.state_id, 0, b"more");
}

#[test]
fn where_nothing_is_delegated_there_is_an_open() {
    let server = server();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (_, first) = opened(&mut a, "f", share::BOTH | share::WANT_NO_DELEGATION);
    assert_ne!(first.state_id, StateId::ANONYMOUS);
    let flags = share::WANT_OPEN_XOR_DELEGATION | share::WANT_DELEGATED_TIMESTAMPS;
    let (_, second) = opened(&mut b, "f", share::READ | share::WANT_ANY_DELEGATION | flags);
    assert_ne!(second.state_id, StateId::ANONYMOUS);
    assert_eq!(second.flags & open_result::NO_OPEN_STATE_ID, 0);
    assert!(matches!(second.delegation, OpenDelegation::NoneExt(_)));
    // Under a delegation to read, the server knows what is read and when.
    let (file, state_id) = a.create("g");
    assert_eq!(a.close(&file, state_id), Status::Ok);
    let (_, reads) = opened(&mut a, "g", share::READ | flags);
    assert!(matches!(reads.delegation, OpenDelegation::Read(_)));
    assert_ne!(reads.flags & open_result::NO_OPEN_STATE_ID, 0);
}

#[test]
fn others_are_told_the_times_that_the_holder_keeps() {
    let server = server();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, state_id) = delegated(&mut a, "f");
    let granted = a.attributes(&file, &TIMES);
    let change = granted.change.unwrap();
    let since = granted.time_modify.unwrap().seconds + 100;
    // Read, and not modified: that is told, and changes nothing.
    *a.callbacks.attributes.lock() = Some((change, 0));
    *a.callbacks.times.lock() = Some((at(since), at(since)));
    let told = b.attributes(&file, &TIMES);
    assert_eq!((told.time_access, told.time_modify), (Some(at(since)), granted.time_modify));
    assert_eq!((told.change, told.size), (granted.change, Some(0)));
    let only = b.attributes(&file, &[AttributeId::TimeAccess]);
    assert_eq!(only.time_access, Some(at(since)), "it is asked for that alone as well");
    // Modified.
    *a.callbacks.attributes.lock() = Some((change + 1, 9));
    let told = b.attributes(&file, &TIMES);
    assert_eq!((told.time_access, told.time_modify), (Some(at(since)), Some(at(since))));
    assert_eq!(told.size, Some(9));
    assert!(told.change > granted.change);
    // From a clock that is ahead, and from before it had the delegation.
    *a.callbacks.times.lock() = Some((at(NOW_SECONDS + 5), at(NOW_SECONDS + 5)));
    let told = b.attributes(&file, &TIMES);
    assert_eq!((told.time_access, told.time_modify), (Some(at(NOW_SECONDS)), Some(at(NOW_SECONDS))));
    *a.callbacks.times.lock() = Some((at(-1), at(-1)));
    let told = b.attributes(&file, &TIMES);
    assert!(told.time_access.unwrap().seconds > 0 && told.time_modify.unwrap().seconds > 0);
    assert!(a.callbacks.recalled.lock().is_empty());
    let back = DelegReturnArgs { state_id };
    assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
}

#[test]
fn the_holder_sets_the_times_that_it_has_kept() {
    let server = server();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, state_id) = delegated(&mut a, "f");
    let granted = a.attributes(&file, &TIMES);
    let then = granted.time_modify.unwrap().seconds + 100;
    a.write(&file, state_id, 0, b"data");
    let both = AttributeValues {
        time_deleg_access: Some(at(then)),
        time_deleg_modify: Some(at(then)),
        ..Default::default()
    };
    let mut done = set(&mut a, &file, state_id, &both);
    assert_eq!(done.body::<SetAttrResult>(Operation::SetAttr).attributes_set, both.present());
    let now = a.attributes(&file, &TIMES);
    assert_eq!(now.time_modify, Some(at(then)));
    assert!(now.change > granted.change);
    // That it was read changes nothing; what is too early is not taken, what is too late is now.
    let accessed = AttributeValues { time_deleg_access: Some(at(then + 1)), ..Default::default() };
    for (values, modified) in [
        (accessed, then),
        (modified_at(at(1)), then),
        (modified_at(at(NOW_SECONDS + 9)), NOW_SECONDS),
        (AttributeValues { mode: Some(0o640), ..modified_at(at(then + 7)) }, then + 7),
    ] {
        let before = a.attributes(&file, &TIMES);
        assert_eq!(set(&mut a, &file, state_id, &values).status, Status::Ok, "{values:?}");
        let after = a.attributes(&file, &TIMES);
        assert_eq!(after.time_modify, Some(at(modified)), "{values:?}");
        let is_taken = before.time_modify != after.time_modify;
        assert_eq!(before.change != after.change, is_taken, "{values:?}");
    }
    assert_eq!(a.attributes(&file, &[AttributeId::Mode]).mode, Some(0o640));
    let impossible = Time { seconds: 0, nanoseconds: 1_000_000_000 };
    assert_eq!(set(&mut a, &file, state_id, &modified_at(impossible)).status, Status::Invalid);
    // Not with a stateid of somebody else, nor once it is given back.
    assert_eq!(set(&mut b, &file, state_id, &modified_at(at(then))).status, Status::BadStateId);
    let mut results = a
        .compound(|c| {
            c.push(Operation::PutFh, &PutFhArgs { object: file.clone() })
                .push(Operation::SetAttr, &(SetAttrArgs { state_id }, modified_at(at(then + 8))))
                .push(Operation::DelegReturn, &DelegReturnArgs { state_id });
        })
        .sequenced();
    results.ok(Operation::PutFh);
    assert_eq!(results.status, Status::Ok);
    assert_eq!(b.attributes(&file, &TIMES).time_modify, Some(at(then + 8)));
    assert_eq!(set(&mut a, &file, state_id, &modified_at(at(then))).status, Status::BadStateId);
    let usual = AttributeValues { time_modify_set: Some(SetTime::Client(at(5))), ..Default::default() };
    assert_eq!(set(&mut a, &file, StateId::ANONYMOUS, &usual).status, Status::Ok);
}
