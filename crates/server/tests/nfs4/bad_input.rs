//! What no well-behaved client sends.

use bytes::Bytes;
use proto::nfs4::*;
use xdr::Encoder;

use crate::peer::{Peer, TestServer, open};

#[test]
fn another_minor_version_is_a_mismatch_without_results() {
    let peer = Peer::new(&TestServer::new(), 1);
    for minor in [0, 3, u32::MAX] {
        let results = peer.send(minor, |c| {
            c.push(Operation::PutRootFh, &());
        });
        assert_eq!((results.status, results.count), (Status::MinorVersionMismatch, 0));
    }
}

#[test]
fn a_tag_that_is_not_utf_8_is_invalid_and_comes_back() {
    // RFC 8881 §16.2.4.
    let peer = Peer::new(&TestServer::new(), 1);
    for (tag, status) in [(&b"\xc3("[..], Status::Invalid), ("größe".as_bytes(), Status::Ok)] {
        let mut to = Encoder::new();
        to.opaque(tag);
        to.u32(1);
        to.u32(1);
        to.u32(Operation::Sequence.number());
        to.put(&peer.sequence_args(1, false));
        let results = peer.raw(to.into_inner());
        assert_eq!((results.status, results.count == 0), (status, status == Status::Invalid));
        assert!(results.bytes.windows(tag.len()).any(|bytes| bytes == tag));
    }
}

#[test]
fn known_operation_is_notsupp_and_unknown_operation_is_illegal() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    for operation in [Operation::LayoutReturn, Operation::LayoutGet, Operation::OpenAttr] {
        let mut results = peer.compound(|c| {
            c.push(operation, &());
        });
        results.body::<SequenceResult>(Operation::Sequence);
        assert_eq!(results.next(), (operation.number(), Status::NotSupported));
    }
    for number in [0, 2, 76, 10_044, u32::MAX] {
        let sequence = peer.last_sequence();
        let mut to = Encoder::new();
        to.opaque(&[]);
        to.u32(1);
        to.u32(2);
        to.u32(Operation::Sequence.number());
        to.put(&peer.sequence_args(sequence + 1, false));
        to.u32(number);
        let mut results = peer.raw(to.into_inner());
        results.body::<SequenceResult>(Operation::Sequence);
        assert_eq!(results.next(), (ILLEGAL, Status::IllegalOperation));
        assert_sequenced_or_retry(peer.compound(|_| {}).status);
    }
}

/// The peer's own counter lags by the request that was built by hand.
fn assert_sequenced_or_retry(status: Status) {
    assert!(matches!(status, Status::Ok | Status::SequenceFalseRetry), "{status}");
}

#[test]
fn arguments_that_end_too_early_are_badxdr_at_their_operation() {
    let peer = Peer::new(&TestServer::new(), 1);
    let mut to = Encoder::new();
    to.opaque(&[]);
    to.u32(1);
    to.u32(3);
    to.u32(Operation::Sequence.number());
    to.put(&peer.sequence_args(1, false));
    to.u32(Operation::PutRootFh.number());
    to.u32(Operation::Lookup.number());
    to.u32(400);
    let mut results = peer.raw(to.into_inner());
    assert_eq!((results.status, results.count), (Status::BadXdr, 3));
    results.body::<SequenceResult>(Operation::Sequence);
    results.ok(Operation::PutRootFh);
    assert_eq!(results.next(), (Operation::Lookup.number(), Status::BadXdr));
}

#[test]
fn names_that_no_file_can_have_get_their_status() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let long = vec![b'n'; 256];
    let cases: [(&[u8], Status); 6] = [
        (b"", Status::Invalid),
        (b".", Status::BadName),
        (b"..", Status::BadName),
        (b"a/b", Status::BadName),
        (b"a\0b", Status::BadCharacter),
        (&long, Status::NameTooLong),
    ];
    for (name, status) in cases {
        let name = Bytes::copy_from_slice(name);
        let found = peer.compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Lookup, &LookupArgs { name: name.clone() });
        });
        assert_eq!(found.status, status);
        let opened = peer.compound(|c| {
            let arguments = OpenArgs { claim: OpenClaim::Null(name), ..open("", share::READ, None) };
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &arguments);
        });
        assert_eq!(opened.status, status);
    }
}

#[test]
fn handles_that_were_never_issued_are_bad_and_none_is_no_handle() {
    let mut peer = Peer::new(&TestServer::new(), 1);
    let (file, state_id) = peer.create("f");
    for index in 0..file.0.len() {
        let mut forged = file.0.to_vec();
        forged[index] ^= 1;
        let object = FileHandle(forged.into());
        let results = peer.compound(|c| {
            c.push(Operation::PutFh, &PutFhArgs { object });
        });
        assert_eq!(results.status, Status::BadHandle, "byte {index}");
    }
    for length in [0, 65, 128] {
        let object = FileHandle(vec![1; length].into());
        let results = peer.compound(|c| {
            c.push(Operation::PutFh, &PutFhArgs { object });
        });
        assert_eq!(results.status, Status::BadHandle);
    }
    let results = peer.compound(|c| {
        c.push(Operation::GetFh, &());
    });
    assert_eq!(results.status, Status::NoFileHandle);
    assert_eq!(peer.close(&file, state_id), Status::Ok);
    let removed = peer.compound(|c| {
        let target = Bytes::from_static(b"f");
        c.push(Operation::PutRootFh, &()).push(Operation::Remove, &RemoveArgs { target });
    });
    assert_eq!(removed.status, Status::Ok);
    let results = peer.compound(|c| {
        c.push(Operation::PutFh, &PutFhArgs { object: file });
    });
    assert_eq!(results.status, Status::Stale);
}
