//! Write delegations among the users of one client: none may have the server check another one's
//! permissions (RFC 8881 §10.4).

use std::sync::Arc;

use futures_util::FutureExt;
use proto::nfs4::attributes::AttributeValues;
use proto::nfs4::*;

use crate::peer::{Peer, Results, TestServer, open};

const ANN: u32 = 1000;
const BOB: u32 = 1001;

/// Creates a file of this mode, or opens it, for writing; its handle and write delegation.
fn open_file(peer: &mut Peer, name: &str, mode: u32) -> (FileHandle, Option<StateId>) {
    let how = CreateHow::Unchecked(AttributeValues { mode: Some(mode), ..Default::default() });
    let arguments = open(name, share::BOTH | share::WANT_WRITE_DELEGATION, Some(how));
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments).push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    let delegation = match results.body::<OpenResult>(Operation::Open).delegation {
        OpenDelegation::Write(granted) => Some(granted.state_id),
        _ => None,
    };
    (results.body::<GetFhResult>(Operation::GetFh).object, delegation)
}

fn is_delegated(peer: &mut Peer, name: &str, mode: u32) -> bool {
    open_file(peer, name, mode).1.is_some()
}

/// Another user goes on with the client's session and slot.
fn as_user(peer: &Peer, uid: u32) -> Peer {
    let mut other = peer.going_on(uid);
    other.sequence_from(peer);
    other
}

fn access(peer: &mut Peer, file: &FileHandle) -> u32 {
    let wanted = AccessArgs { access: vfs::Access::READ.0 | vfs::Access::MODIFY.0 };
    peer.on(file, Operation::Access, &wanted).body::<AccessResult>(Operation::Access).access
}

/// An operation of another user of the same client, in a slot of its own.
fn begin_beside(
    other: &Peer,
    build: impl FnOnce(&mut CompoundBuilder<'_>),
) -> futures_util::future::BoxFuture<'static, Results> {
    let sequence = SequenceArgs { slot: SlotId(2), highest_slot: SlotId(2), ..other.sequence_args(1, false) };
    other.begin_kept(&sequence, build)
}

fn server() -> Arc<TestServer> {
    TestServer::new()
}

#[test]
fn the_only_user_of_a_client_is_delegated_what_it_writes() {
    let mut ann = Peer::with_uid(&server(), 1, ANN);
    assert!(is_delegated(&mut ann, "own", 0o600));
    // Root may write everything, and is not counted as a user.
    let mut root = as_user(&ann, 0);
    assert!(is_delegated(&mut root, "for all", 0o666));
    assert!(!is_delegated(&mut root, "of root", 0o644), "the user may not write it");
    ann.sequence_from(&root);
    assert!(is_delegated(&mut ann, "another", 0o600));
}

#[test]
fn a_client_of_several_users_is_delegated_what_everybody_may_write() {
    let server = server();
    let mut ann = Peer::with_uid(&server, 1, ANN);
    let mut bob = as_user(&ann, BOB);
    // ACCESS to a directory, as at a mount, does not count its caller as a user.
    let looked = bob.compound(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Access, &AccessArgs { access: 0x3f });
    });
    assert_eq!(looked.status, Status::Ok);
    ann.sequence_from(&bob);
    assert!(is_delegated(&mut ann, "one user", 0o600));
    bob.sequence_from(&ann);
    assert!(is_delegated(&mut bob, "for all", 0o666));
    assert!(!is_delegated(&mut bob, "own", 0o644));
    ann.sequence_from(&bob);
    for (name, mode, delegated) in [("own too", 0o664, false), ("other for all", 0o666, true)] {
        assert_eq!(is_delegated(&mut ann, name, mode), delegated, "{name}");
    }
    let mut other_client = Peer::with_uid(&server, 2, ANN);
    assert!(is_delegated(&mut other_client, "elsewhere", 0o600), "each client has users of its own");
}

#[test]
fn a_user_who_may_not_write_waits_for_the_own_clients_delegation() {
    for operation in [Operation::Access, Operation::Open] {
        let server = server();
        let mut ann = Peer::with_uid(&server, 1, ANN);
        let (file, delegation) = open_file(&mut ann, "f", 0o644);
        let delegation = delegation.expect("delegated");
        let bob = ann.going_on(BOB);
        let mut held = begin_beside(&bob, |c| match operation {
            Operation::Access => {
                c.push(Operation::PutFh, &PutFhArgs { object: file.clone() })
                    .push(operation, &AccessArgs { access: vfs::Access::READ.0 });
            }
            _ => {
                let open = OpenArgs { claim: OpenClaim::Handle, ..open("", share::READ, None) };
                c.push(Operation::PutFh, &PutFhArgs { object: file.clone() }).push(operation, &open);
            }
        });
        assert!((&mut held).now_or_never().is_none(), "{operation}");
        server.world.run();
        assert_eq!(*ann.callbacks.recalled.lock(), [delegation], "{operation}");
        let back = DelegReturnArgs { state_id: delegation };
        assert_eq!(ann.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
        assert_eq!(held.now_or_never().expect("answered at once").status, Status::Ok);
        assert!(!is_delegated(&mut ann, "another", 0o644), "{operation}");
    }
}

#[test]
fn a_user_who_may_write_leaves_the_delegation() {
    let server = server();
    let mut ann = Peer::with_uid(&server, 1, ANN);
    let (file, delegation) = open_file(&mut ann, "f", 0o666);
    assert!(delegation.is_some());
    let mut bob = as_user(&ann, BOB);
    assert_eq!(access(&mut bob, &file), vfs::Access::READ.0 | vfs::Access::MODIFY.0);
    server.world.run();
    assert!(ann.callbacks.recalled.lock().is_empty());
}

#[test]
fn the_second_user_is_refused_what_its_own_credential_may_not_do() {
    let server = server();
    let mut ann = Peer::with_uid(&server, 1, ANN);
    let (file, delegation) = open_file(&mut ann, "f", 0o4755);
    let delegation = delegation.expect("delegated");
    let mut bob = as_user(&ann, BOB);
    let cut = (
        SetAttrArgs { state_id: StateId::ANONYMOUS },
        AttributeValues { size: Some(0), ..AttributeValues::default() },
    );
    assert_eq!(bob.on(&file, Operation::SetAttr, &cut).status, Status::AccessDenied);
    ann.sequence_from(&bob);
    let write = WriteArgs { state_id: delegation, offset: 0, stable: StableHow::FileSync, data: "x".into() };
    assert_eq!(ann.on(&file, Operation::Write, &write).status, Status::Ok);
    let mode = ann.attributes(&file, &[attributes::AttributeId::Mode]).mode;
    assert_eq!(mode, Some(0o755), "set-id bits go with a write under a delegation");
}
