//! Holes: SEEK, ALLOCATE, DEALLOCATE, READ_PLUS and IO_ADVISE (RFC 7862 §15).

use bytes::Bytes;
use futures_util::FutureExt;
use proto::nfs4::attributes::{AttributeId, Bitmap};
use proto::nfs4::*;

use crate::peer::{Peer, Setup, TestServer, open};

/// Of the file system in memory.
const PAGE: u64 = 4096;

/// A client and a file with a page of data, a hole of three, five bytes of data, and a hole to the end of the
/// eighth page.
fn sparse() -> (Peer, FileHandle, StateId) {
    let mut peer = Peer::new(&TestServer::of_minor_version_2(), 1);
    let (file, state_id) = peer.create("f");
    peer.write(&file, state_id, 0, &[7; PAGE as usize]);
    peer.write(&file, state_id, 4 * PAGE, b"hello");
    let longer = AllocateArgs { state_id, offset: 8 * PAGE - 1, length: 1 };
    assert_eq!(peer.on(&file, Operation::Allocate, &longer).status, Status::Ok);
    let hole = AllocateArgs { state_id, offset: 5 * PAGE, length: 100 * PAGE };
    assert_eq!(peer.on(&file, Operation::Deallocate, &hole).status, Status::Ok);
    (peer, file, state_id)
}

#[test]
fn data_and_holes_are_found() {
    let (mut peer, file, state_id) = sparse();
    let mut seek = |offset, what| {
        let mut results = peer.on(&file, Operation::Seek, &SeekArgs { state_id, offset, what });
        (results.status == Status::Ok)
            .then(|| results.body::<SeekResult>(Operation::Seek))
            .ok_or(results.status)
    };
    let at = |offset, eof| Ok(SeekResult { eof, offset });
    let (data, hole) = (DataContent::Data, DataContent::Hole);
    assert_eq!(seek(0, data), at(0, false));
    assert_eq!(seek(10, hole), at(PAGE, false));
    assert_eq!(seek(PAGE, data), at(4 * PAGE, false));
    assert_eq!(seek(4 * PAGE, hole), at(5 * PAGE, false));
    assert_eq!(seek(5 * PAGE, data), at(8 * PAGE, true), "nothing but a hole is left");
    assert_eq!(seek(8 * PAGE - 1, hole), at(8 * PAGE - 1, false));
    for offset in [8 * PAGE, u64::MAX] {
        assert_eq!(seek(offset, data), Err(Status::NoDevice));
        assert_eq!(seek(offset, hole), Err(Status::NoDevice));
    }
}

#[test]
fn holes_are_read_as_their_length_and_data_as_it_is() {
    let (mut peer, file, state_id) = sparse();
    let mut read = |offset, count| {
        let arguments = ReadPlusArgs { state_id, offset, count };
        peer.on(&file, Operation::ReadPlus, &arguments).body::<ReadPlusResult>(Operation::ReadPlus)
    };
    let data =
        |offset, data: &[u8]| ReadPlusPart::Data(PlusData { offset, data: Bytes::copy_from_slice(data) });
    let hole = |offset, length| ReadPlusPart::Hole(PlusHole { offset, length });
    let mut five = [0; PAGE as usize];
    five[..5].copy_from_slice(b"hello");
    let all = ReadPlusResult {
        eof: true,
        parts: vec![
            data(0, &[7; PAGE as usize]),
            hole(PAGE, 3 * PAGE),
            data(4 * PAGE, &five),
            hole(5 * PAGE, 3 * PAGE),
        ],
    };
    assert_eq!(read(0, 1 << 20), all);
    assert_eq!(read(0, 8 * PAGE as u32), all);
    let some =
        ReadPlusResult { eof: false, parts: vec![hole(PAGE + 1, 3 * PAGE - 1), data(4 * PAGE, b"hel")] };
    assert_eq!(read(PAGE + 1, 3 * PAGE as u32 + 2), some);
    let nothing = ReadPlusResult { eof: true, parts: vec![] };
    for offset in [8 * PAGE, u64::MAX] {
        assert_eq!(read(offset, 10), nothing);
    }
    assert_eq!(read(0, 0), ReadPlusResult { eof: false, parts: vec![] });
}

