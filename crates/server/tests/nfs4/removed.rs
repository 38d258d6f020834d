//! Files that are removed while somebody has them open (RFC 8881 §18.25.4).

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it tests real files")]

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use proto::nfs3;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap};
use proto::nfs4::*;
use testkit::runtime::SleepEnd;

use crate::peer::{Peer, TestServer, open};
use crate::store::Machine;

/// Runs one operation in the root.
fn in_root(peer: &mut Peer, operation: Operation, arguments: &impl xdr::Encode) -> Status {
    let results = peer.compound(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::SaveFh, &()).push(operation, arguments);
    });
    results.status
}

fn remove(peer: &mut Peer, name: &str) -> Status {
    in_root(peer, Operation::Remove, &RemoveArgs { target: Bytes::copy_from_slice(name.as_bytes()) })
}

fn rename(peer: &mut Peer, old: &'static str, new: &'static str) -> Status {
    in_root(peer, Operation::Rename, &RenameArgs { old_name: old.into(), new_name: new.into() })
}

fn opened(peer: &mut Peer, arguments: &OpenArgs) -> OpenResult {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, arguments);
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    results.body(Operation::Open)
}

fn write(peer: &mut Peer, file: &FileHandle, state_id: StateId, offset: u64, data: &'static str) -> Status {
    let write = WriteArgs { state_id, offset, stable: StableHow::FileSync, data: data.into() };
    peer.on(file, Operation::Write, &write).status
}

fn read(peer: &mut Peer, file: &FileHandle, state_id: StateId) -> Bytes {
    let read = ReadArgs { state_id, offset: 0, count: 100 };
    peer.on(file, Operation::Read, &read).body::<ReadResult>(Operation::Read).data
}

fn links_and_size(peer: &mut Peer, file: &FileHandle) -> (u32, u64) {
    let wanted = GetAttrArgs { wanted: Bitmap::of(&[AttributeId::NumLinks, AttributeId::Size]) };
    let found: AttributeValues = peer.on(file, Operation::GetAttr, &wanted).body(Operation::GetAttr);
    (found.num_links.unwrap(), found.size.unwrap())
}

fn put(peer: &mut Peer, file: &FileHandle) -> Status {
    let results = peer.compound(|c| {
        c.push(Operation::PutFh, &PutFhArgs { object: file.clone() });
    });
    results.status
}

/// What the holder of an open does with a file that another client has removed.
fn use_and_close(a: &mut Peer, b: &mut Peer, file: &FileHandle, state_id: StateId) {
    assert_eq!(write(a, file, state_id, 6, " and after"), Status::Ok);
    assert_eq!(read(a, file, state_id), "before and after");
    assert_eq!(links_and_size(a, file), (0, 16));
    assert_eq!(links_and_size(b, file), (0, 16), "for everybody who has the handle");
    let size = AttributeValues { size: Some(6), ..AttributeValues::default() };
    assert_eq!(a.on(file, Operation::SetAttr, &(SetAttrArgs { state_id }, size)).status, Status::Ok);
    assert_eq!(read(a, file, state_id), "before");
    let commit = CommitArgs { offset: 0, count: 0 };
    assert_eq!(a.on(file, Operation::Commit, &commit).status, Status::Ok);
    let owner = StateOwner { client: ClientId(0), owner: Bytes::from_static(b"lock owner") };
    let locker =
        Locker::New(NewLockOwner { open_sequence: 0, open_state_id: state_id, lock_sequence: 0, owner });
    let lock = LockArgs { kind: LockType::Write, reclaim: false, offset: 0, length: 1, locker };
    let locked: LockResult = a.on(file, Operation::Lock, &lock).body(Operation::Lock);
    let (sequence, offset, length) = (0, 0, 1);
    let unlock = LockUArgs { kind: LockType::Write, sequence, state_id: locked.state_id, offset, length };
    assert_eq!(a.on(file, Operation::LockU, &unlock).status, Status::Ok);
    let link = LinkArgs { new_name: "back".into() };
    let linked = a.compound(|c| {
        c.push(Operation::PutFh, &PutFhArgs { object: file.clone() })
            .push(Operation::SaveFh, &())
            .push(Operation::PutRootFh, &())
            .push(Operation::Link, &link);
    });
    assert_eq!(linked.status, Status::Stale, "it does not come back");
    let by_handle = OpenArgs { claim: OpenClaim::Handle, ..open("", share::READ, None) };
    let second: OpenResult = b.on(file, Operation::Open, &by_handle).body(Operation::Open);
    assert_eq!(a.server.state.kept_files(), 1);
    assert_eq!(a.close(file, state_id), Status::Ok);
    assert_eq!(read(b, file, second.state_id), "before", "the other open keeps it");
    assert_eq!(put(a, file), Status::Ok);
    assert_eq!(b.close(file, second.state_id), Status::Ok);
    assert_eq!(a.server.state.kept_files(), 0);
    for peer in [a, b] {
        assert_eq!(put(peer, file), Status::Stale, "with the last open it is gone");
    }
}

