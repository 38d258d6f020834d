//! Extended attributes (RFC 8276).

use bytes::Bytes;
use futures_util::FutureExt;
use proto::nfs4::attributes::{AttributeId, AttributeValues};
use proto::nfs4::*;
use testkit::records::Change;
use testkit::records::Outcome::{Lost, Written};

use crate::peer::{Peer, TestServer, open};
use crate::store::Machine;

fn set(option: SetXattrOption, name: &str, value: &[u8]) -> SetXattrArgs {
    let (name, value) = (Bytes::copy_from_slice(name.as_bytes()), Bytes::copy_from_slice(value));
    SetXattrArgs { option, name, value }
}

/// The value of an attribute.
fn get(peer: &mut Peer, object: &FileHandle, name: &str) -> Result<Bytes, Status> {
    let name = Bytes::copy_from_slice(name.as_bytes());
    let mut results = peer.on(object, Operation::GetXattr, &GetXattrArgs { name });
    if results.status != Status::Ok {
        return Err(results.status);
    }
    Ok(results.body::<GetXattrResult>(Operation::GetXattr).value)
}

fn list(
    peer: &mut Peer,
    object: &FileHandle,
    cookie: u64,
    count_max: u32,
) -> Result<ListXattrsResult, Status> {
    let arguments = ListXattrsArgs { cookie, count_max };
    let mut results = peer.on(object, Operation::ListXattrs, &arguments);
    if results.status != Status::Ok {
        return Err(results.status);
    }
    let body = results.ok(Operation::ListXattrs);
    assert!(body.remaining() <= count_max as usize);
    Ok(body.get().unwrap())
}

#[test]
fn attributes_are_set_told_listed_and_removed() {
    let mut peer = Peer::new(&TestServer::of_minor_version_2(), 1);
    let (file, _) = peer.create("f");
    let of_change = [AttributeId::Change, AttributeId::XattrSupport];
    let mut change = peer.attributes(&file, &of_change).change.unwrap();
    assert_eq!(peer.attributes(&file, &of_change).xattr_support, Some(true));
    assert_eq!(get(&mut peer, &file, "a"), Err(Status::NoXattr));
    for (option, name, value) in [
        (SetXattrOption::Create, "a", &b"one"[..]),
        (SetXattrOption::Either, "a", b"two"),
        (SetXattrOption::Replace, "a", b""),
        (SetXattrOption::Either, "b/c", b"three"),
    ] {
        let mut results = peer.on(&file, Operation::SetXattr, &set(option, name, value));
        let done: SetXattrResult = results.body(Operation::SetXattr);
        assert_eq!((done.change.atomic, done.change.before), (false, change));
        change = peer.attributes(&file, &of_change).change.unwrap();
        assert_eq!(done.change.after, change);
        assert_ne!(done.change.before, change);
        assert_eq!(get(&mut peer, &file, name).unwrap(), value);
    }
    for (option, name, status) in [
        (SetXattrOption::Create, "a", Status::Exists),
        (SetXattrOption::Replace, "z", Status::NoXattr),
        (SetXattrOption::Either, "", Status::Invalid),
        (SetXattrOption::Either, "a\0b", Status::BadCharacter),
        (SetXattrOption::Either, &"n".repeat(251), Status::NameTooLong),
    ] {
        let refused = peer.on(&file, Operation::SetXattr, &set(option, name, b"value"));
        assert_eq!(refused.status, status, "{name}");
    }
    let huge = set(SetXattrOption::Either, "a", &[0; 65_537]);
    assert_eq!(peer.on(&file, Operation::SetXattr, &huge).status, Status::XattrTooBig);
    let all = list(&mut peer, &file, 0, 1000).unwrap();
    let mut names: Vec<_> = all.names.into_iter().map(|name| name.0).collect();
    names.sort();
    assert_eq!((&names[..], all.eof), (&["a".into(), Bytes::from("b/c")][..], true));
    let remove = RemoveXattrArgs { name: "a".into() };
    let done: RemoveXattrResult =
        peer.on(&file, Operation::RemoveXattr, &remove).body(Operation::RemoveXattr);
    assert_eq!(done.change.before, change);
    assert_ne!(done.change.after, change);
    assert_eq!(peer.on(&file, Operation::RemoveXattr, &remove).status, Status::NoXattr);
}

#[test]
fn a_long_list_is_told_in_parts() {
    let mut peer = Peer::new(&TestServer::of_minor_version_2(), 1);
    let (file, _) = peer.create("f");
    let mut expected: Vec<_> = (0..100).map(|number| format!("name {number}")).collect();
    for name in &expected {
        let done = peer.on(&file, Operation::SetXattr, &set(SetXattrOption::Create, name, b""));
        assert_eq!(done.status, Status::Ok);
    }
    let (mut names, mut cookie, mut requests) = (Vec::new(), 0, 0);
    loop {
        let part = list(&mut peer, &file, cookie, 200).unwrap();
        assert!(!part.names.is_empty());
        names.extend(part.names.into_iter().map(|name| String::from_utf8(name.0.to_vec()).unwrap()));
        (cookie, requests) = (part.cookie, requests + 1);
        if part.eof {
            break;
        }
    }
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
    assert_eq!(requests, 7, "{requests}");
    for count_max in [0, 15, 27] {
        assert_eq!(list(&mut peer, &file, 0, count_max), Err(Status::TooSmall), "{count_max}");
    }
}