#[test]
fn a_file_with_many_holes_is_read_in_several_results() {
    let mut peer = Peer::new(&TestServer::of_minor_version_2(), 1);
    let (file, state_id) = peer.create("f");
    for page in 0..100 {
        peer.write(&file, state_id, 2 * page * PAGE, &[page as u8 + 1]);
    }
    let (mut at, mut all, mut requests) = (0, Vec::new(), 0);
    loop {
        let arguments = ReadPlusArgs { state_id, offset: at, count: 1 << 20 };
        let mut results = peer.on(&file, Operation::ReadPlus, &arguments);
        let result: ReadPlusResult = results.body(Operation::ReadPlus);
        requests += 1;
        for part in result.parts {
            let (offset, bytes) = match part {
                ReadPlusPart::Data(data) => (data.offset, data.data.to_vec()),
                ReadPlusPart::Hole(hole) => (hole.offset, vec![0; hole.length as usize]),
            };
            assert_eq!(offset, at, "without gaps");
            at += bytes.len() as u64;
            all.extend(bytes);
        }
        if result.eof {
            break;
        }
    }
    assert!(requests > 5, "{requests}");
    assert_eq!(all.len() as u64, 198 * PAGE + 1);
    let marks = all.iter().enumerate().filter(|(_, byte)| **byte != 0);
    assert!(marks.eq((0..100).map(|page| (2 * page * PAGE as usize, &all[2 * page * PAGE as usize]))));
    assert_eq!(all[198 * PAGE as usize], 100);
}

#[test]
fn reserving_and_giving_back_changes_size_space_and_change() {
    let mut peer = Peer::new(&TestServer::of_minor_version_2(), 1);
    let (file, state_id) = peer.create("f");
    peer.write(&file, state_id, 0, b"0123456789");
    let wanted = [AttributeId::Size, AttributeId::SpaceUsed, AttributeId::Change];
    let before = peer.attributes(&file, &wanted);
    let range = AllocateArgs { state_id, offset: 4, length: 3 * PAGE };
    assert_eq!(peer.on(&file, Operation::Allocate, &range).status, Status::Ok);
    let reserved = peer.attributes(&file, &wanted);
    assert_eq!((reserved.size, reserved.space_used), (Some(3 * PAGE + 4), Some(4 * PAGE)));
    assert_ne!(reserved.change, before.change);
    assert_eq!(peer.on(&file, Operation::Deallocate, &range).status, Status::Ok);
    let given_back = peer.attributes(&file, &wanted);
    assert_eq!((given_back.size, given_back.space_used), (Some(3 * PAGE + 4), Some(2 * PAGE)));
    assert_ne!(given_back.change, reserved.change);
    assert_eq!(peer.read(&file, state_id, 0, 10)[..], *b"0123\0\0\0\0\0\0");
    for wrong in [(0, 0), (u64::MAX, 2), (1, u64::MAX)] {
        let range = AllocateArgs { state_id, offset: wrong.0, length: wrong.1 };
        assert_eq!(peer.on(&file, Operation::Allocate, &range).status, Status::Invalid, "{wrong:?}");
        assert_eq!(peer.on(&file, Operation::Deallocate, &range).status, Status::Invalid, "{wrong:?}");
    }
}

#[test]
fn space_is_changed_under_the_rules_of_write() {
    let server = TestServer::of_minor_version_2();
    let (mut a, mut b) = (Peer::new(&server, 1), Peer::new(&server, 2));
    for (operation, name) in [(Operation::Allocate, "f"), (Operation::Deallocate, "g")] {
        let (file, state_id) = a.create(name);
        assert_eq!(a.close(&file, state_id), Status::Ok);
        // Under a delegation for reading nothing is written, and without any stateid it is recalled.
        let asked = open(name, share::READ | share::WANT_READ_DELEGATION, None);
        let mut results = a
            .compound(|c| {
                c.push(Operation::PutRootFh, &()).push(Operation::Open, &asked);
            })
            .sequenced();
        results.ok(Operation::PutRootFh);
        let opened: OpenResult = results.body(Operation::Open);
        let OpenDelegation::Read(delegation) = opened.delegation else {
            panic!("{operation}: not delegated")
        };
        let range = |state_id| AllocateArgs { state_id, offset: 0, length: 1 };
        for read_only in [opened.state_id, delegation.state_id] {
            assert_eq!(a.on(&file, operation, &range(read_only)).status, Status::OpenMode, "{operation}");
        }
        let object = file.clone();
        let mut held = b.begin(|c| {
            c.push(Operation::PutFh, &PutFhArgs { object }).push(operation, &range(StateId::ANONYMOUS));
        });
        assert!((&mut held).now_or_never().is_none(), "{operation}");
        server.world.run();
        let back = DelegReturnArgs { state_id: delegation.state_id };
        assert_eq!(a.on(&file, Operation::DelegReturn, &back).status, Status::Ok);
        assert_eq!(held.now_or_never().expect("answered").status, Status::Ok, "{operation}");
        assert_eq!(a.close(&file, opened.state_id), Status::Ok);
    }
    // A reservation of somebody else.
    let (file, state_id) = a.create("h");
    assert_eq!(a.close(&file, state_id), Status::Ok);
    let denies = OpenArgs { share_deny: share::WRITE, ..open("h", share::READ, None) };
    let opened = a.compound(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &denies);
    });
    assert_eq!(opened.status, Status::Ok);
    let range = AllocateArgs { state_id: StateId::ANONYMOUS, offset: 0, length: 1 };
    for operation in [Operation::Allocate, Operation::Deallocate] {
        assert_eq!(b.on(&file, operation, &range).status, Status::Locked, "{operation}");
    }
}

