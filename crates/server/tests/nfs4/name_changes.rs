//! The recalls for which REMOVE, RENAME and LINK wait, and their refusals without waiting (RFC 8881 §18.9,
//! §18.25, §18.26).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use proto::nfs3;
use proto::nfs4::*;

use crate::errors::scene::named;
use crate::peer::{Peer, TestServer, open};

fn rename_args(old: &'static str, new: &'static str) -> RenameArgs {
    RenameArgs { old_name: old.into(), new_name: new.into() }
}

/// Begins one operation in the root.
fn begin<A: xdr::Encode>(c: &mut CompoundBuilder<'_>, operation: Operation, arguments: &A) {
    c.push(Operation::PutRootFh, &()).push(Operation::SaveFh, &()).push(operation, arguments);
}

fn rename(peer: &mut Peer, old: &'static str, new: &'static str) -> Status {
    peer.compound(|c| begin(c, Operation::Rename, &rename_args(old, new))).status
}

fn rename_nfs3(peer: &Peer, old: &'static str, new: &'static str) -> Result<(), nfs3::Status> {
    let root = root(peer);
    let place = |name: &'static str| nfs3::DirOpArgs { dir: root, name: name.into() };
    peer.try_nfs3(&nfs3::RenameArgs { from: place(old), to: place(new) }).map(drop)
}

fn root(peer: &Peer) -> nfs3::FileHandle {
    use proto::mount3::{DirPath, MntReply, PROGRAM, Procedure, VERSION};
    let reply = peer.call((PROGRAM, VERSION, Procedure::Mnt.number()), &DirPath(Bytes::new())).unwrap();
    match xdr::from_bytes(reply).unwrap() {
        MntReply::Ok(ok) => ok.handle,
        MntReply::Err(status) => panic!("{status:?}"),
    }
}

/// Makes these files. No client has them open.
fn make(peer: &mut Peer, names: &[&str]) -> Vec<FileHandle> {
    let make_one = |name: &&str| {
        let (file, state_id) = peer.create(name);
        assert_eq!(peer.close(&file, state_id), Status::Ok);
        file
    };
    names.iter().map(make_one).collect()
}

/// The read delegation of a file.
fn delegated(peer: &mut Peer, name: &str) -> StateId {
    let arguments = open(name, share::READ | share::WANT_READ_DELEGATION, None);
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments);
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    match results.body::<OpenResult>(Operation::Open).delegation {
        OpenDelegation::Read(delegation) => delegation.state_id,
        other => panic!("{other:?}"),
    }
}

/// An open that denies writing.
fn denied(peer: &mut Peer, name: &str) {
    let access = share::READ | share::WANT_NO_DELEGATION;
    let arguments = OpenArgs { share_deny: share::WRITE, ..open(name, access, None) };
    let opened = peer.compound(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments);
    });
    assert_eq!(opened.status, Status::Ok);
}

fn give_back(peer: &mut Peer, file: &FileHandle, state_id: StateId) {
    let back = DelegReturnArgs { state_id };
    assert_eq!(peer.on(file, Operation::DelegReturn, &back).status, Status::Ok);
}