#[test]
fn rights_to_attributes_are_those_to_data_and_told_by_access() {
    let server = TestServer::of_minor_version_2();
    let mut owner = Peer::new(&server, 1);
    let (file, state_id) = owner.create("f");
    let values = AttributeValues { mode: Some(0o604), ..Default::default() };
    assert_eq!(owner.on(&file, Operation::SetAttr, &(SetAttrArgs { state_id }, values)).status, Status::Ok);
    let mut user = Peer::with_uid(&server, 2, 1000);
    let rights = |peer: &mut Peer, access| {
        let mut results = peer.on(&file, Operation::Access, &AccessArgs { access });
        let told: AccessResult = results.body(Operation::Access);
        (told.supported, told.access)
    };
    assert_eq!(rights(&mut owner, 0x1c0), (0x1c0, 0x1c0));
    assert_eq!(rights(&mut user, 0x1c0), (0x1c0, 0x140), "may look and not touch");
    assert_eq!(rights(&mut user, 0x81), (0x81, 0x1));
    let done = owner.on(&file, Operation::SetXattr, &set(SetXattrOption::Either, "a", b"1"));
    assert_eq!(done.status, Status::Ok);
    assert_eq!(get(&mut user, &file, "a").unwrap(), "1");
    let refused = user.on(&file, Operation::SetXattr, &set(SetXattrOption::Either, "a", b"2"));
    assert_eq!(refused.status, Status::AccessDenied);
    let mut old = Peer::stranger(&server, 3, 0).speaking(1);
    let exchanged = old.exchange_id("client 3", 1).unwrap();
    old.client = exchanged.client;
    old.create_session(exchanged.sequence).unwrap();
    assert_eq!(rights(&mut old, 0x1c1), (0x1, 0x1), "minor version 1 knows no such rights");
}

#[test]
fn delegations_of_others_are_recalled_before_an_attribute_changes() {
    let server = TestServer::of_minor_version_2();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, state_id) = a.create("f");
    assert_eq!(a.close(&file, state_id), Status::Ok);
    let asked = open("f", share::READ | share::WANT_READ_DELEGATION, None);
    let mut results = a
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &asked);
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let OpenDelegation::Read(delegation) = results.body::<OpenResult>(Operation::Open).delegation else {
        panic!("not delegated")
    };
    let object = file.clone();
    let mut held = b.begin(|c| {
        c.push(Operation::PutFh, &PutFhArgs { object })
            .push(Operation::SetXattr, &set(SetXattrOption::Either, "a", b"1"));
    });
    assert!((&mut held).now_or_never().is_none());
    server.world.run();
    assert_eq!(*a.callbacks.recalled.lock(), [delegation.state_id]);
    let back = DelegReturnArgs { state_id: delegation.state_id };
    assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
    assert_eq!(held.now_or_never().expect("answered").status, Status::Ok);
}

/// On a persistent session: what was done before a crash is answered with success, and not done again.
#[test]
fn a_retry_after_a_crash_is_answered_as_before() {
    type Build = fn(&mut CompoundBuilder<'_>);
    let create: Build = |c| {
        c.push(Operation::PutRootFh, &())
            .push(Operation::SetXattr, &set(SetXattrOption::Create, "new", b"value"));
    };
    let remove: Build = |c| {
        c.push(Operation::PutRootFh, &())
            .push(Operation::RemoveXattr, &RemoveXattrArgs { name: "old".into() });
    };
    for (build, name, before) in [(create, "new", false), (remove, "old", true)] {
        for (fates, is_done) in [(&[Written, Lost][..], true), (&[Lost], false)] {
            let mut machine = Machine::new();
            let server = machine.start();
            let mut peer = client(&server, 1);
            let flags = session_flags::PERSIST;
            let asked = CreateSessionArgs { flags, ..peer.create_session_args(SequenceId(2)) };
            peer.create_session_with(&asked).unwrap();
            let mut other = client(&server, 2);
            let root = root(&mut other);
            let old = other.on(&root, Operation::SetXattr, &set(SetXattrOption::Create, "old", b"value"));
            assert_eq!(old.status, Status::Ok);
            machine.store.plan(Change::SetSlot, fates);
            drop(peer.begin_with_sequence(1, build).now_or_never());
            let server = machine.start();
            let again = peer.after_restart(&server).with_sequence(1, true, build);
            let expected = if is_done { Status::Ok } else { Status::DeadSession };
            assert_eq!(again.status, expected, "{name}");
            let found = get(&mut client(&server, 3), &root, name).is_ok();
            assert_eq!(found, before != is_done, "{name}");
        }
    }
}

/// A client in minor version 2.
fn client(server: &std::sync::Arc<TestServer>, id: u64) -> Peer {
    let mut peer = Peer::stranger(server, id, 0).speaking(2);
    let exchanged = peer.exchange_id(&format!("client {id}"), 1).unwrap();
    peer.client = exchanged.client;
    peer.create_session(exchanged.sequence).unwrap();
    assert_eq!(peer.reclaim_complete(), Status::Ok);
    peer
}

fn root(peer: &mut Peer) -> FileHandle {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    results.body::<GetFhResult>(Operation::GetFh).object
}
