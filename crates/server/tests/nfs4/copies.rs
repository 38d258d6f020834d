//! COPY and CLONE (RFC 7862 §15.2, §15.13).

use std::sync::Arc;

use proto::nfs4::attributes::AttributeId;
use proto::nfs4::*;
use server::exports::{Export, ExportId, ExportOptions, ExportPath, Exports, Rule, Squash};
use state::{Limits, State};
use vfs::memory::{Memory, MemoryOptions};

use crate::peer::{Peer, Setup, TestServer, open, test_options};

/// A file and an open of it.
type Open = (FileHandle, StateId);

fn copy((_, source): &Open, (_, target): &Open, (from, to, count): (u64, u64, u64)) -> CopyArgs {
    CopyArgs {
        source_state_id: *source,
        target_state_id: *target,
        source_offset: from,
        target_offset: to,
        count,
        consecutive: true,
        synchronous: true,
        sources: vec![],
    }
}

fn clone((_, source): &Open, (_, target): &Open, (from, to, count): (u64, u64, u64)) -> CloneArgs {
    CloneArgs {
        source_state_id: *source,
        target_state_id: *target,
        source_offset: from,
        target_offset: to,
        count,
    }
}

/// Copies; what was copied.
fn copied(peer: &mut Peer, source: &Open, target: &Open, range: (u64, u64, u64)) -> Result<u64, Status> {
    let mut results = peer.between((&source.0, &target.0), Operation::Copy, &copy(source, target, range));
    if results.status != Status::Ok {
        return Err(results.status);
    }
    let result: CopyResult = results.body(Operation::Copy);
    assert_eq!(result.requirements, CopyRequirements { consecutive: true, synchronous: true });
    assert!(result.written.callback_id.is_empty());
    assert_eq!(result.written.committed, StableHow::Unstable);
    let mut committed = peer.on(&target.0, Operation::Commit, &CommitArgs { offset: 0, count: 0 });
    assert_eq!(committed.body::<CommitResult>(Operation::Commit).verifier, result.written.verifier);
    Ok(result.written.count)
}

fn two() -> (Peer, Open, Open) {
    // A large copy lets others go first now and then.
    let options = MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() };
    let setup = Setup { minor_version: 2, ..Setup::default() };
    let mut server = TestServer::over(Memory::new(options).unwrap(), setup);
    server.waits = true;
    let mut peer = Peer::new(&Arc::new(server), 1);
    let (source, target) = (peer.create("source"), peer.create("target"));
    peer.write(&source.0, source.1, 0, b"0123456789");
    peer.write(&target.0, target.1, 0, b"target");
    (peer, source, target)
}

#[test]
fn a_range_is_copied_and_the_source_ends_it() {
    let (mut peer, source, target) = two();
    assert_eq!(copied(&mut peer, &source, &target, (2, 4, 5)), Ok(5));
    assert_eq!(peer.read(&target.0, target.1, 0, 100)[..], *b"targ23456");
    assert_eq!(copied(&mut peer, &source, &target, (8, 0, 0)), Ok(2), "to the end");
    assert_eq!(copied(&mut peer, &source, &target, (10, 0, 0)), Ok(0));
    assert_eq!(peer.read(&target.0, target.1, 0, 100)[..], *b"89rg23456");
    for range in [(11, 0, 0), (5, 0, 6), (0, 0, 11), (u64::MAX, 0, 2)] {
        assert_eq!(copied(&mut peer, &source, &target, range), Err(Status::Invalid), "{range:?}");
    }
    assert_eq!(copied(&mut peer, &source, &source, (0, 20, 5)), Err(Status::Invalid), "one file");
    assert_eq!(copied(&mut peer, &source, &target, (0, u64::MAX, 5)), Err(Status::FileTooBig));
    let elsewhere = CopyArgs {
        sources: vec![NetLocation::Name("elsewhere".into())],
        ..copy(&source, &target, (0, 0, 1))
    };
    let refused = peer.between((&source.0, &target.0), Operation::Copy, &elsewhere);
    assert_eq!(refused.status, Status::PartnerNotSupported);
}

#[test]
fn large_copy_takes_several_requests() {
    let (mut peer, source, target) = two();
    let size = (40 << 20) + 3;
    let end = AllocateArgs { state_id: source.1, offset: size - 1, length: 1 };
    assert_eq!(peer.on(&source.0, Operation::Allocate, &end).status, Status::Ok);
    peer.write(&source.0, source.1, size - 3, b"end");
    let (mut at, mut counts) = (0, Vec::new());
    while at < size {
        let count = copied(&mut peer, &source, &target, (at, at, size - at)).unwrap();
        at += count;
        counts.push(count);
    }
    assert_eq!(counts, [16 << 20, 16 << 20, (8 << 20) + 3]);
    assert_eq!(peer.read(&target.0, target.1, size - 3, 10)[..], *b"end");
    assert_eq!(peer.read(&target.0, target.1, 0, 10)[..], *b"0123456789");
}

