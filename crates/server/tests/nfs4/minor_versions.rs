//! What belongs to which minor version, and that a client keeps to one (RFC 8178 §8).

use bytes::Bytes;
use proto::nfs4::attributes::{AttributeId, AttributeValues, Bitmap, ChangeAttrType, SetTime};
use proto::nfs4::*;
use xdr::Encoder;

use crate::peer::{Peer, TestServer, open};

/// A client of each minor version.
fn both(server: &std::sync::Arc<TestServer>) -> [Peer; 2] {
    [1, 2].map(|minor_version| {
        let id = u64::from(minor_version);
        let mut peer = Peer::stranger(server, id, 0).speaking(minor_version);
        let exchanged = peer.exchange_id(&format!("client {id}"), 1).unwrap();
        peer.client = exchanged.client;
        peer.create_session(exchanged.sequence).unwrap();
        server.world.run();
        assert_eq!(peer.reclaim_complete(), Status::Ok);
        peer
    })
}

#[test]
fn operations_of_4_2_are_illegal_in_4_1() {
    let [mut one, mut two] = both(&TestServer::new());
    for operation in Operation::ALL.iter().filter(|operation| operation.since_minor_version() == 2) {
        let mut results = one.compound(|c| {
            c.push(*operation, &());
        });
        results.ok(Operation::Sequence).get::<SequenceResult>().unwrap();
        assert_eq!(results.next(), (ILLEGAL, Status::IllegalOperation), "{operation}");
    }
    for operation in [
        Operation::CopyNotify,
        Operation::LayoutError,
        Operation::LayoutStats,
        Operation::OffloadCancel,
        Operation::OffloadStatus,
        Operation::WriteSame,
        Operation::GetDeviceList,
    ] {
        let results = two.compound(|c| {
            c.push(operation, &());
        });
        assert_eq!((results.status, results.count), (Status::NotSupported, 2), "{operation}");
    }
    let mut to = Encoder::new();
    to.opaque(b"");
    [2, 2, Operation::Sequence.number()].iter().for_each(|word| to.u32(*word));
    to.put(&two.sequence_args(two.last_sequence() + 1, false));
    to.u32(76);
    let beyond = two.raw(to.into_inner());
    assert_eq!((beyond.status, beyond.count), (Status::IllegalOperation, 2));
}

#[test]
fn a_client_and_its_sessions_are_of_one_minor_version() {
    let server = TestServer::new();
    let [one, two] = both(&server);
    let channel = one.create_session_args(SequenceId(2));
    for peer in [&one, &two] {
        let other = 3 - peer.minor_version;
        let session = peer.session;
        let mismatch = |results: crate::peer::Results| {
            assert_eq!((results.status, results.count), (Status::MinorVersionMismatch, 0));
        };
        mismatch(peer.send(other, |c| {
            c.push(Operation::Sequence, &peer.sequence_args(1, false));
        }));
        mismatch(peer.send(other, |c| {
            let arguments = CreateSessionArgs { client: peer.client, ..channel.clone() };
            c.push(Operation::CreateSession, &arguments);
        }));
        mismatch(peer.send(other, |c| {
            let direction = DirectionFromClient::ForeOrBoth;
            c.push(Operation::BindConnToSession, &BindConnToSessionArgs { session, direction, rdma: false });
        }));
        mismatch(peer.send(other, |c| {
            c.push(Operation::DestroySession, &DestroySessionArgs { session });
        }));
        mismatch(peer.send(other, |c| {
            c.push(Operation::DestroyClientId, &DestroyClientIdArgs { client: peer.client });
        }));
        // Nothing of all this has used up a number.
        let next = peer.with_sequence(peer.last_sequence() + 1, false, |_| {});
        assert_eq!(next.status, Status::Ok);
    }
}

#[test]
fn a_client_that_comes_again_in_another_minor_version_has_begun_anew() {
    let server = TestServer::new();
    let [mut one, _] = both(&server);
    let (file, state_id) = one.create("f");
    let mut again = Peer::stranger(&server, 7, 0).speaking(2);
    let exchanged = again.exchange_id("client 1", 1).unwrap();
    assert_ne!(exchanged.client, one.client);
    assert_eq!(
        one.on(&file, Operation::Read, &ReadArgs { state_id, offset: 0, count: 1 }).status,
        Status::Ok
    );
    again.client = exchanged.client;
    again.create_session(exchanged.sequence).unwrap();
    let lost = one.with_sequence(one.last_sequence() + 1, false, |_| {});
    assert_eq!(lost.status, Status::BadSession);
}

#[test]
fn to_be_fenced_may_be_wished_for_in_two_alone() {
    let server = TestServer::new();
    for (minor_version, allowed) in [(1, false), (2, true)] {
        let peer = Peer::stranger(&server, 7, 0).speaking(minor_version);
        let owner = ClientOwner { verifier: Verifier([1; 8]), id: format!("fenced {minor_version}").into() };
        let flags = exchange_flags::SUPP_FENCE_OPS;
        let asked =
            ExchangeIdArgs { owner, flags, state_protect: StateProtect::None, implementation: vec![] };
        match peer.exchange(&asked) {
            Ok(exchanged) => {
                assert!(allowed);
                assert_eq!(exchanged.flags & flags, 0, "nothing is promised");
            }
            Err(status) => assert_eq!((allowed, status), (false, Status::Invalid)),
        }
    }
}