fn root(peer: &mut Peer) -> nfs3::FileHandle {
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutRootFh);
    nfs3::FileHandle::new(&results.body::<GetFhResult>(Operation::GetFh).object.0).unwrap()
}

/// Everything that takes the last name of an open file away.
fn holder_keeps_a_file_that_any_client_removes(server: &Arc<TestServer>) {
    let (mut a, mut b) = (Peer::new(server, 1), Peer::new(server, 2));
    let dir = root(&mut b);
    let place = |name: &'static str| nfs3::DirOpArgs { dir, name: name.into() };
    type Remover<'a> = &'a dyn Fn(&mut Peer, &mut Peer);
    let removers: [Remover<'_>; 6] = [
        &|_, b| assert_eq!(remove(b, "f"), Status::Ok),
        &|a, _| assert_eq!(remove(a, "f"), Status::Ok),
        &|_, b| {
            let (over, state_id) = b.create("over");
            assert_eq!(b.close(&over, state_id), Status::Ok);
            assert_eq!(rename(b, "over", "f"), Status::Ok);
            assert_eq!(remove(b, "f"), Status::Ok);
        },
        &|_, b| {
            b.nfs3(&nfs3::RemoveArgs { object: place("f") });
        },
        &|_, b| {
            let how = nfs3::CreateHow::Guarded(nfs3::SetAttributes::default());
            b.nfs3(&nfs3::CreateArgs { place: place("over"), how });
            b.nfs3(&nfs3::RenameArgs { from: place("over"), to: place("f") });
            b.nfs3(&nfs3::RemoveArgs { object: place("f") });
        },
        &|_, b| {
            assert_eq!(rename(b, "f", "moved"), Status::Ok);
            assert_eq!(remove(b, "moved"), Status::Ok);
        },
    ];
    for (round, take_away) in removers.into_iter().enumerate() {
        let (file, state_id) = a.create("f");
        assert_eq!(write(&mut a, &file, state_id, 0, "before"), Status::Ok);
        assert_eq!(links_and_size(&mut a, &file), (1, 6), "round {round}");
        take_away(&mut a, &mut b);
        use_and_close(&mut a, &mut b, &file, state_id);
    }
}

#[test]
fn an_open_file_in_memory_outlives_its_name() {
    holder_keeps_a_file_that_any_client_removes(&TestServer::new());
}

