//! Directory delegations and their recall (RFC 8881 §10.9, §18.39).

use futures_util::FutureExt;
use proto::nfs4::attributes::{AttributeValues, Bitmap};
use proto::nfs4::*;

use crate::peer::{Peer, TestServer, open};

fn ask() -> GetDirDelegationArgs {
    let none = Time { seconds: 0, nanoseconds: 0 };
    GetDirDelegationArgs {
        signal_available: true,
        notification_types: Bitmap::from_word(0b111),
        child_attribute_delay: none,
        directory_attribute_delay: none,
        child_attributes: Bitmap::EMPTY,
        directory_attributes: Bitmap::EMPTY,
    }
}

/// Asks for a delegation of the root.
fn root_delegation(peer: &mut Peer) -> GetDirDelegationResult {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::GetDirDelegation, &ask());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    results.body(Operation::GetDirDelegation)
}

pub(crate) fn delegated_root(peer: &mut Peer) -> StateId {
    match root_delegation(peer) {
        GetDirDelegationResult::Ok(granted) => {
            assert_eq!(granted.notification_types, Bitmap::EMPTY, "changes recall instead");
            granted.state_id
        }
        other => panic!("{other:?}"),
    }
}

fn return_root(peer: &mut Peer, state_id: StateId) -> Status {
    let results = peer.compound(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::DelegReturn, &DelegReturnArgs { state_id });
    });
    results.status
}

#[test]
fn a_directory_is_delegated_once_to_each_client_that_reads_it() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let delegation = delegated_root(&mut a);
    let other = delegated_root(&mut b);
    assert_eq!(root_delegation(&mut a), GetDirDelegationResult::Unavailable(false), "it has it already");
    assert_eq!(return_root(&mut a, delegation), Status::Ok);
    assert_eq!(return_root(&mut a, delegation), Status::BadStateId);
    delegated_root(&mut a);
    assert_eq!(return_root(&mut b, other), Status::Ok);
    let (file, _) = a.create("f");
    assert_eq!(a.on(&file, Operation::GetDirDelegation, &ask()).status, Status::NotDirectory);
}

#[test]
fn directory_delegation_needs_read_permission() {
    let server = TestServer::new();
    let mut a = Peer::new(&server, 1);
    let kind = CreateType::Directory;
    let values = AttributeValues { mode: Some(0o700), ..Default::default() };
    let mut made = a
        .compound(|c| {
            c.push(Operation::PutRootFh, &())
                .push(Operation::Create, &(CreateArgs { kind, name: "d".into() }, values))
                .push(Operation::GetFh, &());
        })
        .sequenced();
    made.ok(Operation::PutRootFh);
    made.body::<CreateResult>(Operation::Create);
    let directory = made.body::<GetFhResult>(Operation::GetFh).object;
    let mut b = Peer::with_uid(&server, 2, 1000);
    assert_eq!(b.on(&directory, Operation::GetDirDelegation, &ask()).status, Status::AccessDenied);
}

#[test]
fn every_change_of_its_entries_by_others_recalls_it() {
    for what in ["create", "mkdir", "remove", "rename", "link", "setattr"] {
        let server = TestServer::new();
        let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
        let (file, state_id) = b.create("f");
        assert_eq!(b.close(&file, state_id), Status::Ok);
        let delegation = delegated_root(&mut a);
        let mut held = b.begin(|c| {
            c.push(Operation::PutRootFh, &());
            match what {
                "create" => {
                    let how = CreateHow::Unchecked(AttributeValues::default());
                    c.push(Operation::Open, &open("new", share::BOTH, Some(how)));
                }
                "mkdir" => {
                    let arguments = CreateArgs { kind: CreateType::Directory, name: "d".into() };
                    c.push(Operation::Create, &(arguments, AttributeValues::default()));
                }
                "remove" => {
                    c.push(Operation::Remove, &RemoveArgs { target: "f".into() });
                }
                "rename" => {
                    let arguments = RenameArgs { old_name: "f".into(), new_name: "g".into() };
                    c.push(Operation::SaveFh, &()).push(Operation::Rename, &arguments);
                }
                "link" => {
                    c.push(Operation::PutFh, &PutFhArgs { object: file.clone() })
                        .push(Operation::SaveFh, &())
                        .push(Operation::PutRootFh, &())
                        .push(Operation::Link, &LinkArgs { new_name: "g".into() });
                }
                _ => {
                    let values = AttributeValues { mode: Some(0o755), ..Default::default() };
                    c.push(Operation::SetAttr, &(SetAttrArgs { state_id: StateId::ANONYMOUS }, values));
                }
            }
        });
        assert!((&mut held).now_or_never().is_none(), "{what}");
        server.world.run();
        assert_eq!(*a.callbacks.recalled.lock(), [delegation], "{what}");
        assert_eq!(return_root(&mut a, delegation), Status::Ok);
        assert_eq!(held.now_or_never().expect("answered").status, Status::Ok, "{what}");
    }
}

#[test]
fn changes_of_ones_own_and_of_files_below_do_not_recall_it() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, state_id) = b.create("f");
    delegated_root(&mut a);
    a.create("g");
    let write = WriteArgs { state_id, offset: 0, stable: StableHow::FileSync, data: "x".into() };
    assert_eq!(b.on(&file, Operation::Write, &write).status, Status::Ok);
    let how = CreateHow::Unchecked(AttributeValues::default());
    let exists = b.compound(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::BOTH, Some(how)));
    });
    assert_eq!(exists.status, Status::Ok, "the file is there already");
    server.world.run();
    assert!(a.callbacks.recalled.lock().is_empty());
}
