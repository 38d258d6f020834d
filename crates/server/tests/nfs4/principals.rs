//! Who may do what to a client and its sessions (RFC 8881 §18.34 – §18.37, §18.50). A principal of AUTH_SYS
//! is a user of a machine.

use std::sync::Arc;

use proto::nfs4::*;
use testkit::records::{Change, MemoryRecords, Outcome};

use crate::peer::{Peer, TestServer};

/// Everybody who is not the principal of [`Peer::new`]: another user, and the same user of another machine.
fn others(peer: &Peer) -> [Peer; 2] {
    let user = peer.over(7, 1000);
    let mut machine = peer.over(8, 0);
    machine.machine_name = "elsewhere";
    [user, machine]
}

fn destroy_session(peer: &Peer) -> Status {
    peer.alone(Operation::DestroySession, &DestroySessionArgs { session: peer.session })
}

fn destroy_client(peer: &Peer) -> Status {
    peer.alone(Operation::DestroyClientId, &DestroyClientIdArgs { client: peer.client })
}

#[test]
fn another_principal_gets_no_client_id_no_session_and_ends_no_client() {
    let server = TestServer::new();
    let mut peer = Peer::new(&server, 1);
    let (file, state_id) = peer.create("f");
    for mut thief in others(&peer) {
        for verifier in [1, 9] {
            assert_eq!(thief.exchange_id("client 1", verifier).unwrap_err(), Status::ClientIdInUse);
        }
        for sequence in [1, 2] {
            assert_eq!(thief.create_session(SequenceId(sequence)).unwrap_err(), Status::ClientIdInUse);
        }
        assert_eq!(destroy_client(&thief), Status::WrongCredential);
        assert_eq!(destroy_session(&thief), Status::ConnectionNotBoundToSession);
    }
    assert_eq!(peer.close(&file, state_id), Status::Ok);
}

#[test]
fn state_of_a_silent_client_is_freed_when_its_record_is_gone() {
    // RFC 8881 §18.35.4, case 3: the lease is over, and somebody else takes the name.
    let records = MemoryRecords::new();
    let server = TestServer::with_records(Arc::new(records.clone()));
    let mut peer = Peer::new(&server, 1);
    peer.create("f");
    let holder = server.state.client(peer.client).unwrap();
    let lease_ms = u64::from(server.state.limits().lease_seconds) * 1000;
    server.at(lease_ms + 1000);
    records.set_outcome(Change::RemoveClient, Outcome::Failed);
    let [heir, _] = others(&peer);
    let exchanged = heir.exchange_id("client 1", 1).unwrap();
    assert_ne!(exchanged.client, peer.client);
    assert!(holder.is_gone() && holder.has_state(), "it could still be reclaimed");
    server.at(lease_ms + 2000);
    assert!(holder.has_state());
    records.set_outcome(Change::RemoveClient, Outcome::Written);
    server.at(lease_ms + 3000);
    assert!(!holder.has_state());
}

#[test]
fn a_session_ends_over_a_bound_connection_only_even_for_its_principal() {
    // A client that comes back only to end its session binds its new connection (RFC 8881 §18.37.3).
    let server = TestServer::new();
    let peer = Peer::new(&server, 1);
    server.disconnect(1);
    let again = peer.over(2, 0);
    assert_eq!(destroy_client(&again), Status::ClientIdBusy);
    assert_eq!(destroy_session(&again), Status::ConnectionNotBoundToSession);
    let direction = DirectionFromClient::Fore;
    let bind = BindConnToSessionArgs { session: again.session, direction, rdma: false };
    assert_eq!(again.alone(Operation::BindConnToSession, &bind), Status::Ok);
    assert_eq!(destroy_session(&again), Status::Ok);
    assert_eq!(destroy_session(&again), Status::BadSession);
    assert_eq!(destroy_client(&again), Status::Ok);
    assert_eq!(destroy_client(&again), Status::StaleClientId);
}

#[test]
fn sp4_none_lets_others_end_a_session_over_their_own_connection() {
    // RFC 8881 §18.35.3: for SP4_NONE the server must not enforce protection.
    let server = TestServer::new();
    let peer = Peer::new(&server, 1);
    let user = peer.over(1, 1000);
    assert_eq!(destroy_session(&user), Status::Ok);
}

#[test]
fn a_connection_is_associated_by_a_request() {
    let server = TestServer::new();
    let peer = Peer::new(&server, 1);
    let user = peer.over(2, 1000);
    assert_eq!(destroy_session(&user), Status::ConnectionNotBoundToSession);
    assert_eq!(user.with_sequence(1, false, |_| {}).status, Status::Ok);
    assert_eq!(destroy_session(&user), Status::Ok);
}

#[test]
fn users_of_a_machine_share_its_session() {
    let server = TestServer::new();
    let mut peer = Peer::new(&server, 1);
    peer.create("f");
    for (sequence, uid) in [(2, 1000), (3, 1001), (4, 0)] {
        let user = peer.over(1, uid);
        let results = user.with_sequence(sequence, false, |c| {
            c.push(Operation::PutRootFh, &());
        });
        assert_eq!(results.status, Status::Ok);
    }
}

#[test]
fn a_restarted_client_takes_its_own_place() {
    let server = TestServer::new();
    let mut before = Peer::new(&server, 1);
    before.create("f");
    let mut after = before.over(2, 0);
    let exchanged = after.exchange_id("client 1", 2).unwrap();
    assert_ne!(exchanged.client, before.client);
    assert_eq!(before.with_sequence(2, false, |_| {}).status, Status::Ok, "not before it is confirmed");
    after.client = exchanged.client;
    after.create_session(exchanged.sequence).unwrap();
    assert_eq!(before.with_sequence(3, false, |_| {}).status, Status::BadSession);
    assert_eq!(destroy_client(&before), Status::StaleClientId);
}

#[test]
fn a_client_is_not_ended_from_its_own_session_and_another_may_be() {
    // RFC 8881 §18.50.3.
    let server = TestServer::new();
    let mut peer = Peer::new(&server, 1);
    let idle = peer.over(1, 0).exchange_id("nobody yet", 1).unwrap();
    let mut end = |client| {
        peer.compound(|c| {
            c.push(Operation::DestroyClientId, &DestroyClientIdArgs { client });
        })
        .status
    };
    assert_eq!(end(idle.client), Status::Ok);
    assert_eq!(end(idle.client), Status::StaleClientId);
    let own = peer.client;
    let results = peer.compound(|c| {
        c.push(Operation::DestroyClientId, &DestroyClientIdArgs { client: own });
    });
    assert_eq!(results.status, Status::ClientIdBusy);
}