#[test]
fn an_open_file_on_disk_outlives_its_name() {
    let directory = tempfile::tempdir().unwrap();
    holder_keeps_a_file_that_any_client_removes(&TestServer::local(directory.path()));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn removed_file_is_kept_only_while_open_and_without_another_name() {
    let server = TestServer::new();
    let mut a = Peer::new(&server, 1);
    let (file, state_id) = a.create("f");
    let linked = a.compound(|c| {
        c.push(Operation::PutFh, &PutFhArgs { object: file.clone() })
            .push(Operation::SaveFh, &())
            .push(Operation::PutRootFh, &())
            .push(Operation::Link, &LinkArgs { new_name: "g".into() });
    });
    assert_eq!(linked.status, Status::Ok);
    assert_eq!(remove(&mut a, "f"), Status::Ok);
    assert_eq!((server.state.kept_files(), links_and_size(&mut a, &file).0), (0, 1));
    assert_eq!(rename(&mut a, "g", "g"), Status::Ok);
    assert_eq!(server.state.kept_files(), 0);
    assert_eq!(a.close(&file, state_id), Status::Ok);
    assert_eq!(remove(&mut a, "g"), Status::Ok);
    assert_eq!((server.state.kept_files(), put(&mut a, &file)), (0, Status::Stale));
}

#[test]
fn a_refused_removal_keeps_nothing() {
    let server = TestServer::new();
    let mut a = Peer::new(&server, 1);
    let (file, state_id) = a.create("f");
    let mut other = Peer::with_uid(&server, 2, 7);
    let sticky = AttributeValues { mode: Some(0o1777), ..AttributeValues::default() };
    let anonymous = SetAttrArgs { state_id: StateId::ANONYMOUS };
    assert_eq!(in_root(&mut a, Operation::SetAttr, &(anonymous, sticky)), Status::Ok);
    assert_eq!(remove(&mut other, "f"), Status::AccessDenied);
    assert_eq!((server.state.kept_files(), links_and_size(&mut a, &file).0), (0, 1));
    assert_eq!(a.close(&file, state_id), Status::Ok);
    assert_eq!(put(&mut a, &file), Status::Ok);
}

#[test]
fn the_name_of_a_file_stays_while_somebody_denies_that_it_is_written() {
    // RFC 8881 §18.25.4.
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    for name in ["f", "over"] {
        let (file, state_id) = a.create(name);
        assert_eq!(a.close(&file, state_id), Status::Ok);
    }
    let access = share::READ | share::WANT_NO_DELEGATION;
    let denying = OpenArgs { share_deny: share::WRITE, ..open("f", access, None) };
    let state_id = opened(&mut a, &denying).state_id;
    let dir = root(&mut b);
    let place = |name: &'static str| nfs3::DirOpArgs { dir, name: name.into() };
    for peer in [&mut a, &mut b] {
        assert_eq!(remove(peer, "f"), Status::FileOpen);
        assert_eq!(rename(peer, "over", "f"), Status::FileOpen);
        assert_eq!(rename(peer, "f", "f"), Status::FileOpen, "RFC 8881 §18.26.4");
        let refused = peer.try_nfs3(&nfs3::RemoveArgs { object: place("f") });
        assert_eq!(refused.unwrap_err(), nfs3::Status::AccessDenied);
        let refused = peer.try_nfs3(&nfs3::RenameArgs { from: place("over"), to: place("f") });
        assert_eq!(refused.unwrap_err(), nfs3::Status::AccessDenied);
        assert_eq!(rename(peer, "f", "moved"), Status::Ok, "it keeps a name");
        assert_eq!(rename(peer, "moved", "f"), Status::Ok);
    }
    let file = b.nfs3(&nfs3::LookupArgs { what: place("f") }).object;
    let file = FileHandle(Bytes::copy_from_slice(file.as_bytes()));
    assert_eq!(a.close(&file, state_id), Status::Ok);
    assert_eq!(rename(&mut b, "over", "f"), Status::Ok);
    assert_eq!(remove(&mut b, "f"), Status::Ok);
}

#[test]
fn a_delegation_keeps_a_file_that_its_holder_removes() {
    let server = TestServer::new();
    let mut a = Peer::new(&server, 1);
    let (file, state_id) = a.create("f");
    assert_eq!(write(&mut a, &file, state_id, 0, "before"), Status::Ok);
    assert_eq!(a.close(&file, state_id), Status::Ok);
    let reader = opened(&mut a, &open("f", share::READ | share::WANT_ANY_DELEGATION, None));
    let OpenDelegation::Read(delegation) = reader.delegation else { panic!("{:?}", reader.delegation) };
    assert_eq!(a.close(&file, reader.state_id), Status::Ok);
    assert_eq!(remove(&mut a, "f"), Status::Ok);
    assert!(a.callbacks.recalled.lock().is_empty(), "one's own delegation stays");
    assert_eq!(read(&mut a, &file, delegation.state_id), "before");
    let back = DelegReturnArgs { state_id: delegation.state_id };
    assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
    assert_eq!((server.state.kept_files(), put(&mut a, &file)), (0, Status::Stale));
}

#[test]
fn a_client_that_is_expelled_lets_go_of_what_it_kept() {
    let server = TestServer::new();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    let (file, _) = a.create("f");
    assert_eq!(remove(&mut b, "f"), Status::Ok);
    assert_eq!(server.state.kept_files(), 1);
    let lease_ms = u64::from(server.state.limits().lease_seconds) * 1000;
    server.at(lease_ms + 1000);
    let mut c = Peer::new(&server, 3);
    assert_eq!(put(&mut c, &file), Status::Ok, "a silent client keeps its state");
    let day_ms = u64::from(server.state.limits().courtesy_seconds) * 1000;
    server.at(day_ms + 2 * lease_ms + 2000);
    assert_eq!(server.state.kept_files(), 0);
    let mut d = Peer::new(&server, 4);
    assert_eq!(put(&mut d, &file), Status::Stale);
}

#[test]
fn a_file_that_is_removed_while_its_open_waits_is_kept_too() {
    let server = TestServer::new();
    let (mut a, mut b, mut c) = (Peer::new(&server, 1), Peer::new(&server, 2), Peer::new(&server, 3));
    let (file, state_id) = a.create("f");
    assert_eq!(a.close(&file, state_id), Status::Ok);
    let reader = opened(&mut b, &open("f", share::READ | share::WANT_ANY_DELEGATION, None));
    let OpenDelegation::Read(delegation) = reader.delegation else { panic!("{:?}", reader.delegation) };
    assert_eq!(b.close(&file, reader.state_id), Status::Ok);
    let mut opening = a.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::BOTH, None));
    });
    let mut removing = c.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Remove, &RemoveArgs { target: "f".into() });
    });
    for held in [&mut opening, &mut removing] {
        assert!(held.now_or_never().is_none(), "the delegation is in the way");
    }
    let back = DelegReturnArgs { state_id: delegation.state_id };
    assert_eq!(b.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
    let removed = removing.now_or_never().expect("nothing is in the way");
    assert_eq!((removed.status, server.state.kept_files()), (Status::Ok, 0), "nobody has it open yet");
    let mut opened = opening.now_or_never().expect("nothing is in the way").sequenced();
    opened.ok(Operation::PutRootFh);
    let state_id = opened.body::<OpenResult>(Operation::Open).state_id;
    assert_eq!(write(&mut a, &file, state_id, 0, "before"), Status::Ok);
    use_and_close(&mut a, &mut b, &file, state_id);
}