#[test]
fn advice_is_taken_and_what_becomes_of_it_is_told() {
    let (mut peer, file, state_id) = sparse();
    let hints = Bitmap::from_word(io_hint::SEQUENTIAL | io_hint::WILL_NEED);
    let advice = |state_id| IoAdviseArgs { state_id, offset: 0, count: 0, hints };
    for state_id in [state_id, StateId::ANONYMOUS] {
        let mut results = peer.on(&file, Operation::IoAdvise, &advice(state_id));
        let told: IoAdviseResult = results.body(Operation::IoAdvise);
        assert_eq!(told.hints, Bitmap::from_word(io_hint::NORMAL));
    }
    let nobodys = StateId { other: StateOther([9; 12]), sequence: 1 };
    assert_eq!(peer.on(&file, Operation::IoAdvise, &advice(nobodys)).status, Status::BadStateId);
}

#[test]
fn a_directory_of_the_host_has_the_same_holes() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup { minor_version: 2, ..Setup::default() };
    let mut peer = Peer::new(&TestServer::local_with(directory.path(), setup), 1);
    let (file, state_id) = peer.create("f");
    let piece = 16 * PAGE;
    peer.write(&file, state_id, 0, &[7; 16 * PAGE as usize]);
    peer.write(&file, state_id, 3 * piece, b"end");
    let arguments = ReadPlusArgs { state_id, offset: piece - 2, count: 1 << 20 };
    let read: ReadPlusResult = peer.on(&file, Operation::ReadPlus, &arguments).body(Operation::ReadPlus);
    let data =
        |offset, data: &'static [u8]| ReadPlusPart::Data(PlusData { offset, data: Bytes::from_static(data) });
    let hole = ReadPlusPart::Hole(PlusHole { offset: piece, length: 2 * piece });
    let parts = vec![data(piece - 2, &[7, 7]), hole, data(3 * piece, b"end")];
    assert_eq!(read, ReadPlusResult { eof: true, parts });
    // As much data as a reply may have, and holes besides.
    let filled = [9; 64 << 10];
    for at in [4 * piece, 5 * piece] {
        peer.write(&file, state_id, at, &filled);
    }
    let arguments = ReadPlusArgs { state_id, offset: piece, count: 1 << 20 };
    let read: ReadPlusResult = peer.on(&file, Operation::ReadPlus, &arguments).body(Operation::ReadPlus);
    assert_eq!(
        (read.eof, &read.parts[0]),
        (false, &ReadPlusPart::Hole(PlusHole { offset: piece, length: 2 * piece }))
    );
    let bytes = read.parts.iter().map(|part| match part {
        ReadPlusPart::Data(data) => data.data.len() as u64,
        ReadPlusPart::Hole(_) => 0,
    });
    assert!((piece / 2..piece).contains(&bytes.sum()));
    // More than any disk has: refused at once, and the disk is as it was.
    let huge = AllocateArgs { state_id, offset: 0, length: 1 << 43 };
    assert_eq!(peer.on(&file, Operation::Allocate, &huge).status, Status::NoSpace);
    assert_eq!(peer.attributes(&file, &[AttributeId::Size]).size, Some(6 * piece));
}
