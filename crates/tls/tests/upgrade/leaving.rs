//! Clients that leave at the worst moments, and come again.

use std::fs;
use std::io::Write;
use std::sync::atomic::Ordering::SeqCst;

use testkit::authority::Authority;
use testkit::wire::RawCall;

use crate::fixture::{ECHO, Fixture, PROGRAM, connect, echoes, handshake_at_once, probe, tls_client, trust};

/// Times that each client comes.
const ROUNDS: usize = 40;

/// A client that connects, does a part of what is to be done, and is gone.
type Leaving = fn(&Fixture, &Authority);

const LEAVING: [(&str, Leaving); 6] = [
    ("behind the offer of TLS", |fixture, _| drop(probe(fixture))),
    ("within its ClientHello", |fixture, authority| {
        let hello = client_hello(authority);
        probe(fixture).write_all(&hello[..hello.len() / 2]).unwrap();
    }),
    ("behind its ClientHello", |fixture, authority| {
        probe(fixture).write_all(&client_hello(authority)).unwrap();
    }),
    ("behind the handshake", |fixture, authority| {
        let mut stream = handshake_at_once(fixture, authority);
        stream.conn.complete_io(&mut stream.sock).unwrap();
    }),
    ("within a call", |fixture, authority| {
        let mut stream = handshake_at_once(fixture, authority);
        let call = RawCall::new(9, (PROGRAM, 1, ECHO)).with_bytes(&[7; 64]).record();
        stream.write_all(&call[..call.len() / 2]).unwrap();
    }),
    ("behind a call, without its reply", |fixture, authority| {
        let mut stream = handshake_at_once(fixture, authority);
        let call = RawCall::new(9, (PROGRAM, 1, ECHO)).with_bytes(&[7; 64]).record();
        stream.write_all(&call).unwrap();
    }),
];

fn client_hello(authority: &Authority) -> Vec<u8> {
    let mut hello = Vec::new();
    tls_client(authority).write_tls(&mut hello).unwrap();
    hello
}

/// The sockets that the server has for connections: neither the one that listens nor those that the system
/// keeps after their end.
fn sockets(fixture: &Fixture) -> usize {
    let own = format!(":{:04X}", fixture.address.port());
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let is_open = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[1].ends_with(&own) && !["0A", "06"].contains(&fields[3])
    };
    table.lines().skip(1).filter(is_open).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_leave_at_any_moment_leave_nothing_behind() {
    let authority = Authority::new();
    let fixture = Fixture::start(&authority, None).await;
    let steady = connect(&fixture, &trust(&authority, "localhost"), None).await.unwrap();
    echoes(&steady, 4).await;
    assert_eq!(sockets(&fixture), 1);
    for _ in 0..ROUNDS {
        for (_, leave) in LEAVING {
            leave(&fixture, &authority);
        }
        echoes(&steady, 4096).await;
    }
    while fixture.service.disconnects.load(SeqCst) < ROUNDS * LEAVING.len() {
        fixture.service.disconnected.notified().await;
    }
    // The server closes a socket right behind the notice.
    while sockets(&fixture) > 1 {
        tokio::task::yield_now().await;
    }
    echoes(&steady, 4).await;
    assert_eq!(steady.generation(), 1);
    // Those of the first three had no handshake that ended.
    assert_eq!(fixture.service.failed_upgrades.load(SeqCst), ROUNDS * 3);
}