#[test]
fn file_created_during_a_waiting_remove_stays() {
    let server = TestServer::new();
    let [mut a, mut b, mut c] = [1, 2, 3].map(|id| Peer::new(&server, id));
    let (old, state_id) = a.create("f");
    assert_eq!(a.close(&old, state_id), Status::Ok);
    let (new, in_use) = c.create("g");
    assert_eq!(write(&mut c, &new, in_use, 0, "before"), Status::Ok);
    let reader = opened(&mut a, &open("f", share::READ | share::WANT_ANY_DELEGATION, None));
    let OpenDelegation::Read(delegation) = reader.delegation else { panic!("{:?}", reader.delegation) };
    assert_eq!(a.close(&old, reader.state_id), Status::Ok);
    let mut d = Peer::new(&server, 4);
    let mut removing = d.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Remove, &RemoveArgs { target: "f".into() });
    });
    assert!((&mut removing).now_or_never().is_none(), "the delegation is in the way");
    server.world.set_sleep_end(SleepEnd::AtOnce);
    assert_eq!(rename(&mut b, "g", "f"), Status::Delay, "it is not waited for without end");
    server.world.set_sleep_end(SleepEnd::Never);
    let asked = RenameArgs { old_name: "g".into(), new_name: "f".into() };
    let mut renaming = b.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::SaveFh, &()).push(Operation::Rename, &asked);
    });
    assert!((&mut renaming).now_or_never().is_none());
    let back = DelegReturnArgs { state_id: delegation.state_id };
    assert_eq!(a.on(&old, Operation::DelegReturn, &back).status, Status::Ok);
    assert!((&mut renaming).now_or_never().is_none(), "the removal was first");
    assert_eq!(removing.now_or_never().expect("nothing is in the way").status, Status::Ok);
    assert_eq!(renaming.now_or_never().expect("nothing is in the way").status, Status::Ok);
    assert_eq!(links_and_size(&mut c, &new), (1, 6), "what is called f now is in use");
    assert_eq!(read(&mut c, &new, in_use), "before");
}

#[test]
fn after_a_restart_a_removed_file_is_gone_and_its_open_is_not_reclaimed() {
    let mut machine = Machine::new();
    let server = machine.start();
    let mut peer = Peer::new(&server, 1);
    let (file, _) = peer.create("f");
    assert_eq!(remove(&mut peer, "f"), Status::Ok);
    assert_eq!(put(&mut peer, &file), Status::Ok);
    drop((server, peer));
    let server = machine.start();
    let mut again = Peer::stranger(&server, 1, 0);
    let exchanged = again.exchange_id("client 1", 1).unwrap();
    again.client = exchanged.client;
    again.create_session(exchanged.sequence).unwrap();
    let claim = OpenClaim::Previous(DelegationType::None);
    let reclaim = OpenArgs { claim, ..open("", share::BOTH, None) };
    let reclaimed = again.compound(|c| {
        c.push(Operation::PutFh, &PutFhArgs { object: file.clone() }).push(Operation::Open, &reclaim);
    });
    assert_eq!((reclaimed.status, reclaimed.count), (Status::Stale, 2), "SEQUENCE and PUTFH");
    assert_eq!(again.reclaim_complete(), Status::Ok);
}