#[test]
fn callbacks_are_of_the_clients_minor_version() {
    let server = TestServer::new();
    let peers = both(&server);
    let [mut one, mut two] = peers;
    let (file, state_id) = one.create("f");
    assert_eq!(one.close(&file, state_id), Status::Ok);
    for peer in [&mut one, &mut two] {
        let asked = open("f", share::READ | share::WANT_READ_DELEGATION, None);
        let opened = peer.compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::Open, &asked);
        });
        assert_eq!(opened.status, Status::Ok);
    }
    let mut writer = Peer::new(&server, 9);
    drop(futures_util::FutureExt::now_or_never(writer.begin(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Open, &open("f", share::WRITE, None));
    })));
    server.world.run();
    for peer in [&one, &two] {
        assert_eq!(peer.callbacks.recalled.lock().len(), 1);
        assert_eq!(*peer.callbacks.minor_versions.lock(), [peer.minor_version]);
    }
}

#[test]
fn supported_attributes_are_the_readable_ones() {
    let write_only = Bitmap::of(&[
        AttributeId::TimeAccessSet,
        AttributeId::TimeModifySet,
        AttributeId::ModeSetMasked,
        AttributeId::TimeDelegAccess,
        AttributeId::TimeDelegModify,
    ]);
    let [_, mut peer] = both(&TestServer::new());
    let (file, _) = peer.create("f");
    let supported = peer.attributes(&file, &[AttributeId::SupportedAttrs]).supported_attrs.unwrap();
    let words = [u32::MAX; 3].to_vec();
    let all: Bitmap = xdr::from_bytes(xdr::to_bytes(&words)).unwrap();
    let wanted = GetAttrArgs { wanted: all.without(write_only) };
    let values: AttributeValues = peer.on(&file, Operation::GetAttr, &wanted).body(Operation::GetAttr);
    assert_eq!(values.present(), supported.without(write_only));
}

#[test]
fn attributes_of_two_are_not_there_in_one() {
    let server = TestServer::new();
    let asked = Bitmap::of(&[AttributeId::SupportedAttrs, AttributeId::ChangeAttrType]);
    for peer in &mut both(&server) {
        let mut results = peer.compound(|c| {
            c.push(Operation::PutRootFh, &()).push(Operation::GetAttr, &GetAttrArgs { wanted: asked });
        });
        results.body::<SequenceResult>(Operation::Sequence);
        results.ok(Operation::PutRootFh);
        let values: AttributeValues = results.body(Operation::GetAttr);
        let supported = values.supported_attrs.unwrap();
        if peer.minor_version == 1 {
            assert!(supported.numbers().all(|number| number < 77));
            assert_eq!(values.change_attr_type, None);
        } else {
            assert!(supported.contains(AttributeId::ChangeAttrType));
            assert_eq!(values.change_attr_type, Some(ChangeAttrType::Increasing));
        }
        // What the minor version does not know is no attribute; what it does, and the server has not, is not
        // supported.
        let (file, state_id) = peer.create(&format!("f{}", peer.minor_version));
        assert_eq!(peer.close(&file, state_id), Status::Ok);
        let (unknown, known) = if peer.minor_version == 1 {
            (Status::Invalid, Status::AttributeNotSupported)
        } else {
            (Status::AttributeNotSupported, Status::AttributeNotSupported)
        };
        for (number, status) in [(80, unknown), (14, known)] {
            let arguments = (SetAttrArgs { state_id: StateId::ANONYMOUS }, raw_attribute(number));
            assert_eq!(peer.on(&file, Operation::SetAttr, &arguments).status, status, "{number}");
            assert_eq!(peer.on(&file, Operation::Verify, &raw_attribute(number)).status, status, "{number}");
            assert_eq!(make(peer, number), status, "{number}");
        }
        let times = AttributeValues { time_modify_set: Some(SetTime::Server), ..Default::default() };
        let arguments = (SetAttrArgs { state_id: StateId::ANONYMOUS }, times);
        assert_eq!(peer.on(&file, Operation::SetAttr, &arguments).status, Status::Ok);
    }
}

/// CREATE with an attribute.
fn make(peer: &mut Peer, number: u32) -> Status {
    let made = CreateArgs { kind: CreateType::Fifo, name: "p".into() };
    let results = peer.compound(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::Create, &(made, raw_attribute(number)));
    });
    results.status
}

/// A `fattr4` of one attribute with four bytes.
fn raw_attribute(number: u32) -> (Vec<u32>, Bytes) {
    let mut words = vec![0; number as usize / 32 + 1];
    words[number as usize / 32] = 1 << (number % 32);
    (words, Bytes::from_static(&[0; 4]))
}
