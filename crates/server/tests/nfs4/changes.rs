//! The change attribute, and what operations on directories say of it (RFC 8881 §3.3.6, §5.8.1.4).

use std::collections::HashSet;

use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::*;
use xdr::Decode;

use crate::peer::{Peer, TestServer, open};

fn root(peer: &mut Peer) -> FileHandle {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    results.body::<GetFhResult>(Operation::GetFh).object
}

fn change(peer: &mut Peer, object: &FileHandle) -> u64 {
    let wanted = GetAttrArgs { wanted: Bitmap::of(&[AttributeId::Change]) };
    let found: AttributeValues = peer.on(object, Operation::GetAttr, &wanted).body(Operation::GetAttr);
    found.change.unwrap()
}

/// Runs one operation on the directory, with itself as the saved one, and checks the values it gives.
fn changing<T: Decode>(
    peer: &mut Peer,
    directory: &FileHandle,
    operation: Operation,
    arguments: &impl xdr::Encode,
    of: impl FnOnce(T) -> ChangeInfo,
) -> u64 {
    let before = change(peer, directory);
    let put = PutFhArgs { object: directory.clone() };
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutFh, &put)
                .push(Operation::SaveFh, &())
                .push(Operation::PutFh, &put)
                .push(operation, arguments);
        })
        .sequenced();
    for skipped in [Operation::PutFh, Operation::SaveFh, Operation::PutFh] {
        results.ok(skipped);
    }
    let info = of(results.body(operation));
    assert_eq!(info.before, before);
    assert_ne!(info.after, before);
    assert_eq!(info.after, change(peer, directory));
    info.after
}

fn directories_tell_every_change(server: &std::sync::Arc<TestServer>) {
    let mut peer = Peer::new(server, 1);
    let directory = root(&mut peer);
    let mut seen = HashSet::from([change(&mut peer, &directory)]);
    for round in 0..100 {
        let make = CreateArgs { kind: CreateType::Directory, name: format!("d{round}").into() };
        let make = (make, AttributeValues::default());
        seen.insert(changing(&mut peer, &directory, Operation::Create, &make, |r: CreateResult| r.change));
        let (old_name, new_name) = (format!("d{round}").into(), "moved".into());
        let rename = RenameArgs { old_name, new_name };
        seen.insert(changing(&mut peer, &directory, Operation::Rename, &rename, |r: RenameResult| {
            assert_eq!(r.source, r.target, "it is one directory");
            r.target
        }));
        let remove = RemoveArgs { target: "moved".into() };
        seen.insert(changing(&mut peer, &directory, Operation::Remove, &remove, |r: RemoveResult| r.change));
    }
    assert_eq!(seen.len(), 301);
}

fn files_tell_every_write(server: &std::sync::Arc<TestServer>) {
    let mut peer = Peer::new(server, 2);
    let (file, state_id) = peer.create("file");
    let mut seen = HashSet::from([change(&mut peer, &file)]);
    for _ in 0..1000 {
        let write = WriteArgs { state_id, offset: 0, stable: StableHow::Unstable, data: "x".into() };
        assert_eq!(peer.on(&file, Operation::Write, &write).status, Status::Ok);
        seen.insert(change(&mut peer, &file));
    }
    assert_eq!(seen.len(), 1001);
    let read = ReadArgs { state_id, offset: 0, count: 1 };
    assert_eq!(peer.on(&file, Operation::Read, &read).status, Status::Ok);
    assert!(seen.contains(&change(&mut peer, &file)), "nothing was changed");
    let directory = root(&mut peer);
    let how = CreateHow::Guarded(AttributeValues::default());
    changing(
        &mut peer,
        &directory,
        Operation::Open,
        &open("new", share::BOTH, Some(how)),
        |r: OpenResult| r.change,
    );
}

#[test]
fn every_change_has_a_value_of_its_own_in_memory() {
    let server = TestServer::new();
    directories_tell_every_change(&server);
    files_tell_every_write(&server);
}

#[test]
fn every_change_has_a_value_of_its_own_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let server = TestServer::local(directory.path());
    directories_tell_every_change(&server);
    files_tell_every_write(&server);
}