/// A server and two of its clients.
fn two() -> (Arc<TestServer>, Peer, Peer) {
    let server = TestServer::new();
    let (a, b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    (server, a, b)
}

#[test]
fn a_denial_of_writing_keeps_both_names_of_one_file() {
    let (_, mut a, mut b) = two();
    let [file] = &make(&mut a, &["f"])[..] else { panic!() };
    let linked = a.compound(|c| {
        c.push(Operation::PutFh, &PutFhArgs { object: file.clone() })
            .push(Operation::SaveFh, &())
            .push(Operation::PutRootFh, &())
            .push(Operation::Link, &LinkArgs { new_name: "g".into() });
    });
    assert_eq!(linked.status, Status::Ok);
    assert_eq!(rename(&mut b, "f", "g"), Status::Ok, "nobody denies anything");
    denied(&mut a, "f");
    for (old, new) in [("f", "g"), ("g", "f"), ("f", "f")] {
        assert_eq!(rename(&mut b, old, new), Status::FileOpen);
        assert_eq!(rename_nfs3(&b, old, new), Err(nfs3::Status::AccessDenied));
    }
    assert_eq!(named(&mut b, "f"), named(&mut b, "g"), "both are there");
    assert_eq!(rename(&mut b, "f", "h"), Status::Ok, "a new name takes none away");
}

#[test]
fn rename_of_a_missing_source_asks_nobody() {
    let (server, mut a, mut b) = two();
    make(&mut a, &["delegated", "denied"]);
    delegated(&mut a, "delegated");
    denied(&mut a, "denied");
    for target in ["delegated", "denied"] {
        assert_eq!(rename(&mut b, "missing", target), Status::NoEntry, "{target}");
        assert_eq!(rename_nfs3(&b, "missing", target), Err(nfs3::Status::NoEntry), "{target}");
    }
    server.world.run();
    assert!(a.callbacks.recalled.lock().is_empty());
}

#[test]
fn a_denial_is_found_before_a_delegation_is_recalled() {
    let (server, mut a, mut b) = two();
    make(&mut a, &["source", "target"]);
    delegated(&mut a, "source");
    denied(&mut a, "target");
    assert_eq!(rename(&mut b, "source", "target"), Status::FileOpen);
    assert_eq!(rename_nfs3(&b, "source", "target"), Err(nfs3::Status::AccessDenied));
    server.world.run();
    assert!(a.callbacks.recalled.lock().is_empty());
}

#[test]
fn rename_recalls_all_delegations_at_once_and_waits_once() {
    let (server, mut a, mut b) = two();
    let files = make(&mut a, &["source", "target"]);
    let (source, target) = (delegated(&mut a, "source"), delegated(&mut a, "target"));
    let mut held = b.begin(|c| begin(c, Operation::Rename, &rename_args("source", "target")));
    assert!((&mut held).now_or_never().is_none());
    server.world.run();
    assert_eq!(*a.callbacks.recalled.lock(), [source, target]);
    give_back(&mut a, &files[0], source);
    assert!((&mut held).now_or_never().is_none());
    assert_eq!(server.world.slept(), [Duration::from_secs(4)], "one wait for both");
    give_back(&mut a, &files[1], target);
    assert_eq!(held.now_or_never().unwrap().status, Status::Ok);
}

#[test]
fn the_wait_for_a_name_is_part_of_the_wait_for_delegations() {
    let (server, mut a, mut b) = two();
    let mut c = Peer::new(&server, 3);
    let files = make(&mut a, &["f", "g"]);
    let (f, g) = (delegated(&mut a, "f"), delegated(&mut a, "g"));
    let mut first = b.begin(|c| begin(c, Operation::Rename, &rename_args("f", "taken")));
    assert!((&mut first).now_or_never().is_none());
    let mut second = c.begin(|c| begin(c, Operation::Rename, &rename_args("g", "taken")));
    assert!((&mut second).now_or_never().is_none(), "the name is the first one's");
    server.world.run();
    assert_eq!(*a.callbacks.recalled.lock(), [f]);
    server.world.advance(3000);
    give_back(&mut a, &files[0], f);
    assert_eq!(first.now_or_never().unwrap().status, Status::Ok);
    assert!((&mut second).now_or_never().is_none());
    server.world.run();
    assert_eq!(*a.callbacks.recalled.lock(), [f, g]);
    assert_eq!(server.world.slept(), [4, 4, 1].map(Duration::from_secs));
    give_back(&mut a, &files[1], g);
    assert_eq!(second.now_or_never().unwrap().status, Status::Ok);
}

#[test]
fn a_file_without_a_name_gets_no_new_one() {
    let directory = tempfile::tempdir().unwrap();
    for server in [TestServer::new(), TestServer::local(directory.path())] {
        let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
        let (file, state_id) = a.create("f");
        let removed = b.compound(|c| begin(c, Operation::Remove, &RemoveArgs { target: "f".into() }));
        assert_eq!(removed.status, Status::Ok);
        let linked = a.compound(|c| {
            c.push(Operation::PutFh, &PutFhArgs { object: file.clone() })
                .push(Operation::SaveFh, &())
                .push(Operation::PutRootFh, &())
                .push(Operation::Link, &LinkArgs { new_name: "g".into() });
        });
        assert_eq!(linked.status, Status::Stale);
        a.write(&file, state_id, 0, b"still open");
        assert_eq!(a.close(&file, state_id), Status::Ok);
    }
}
