//! EXCHANGE_ID's arguments and results (RFC 8881 §18.35.3); its cases are tested where they are decided, in
//! `state`.

use bytes::Bytes;
use proto::nfs4::attributes::Bitmap;
use proto::nfs4::*;

use crate::peer::{Peer, TestServer};

fn arguments(flags: u32) -> ExchangeIdArgs {
    ExchangeIdArgs {
        owner: ClientOwner { verifier: Verifier([1; 8]), id: Bytes::from_static(b"somebody") },
        flags,
        state_protect: StateProtect::None,
        implementation: vec![],
    }
}

fn new_peer() -> Peer {
    Peer::stranger(&TestServer::new(), 1, 0)
}

#[test]
fn flags_that_a_request_cannot_have_are_invalid() {
    let peer = new_peer();
    for flag in [exchange_flags::CONFIRMED, 4, 0x200, 0x8_0000, 0x2000_0000] {
        assert_eq!(peer.exchange(&arguments(flag)).unwrap_err(), Status::Invalid, "{flag:#x}");
    }
}

#[test]
fn wishes_that_the_server_does_not_grant_are_cleared() {
    let peer = new_peer();
    let all = exchange_flags::REQUEST_MASK & !exchange_flags::UPDATE_CONFIRMED_RECORD;
    for flags in [0, exchange_flags::BIND_PRINC_STATEID, exchange_flags::USE_PNFS_MDS, all] {
        let exchanged = peer.exchange(&arguments(flags)).unwrap();
        assert_eq!(exchanged.flags, exchange_flags::USE_NON_PNFS, "{flags:#x}");
        assert_eq!(exchanged.state_protect, StateProtectResult::None);
    }
}

#[test]
fn confirmed_is_told_once_it_is_and_an_update_keeps_it() {
    let mut peer = new_peer();
    let exchanged = peer.exchange(&arguments(0)).unwrap();
    peer.client = exchanged.client;
    peer.create_session(exchanged.sequence).unwrap();
    for flags in [0, exchange_flags::UPDATE_CONFIRMED_RECORD] {
        let again = peer.exchange(&arguments(flags)).unwrap();
        assert_eq!(again.client, exchanged.client);
        assert_eq!(again.flags, exchange_flags::USE_NON_PNFS | exchange_flags::CONFIRMED);
    }
}

#[test]
fn protection_that_needs_gss_is_invalid_without_it() {
    let peer = new_peer();
    let operations = ProtectedOperations { must_enforce: Bitmap::default(), must_allow: Bitmap::default() };
    let ssv = SsvParameters {
        operations: operations.clone(),
        hash_algorithms: vec![Oid(Bytes::from_static(b"\x60\x86\x48\x01\x65\x03\x04\x02\x01"))],
        encryption_algorithms: vec![Oid(Bytes::from_static(b"\x60\x86\x48\x01\x65\x03\x04\x01\x2a"))],
        window: 1,
        gss_handles: 0,
    };
    for state_protect in [StateProtect::MachineCredential(operations), StateProtect::Ssv(ssv)] {
        let asked = ExchangeIdArgs { state_protect, ..arguments(0) };
        assert_eq!(peer.exchange(&asked).unwrap_err(), Status::Invalid);
    }
    assert_eq!(
        peer.exchange(&arguments(exchange_flags::UPDATE_CONFIRMED_RECORD)).unwrap_err(),
        Status::NoEntry
    );
}

#[test]
fn an_empty_name_is_invalid_and_the_longest_is_not() {
    let peer = new_peer();
    let named = |id: Vec<u8>| ExchangeIdArgs {
        owner: ClientOwner { verifier: Verifier([1; 8]), id: id.into() },
        ..arguments(0)
    };
    assert_eq!(peer.exchange(&named(vec![])).unwrap_err(), Status::Invalid);
    assert!(peer.exchange(&named(vec![b'n'; 1024])).is_ok());
    assert_eq!(peer.exchange(&named(vec![b'n'; 1025])).unwrap_err(), Status::BadXdr);
}

#[test]
fn every_client_is_told_the_same_server() {
    let server = TestServer::new();
    let told = |id, owner| {
        let exchanged = Peer::stranger(&server, id, id as u32).exchange_id(owner, 1).unwrap();
        (exchanged.server_owner, exchanged.server_scope)
    };
    let (owner, scope) = told(1, "a");
    assert_eq!((&owner.major_id[..], &scope[..]), (&b"test"[..], &b"test"[..]));
    assert_eq!(told(2, "b"), (owner, scope));
}

#[test]
fn outside_a_session_it_stands_alone_and_inside_anywhere() {
    let server = TestServer::new();
    let mut peer = Peer::new(&server, 1);
    let not_alone = peer.send(1, |c| {
        c.push(Operation::ExchangeId, &arguments(0)).push(Operation::PutRootFh, &());
    });
    assert_eq!((not_alone.status, not_alone.count), (Status::NotOnlyOperation, 1));
    let inside = peer.compound(|c| {
        c.push(Operation::PutRootFh, &()).push(Operation::ExchangeId, &arguments(0));
    });
    assert_eq!((inside.status, inside.count), (Status::Ok, 3));
}