#[test]
fn both_stateids_are_checked() {
    let (mut peer, source, target) = two();
    let reading = |peer: &mut Peer, name| {
        let owner = StateOwner { client: ClientId(0), owner: "reader".into() };
        let asked = OpenArgs { owner, ..open(name, share::READ | share::WANT_NO_DELEGATION, None) };
        let mut results = peer
            .compound(|c| {
                c.push(Operation::PutRootFh, &()).push(Operation::Open, &asked);
            })
            .sequenced();
        results.ok(Operation::PutRootFh);
        results.body::<OpenResult>(Operation::Open).state_id
    };
    let reader = reading(&mut peer, "source");
    assert_eq!(copied(&mut peer, &(source.0.clone(), reader), &target, (0, 0, 1)), Ok(1));
    let read_only = (target.0.clone(), reading(&mut peer, "target"));
    for (from, to, status) in [
        (&source, &read_only, Status::OpenMode),
        (&source, &(target.0.clone(), source.1), Status::BadStateId),
        (&(source.0.clone(), target.1), &target, Status::BadStateId),
        (&source, &(target.0.clone(), StateId::CURRENT), Status::BadStateId),
        (&(source.0.clone(), StateId::CURRENT), &target, Status::BadStateId),
    ] {
        assert_eq!(copied(&mut peer, from, to, (0, 0, 1)), Err(status));
        let refused = peer.between((&from.0, &to.0), Operation::Clone, &clone(from, to, (0, 0, 0)));
        assert_eq!(refused.status, status);
    }
}

#[test]
fn a_clone_takes_what_the_source_holds_and_leaves_it() {
    let (mut peer, source, target) = two();
    let mut cloned = |range| {
        peer.between((&source.0, &target.0), Operation::Clone, &clone(&source, &target, range)).status
    };
    assert_eq!(cloned((0, 4096, 0)), Status::Ok);
    for range in [(1, 0, 4), (0, 1, 0), (0, 0, 4), (0, 0, 11), (11, 0, 0)] {
        assert_eq!(cloned(range), Status::Invalid, "{range:?}");
    }
    assert_eq!(cloned((10, 0, 0)), Status::Ok, "nothing");
    peer.write(&source.0, source.1, 0, b"since");
    let data = peer.read(&target.0, target.1, 0, 10_000);
    assert_eq!((&data[..6], &data[4096..]), (&b"target"[..], &b"0123456789"[..]));
    assert_eq!(peer.attributes(&target.0, &[AttributeId::CloneBlksize]).clone_blksize, Some(4096));
}

#[test]
fn files_of_two_exports_are_copied_and_not_cloned() {
    let memory = || Memory::new(MemoryOptions { root_mode: 0o777, ..MemoryOptions::default() }).unwrap();
    let rule = Rule { squash: Squash::NONE, ..Rule::default() };
    let read_only = ExportOptions::from(Rule { read_only: true, ..rule.clone() });
    let options = ExportOptions::from(rule);
    let path = |name: &str| ExportPath::new(name.as_bytes()).unwrap();
    let list = vec![
        Export::new(ExportId(1), ExportPath::root(), memory(), options.clone()),
        Export::new(ExportId(2), path("/other"), memory(), options),
        Export::new(ExportId(3), path("/fixed"), memory(), read_only),
    ];
    let roots: Vec<_> = list
        .iter()
        .map(|export| {
            let fs = export.file_system();
            let handle = vfs::FileSystem::handle(fs, &vfs::FileSystem::root(fs));
            FileHandle(bytes::Bytes::copy_from_slice(handle.as_bytes()))
        })
        .collect();
    let exports = Arc::new(Exports::new(list).unwrap());
    let state = State::new(Limits::default(), 77);
    let mut server = TestServer::serving(exports, test_options(), None, state);
    server.minor_version = 2;
    let mut peer = Peer::new(&Arc::new(server), 1);
    let source = peer.create("source");
    peer.write(&source.0, source.1, 0, b"0123456789");
    let asked = open("target", share::BOTH, Some(CreateHow::Guarded(Default::default())));
    let mut results = peer
        .compound(|c| {
            c.push(Operation::PutFh, &PutFhArgs { object: roots[1].clone() })
                .push(Operation::Open, &asked)
                .push(Operation::GetFh, &());
        })
        .sequenced();
    results.ok(Operation::PutFh);
    let opened: OpenResult = results.body(Operation::Open);
    let target = (results.body::<GetFhResult>(Operation::GetFh).object, opened.state_id);
    assert_eq!(copied(&mut peer, &source, &target, (1, 2, 8)), Ok(8));
    assert_eq!(peer.read(&target.0, target.1, 0, 100)[..], *b"\x00\x0012345678");
    let refused = peer.between((&source.0, &target.0), Operation::Clone, &clone(&source, &target, (0, 0, 0)));
    assert_eq!(refused.status, Status::CrossDevice);
    let fixed = (roots[2].clone(), StateId::ANONYMOUS);
    assert_eq!(copied(&mut peer, &source, &fixed, (0, 0, 1)), Err(Status::ReadOnly));
    let refused = peer.between((&source.0, &fixed.0), Operation::Clone, &clone(&source, &fixed, (0, 0, 0)));
    assert_eq!(refused.status, Status::ReadOnly);
    let range = AllocateArgs { state_id: StateId::ANONYMOUS, offset: 0, length: 1 };
    for operation in [Operation::Allocate, Operation::Deallocate] {
        assert_eq!(peer.on(&fixed.0, operation, &range).status, Status::ReadOnly);
    }
    let option = SetXattrOption::Either;
    let set = SetXattrArgs { option, name: "n".into(), value: "v".into() };
    assert_eq!(peer.on(&fixed.0, Operation::SetXattr, &set).status, Status::ReadOnly);
    let removed = RemoveXattrArgs { name: "n".into() };
    assert_eq!(peer.on(&fixed.0, Operation::RemoveXattr, &removed).status, Status::ReadOnly);
}
