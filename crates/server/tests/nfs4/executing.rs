//! Reading a file that the caller may execute but not read (RFC 1813 §4.4, RFC 8881 §6.2.1.3.1).

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it tests real files")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;

use bytes::Bytes;
use proto::nfs3;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;

use crate::errors::arguments::lock;
use crate::peer::{Peer, TestServer, open};

const USER: u32 = 1000;

/// A file of user 0 with this mode and the content `content`.
fn file(server: &Arc<TestServer>, mode: u32) -> FileHandle {
    let mut owner = Peer::new(server, 1);
    let (file, state_id) = owner.create("f");
    owner.write(&file, state_id, 0, b"content");
    let attributes = AttributeValues { mode: Some(mode), ..Default::default() };
    let set = SetAttrArgs { state_id };
    let done = owner.compound(|c| {
        c.push(Operation::PutFh, &PutFhArgs { object: file.clone() })
            .push(Operation::SetAttr, &(set, attributes));
    });
    assert_eq!(done.status, Status::Ok);
    assert_eq!(owner.close(&file, state_id), Status::Ok);
    file
}

fn open_as(peer: &mut Peer, access: u32) -> Result<OpenResult, Status> {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", access, None));
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    match results.status {
        Status::Ok => Ok(results.body(Operation::Open)),
        status => Err(status),
    }
}

fn read_status(peer: &mut Peer, file: &FileHandle, state_id: StateId) -> Status {
    peer.on(file, Operation::Read, &ReadArgs { state_id, offset: 0, count: 100 }).status
}

fn read_nfs3(peer: &Peer, file: &FileHandle) -> Result<Bytes, nfs3::Status> {
    let file = nfs3::FileHandle::new(&file.0).unwrap();
    peer.try_nfs3(&nfs3::ReadArgs { file, offset: 0, count: 100 }).map(|ok| ok.data)
}

#[test]
fn execute_permission_lets_every_stateid_read() {
    let server = TestServer::new();
    let file = file(&server, 0o711);
    let mut user = Peer::with_uid(&server, 2, USER);
    let opened = open_as(&mut user, share::READ | share::WANT_READ_DELEGATION).unwrap();
    let OpenDelegation::Read(delegation) = &opened.delegation else { panic!("{:?}", opened.delegation) };
    let range = LockArgs { kind: LockType::Read, ..lock(opened.state_id, "lock owner", 0, 1) };
    let locked: LockResult = user.on(&file, Operation::Lock, &range).body(Operation::Lock);
    for state_id in
        [StateId::ANONYMOUS, StateId::READ_BYPASS, opened.state_id, delegation.state_id, locked.state_id]
    {
        assert_eq!(user.read(&file, state_id, 0, 100), "content", "{state_id:?}");
    }
    assert_eq!(read_nfs3(&user, &file).unwrap(), "content");
}

#[test]
fn execute_permission_opens_for_reading_alone() {
    let server = TestServer::new();
    file(&server, 0o733);
    let mut user = Peer::with_uid(&server, 2, USER);
    assert!(open_as(&mut user, share::READ).is_ok());
    assert!(open_as(&mut user, share::WRITE).is_ok());
    assert_eq!(open_as(&mut user, share::BOTH).unwrap_err(), Status::AccessDenied);
}

#[test]
fn without_execute_permission_reading_is_refused() {
    let server = TestServer::new();
    // The class that the caller is in decides, and write permission is not permission to read.
    let file = file(&server, 0o772);
    let mut user = Peer::with_uid(&server, 2, USER);
    assert_eq!(open_as(&mut user, share::READ).unwrap_err(), Status::AccessDenied);
    assert_eq!(read_status(&mut user, &file, StateId::ANONYMOUS), Status::AccessDenied);
    assert_eq!(read_nfs3(&user, &file).unwrap_err(), nfs3::Status::AccessDenied);
}

#[test]
fn kernel_permissions_let_the_executing_caller_read() {
    let directory = tempfile::tempdir().unwrap();
    if fs::metadata(directory.path()).unwrap().uid() != 0 {
        eprintln!("skipped: it needs root");
        return;
    }
    let (path, secret) = (directory.path().join("f"), directory.path().join("secret"));
    for (path, mode) in [(&path, 0o711), (&secret, 0o600)] {
        fs::write(path, "content").unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    let server = TestServer::local(directory.path());
    let mut user = Peer::with_uid(&server, 2, USER);
    let opened = open_as(&mut user, share::READ).unwrap();
    let [file, secret] = ["f", "secret"].map(|name| crate::errors::scene::named(&mut user, name));
    assert_eq!(user.read(&file, opened.state_id, 0, 100), "content");
    assert_eq!(user.read(&file, StateId::ANONYMOUS, 0, 100), "content");
    assert_eq!(read_nfs3(&user, &file).unwrap(), "content");
    assert_eq!(read_status(&mut user, &secret, StateId::ANONYMOUS), Status::AccessDenied);
}
