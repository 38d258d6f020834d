//! The upgrade of a connection (RFC 9289 §4.1), and hostile orders of it.

#![allow(missing_docs, clippy::unwrap_used)]

mod doubles;

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use doubles::{
    BEGIN_CALLBACK, CALL_BACK, CLIENT_NAME, Fixture, HANG, MaskUpgrade, PROGRAM, SERVER_NAME, TELL, Tells,
    masked, principal, start,
};
use rpc::auth::{AUTH_TLS, STARTTLS};
use rpc::{CallError, NoService};
use rpc_net::{Client, ClientOptions, ServerOptions, UpgradeDemand, serve};
use testkit::peer::{RawPeer, listen};
use testkit::wire::{RawCall, record};
use tokio::net::TcpListener;
use xdr::Encoder;

fn call(procedure: u32) -> Vec<u8> {
    RawCall::new(7, (PROGRAM, 1, procedure)).record()
}

fn probe() -> Vec<u8> {
    RawCall::new(7, (PROGRAM, 1, 0)).with_credential(AUTH_TLS, b"").record()
}

/// The record of an accepted reply with this verifier and these results.
fn reply(verifier: &[u8], results: &[u8]) -> Vec<u8> {
    let mut reply = Encoder::new();
    for word in [7, 1, 0, 0] {
        reply.u32(word);
    }
    reply.opaque(verifier);
    reply.u32(0);
    reply.buffer_mut().extend_from_slice(results);
    record(reply.as_slice())
}

fn offer() -> Vec<u8> {
    reply(STARTTLS, b"")
}

/// REPLY, DENIED, AUTH_ERROR, AUTH_BADCRED.
fn bad_credential() -> Vec<u8> {
    record(&[7, 1, 1, 1, 1].map(u32::to_be_bytes).concat())
}

fn connect(fixture: &Fixture) -> TcpStream {
    let stream = TcpStream::connect(fixture.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// Sends bytes and expects these ones.
fn exchange(stream: &mut TcpStream, sent: &[u8], expected: &[u8]) {
    stream.write_all(sent).unwrap();
    let mut received = Vec::new();
    stream.take(expected.len() as u64).read_to_end(&mut received).unwrap();
    assert_eq!(received, expected);
}

/// Reads to the end of the connection.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        // The server closed it with bytes of ours unread.
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
    }
    rest
}

/// Sends bytes, and expects that the server closes the connection without a byte and counts it.
async fn refuses(fixture: &Fixture, stream: &mut TcpStream, sent: &[u8]) {
    let before = fixture.service.failed_upgrades.load(SeqCst);
    stream.write_all(sent).unwrap();
    assert_eq!(rest(stream), b"");
    fixture.service.disconnected.notified().await;
    assert_eq!(fixture.service.failed_upgrades.load(SeqCst), before + 1);
    assert_eq!(fixture.handshakes.load(SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_before_and_after_an_upgrade_see_their_channel() {
    let fixture = start(ServerOptions::default()).await;
    let mut stream = connect(&fixture);
    let plain = reply(b"", &principal(b"plain"));
    exchange(&mut stream, &call(TELL), &plain);
    // Replies of the same pass leave before the handshake.
    exchange(&mut stream, &[call(TELL), probe()].concat(), &[plain, offer()].concat());
    exchange(&mut stream, CLIENT_NAME, SERVER_NAME);
    let upgraded = masked(&reply(b"", &principal(CLIENT_NAME)));
    exchange(&mut stream, &masked(&call(TELL)), &upgraded);
    assert_eq!(fixture.service.failed_upgrades.load(SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_probe_is_refused_and_the_connection_goes_on() {
    let fixture = start(ServerOptions::default()).await;
    let mut stream = connect(&fixture);
    exchange(&mut stream, &probe(), &offer());
    exchange(&mut stream, CLIENT_NAME, SERVER_NAME);
    exchange(&mut stream, &masked(&probe()), &masked(&bad_credential()));
    exchange(&mut stream, &masked(&call(TELL)), &masked(&reply(b"", &principal(CLIENT_NAME))));
    assert_eq!(fixture.handshakes.load(SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_behind_the_probe_close_the_connection() {
    let fixture = start(ServerOptions::default()).await;
    for behind in [&call(TELL)[..], CLIENT_NAME, b"\x80"] {
        refuses(&fixture, &mut connect(&fixture), &[&probe()[..], behind].concat()).await;
    }
    assert_eq!(fixture.service.calls.load(SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probe_behind_a_waiting_call_closes_the_connection() {
    let fixture = start(ServerOptions::default()).await;
    refuses(&fixture, &mut connect(&fixture), &[call(HANG), probe()].concat()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probe_during_a_callback_closes_the_connection() {
    let fixture = start(ServerOptions::default()).await;
    let mut peer = RawPeer::connect(fixture.address).unwrap();
    peer.send(&call(BEGIN_CALLBACK)).unwrap();
    // The reply and the callback, in either order.
    for _ in 0..2 {
        peer.receive().unwrap();
    }
    peer.send(&probe()).unwrap();
    assert!(peer.receive().is_err());
    fixture.service.disconnected.notified().await;
    assert_eq!(fixture.service.failed_upgrades.load(SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshake_that_never_ends_closes_the_connection() {
    let options =
        ServerOptions { partial_record_timeout: Duration::from_millis(50), ..ServerOptions::default() };
    let fixture = start(options).await;
    let mut stream = connect(&fixture);
    exchange(&mut stream, &probe(), &offer());
    refuses(&fixture, &mut stream, b"an").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshake_that_fails_closes_the_connection() {
    let fixture = start(ServerOptions::default()).await;
    let mut stream = connect(&fixture);
    exchange(&mut stream, &probe(), &offer());
    refuses(&fixture, &mut stream, b"ann?").await;
}

fn demanding() -> ClientOptions {
    let upgrade = Arc::new(MaskUpgrade { own_name: CLIENT_NAME, done: Arc::default() });
    let upgrade = Some(UpgradeDemand { program: PROGRAM, version: 1, upgrade });
    ClientOptions { upgrade, ..ClientOptions::default() }
}

async fn ask(client: &Client, procedure: u32) -> Vec<u8> {
    client.call(PROGRAM, 1, procedure, |_| ()).await.unwrap().results.rest_ref().to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_upgrades_each_connection_before_its_first_call() {
    let fixture = start(ServerOptions::default()).await;
    let callbacks = Arc::new(Tells::default());
    let client = Client::connect_with_callbacks(fixture.address, demanding(), callbacks).await.unwrap();
    for handshakes in 1..=2 {
        assert_eq!(ask(&client, TELL).await, principal(CLIENT_NAME));
        assert_eq!(ask(&client, CALL_BACK).await, principal(SERVER_NAME));
        assert_eq!(fixture.handshakes.load(SeqCst), handshakes);
        client.disconnect();
    }
}

fn connect_error(connected: Result<Client, CallError>) -> io::ErrorKind {
    match connected.unwrap_err() {
        CallError::Connect(error) => error.kind(),
        other => unreachable!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_sends_no_call_to_a_server_that_offers_no_upgrade() {
    // One whose authenticator takes AUTH_TLS for any flavor, and one that has none to offer.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, Arc::new(NoService), ServerOptions::default(), std::future::pending()));
    assert_eq!(connect_error(Client::connect(address, demanding()).await), io::ErrorKind::Unsupported);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, service) = (listener.local_addr().unwrap(), Arc::new(Tells::default()));
    tokio::spawn(serve(listener, Arc::clone(&service), ServerOptions::default(), std::future::pending()));
    assert_eq!(connect_error(Client::connect(address, demanding()).await), io::ErrorKind::Unsupported);
    assert_eq!((service.calls.load(SeqCst), service.failed_upgrades.load(SeqCst)), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_refuses_bytes_behind_the_offer() {
    let (listener, address) = listen();
    let server = tokio::task::spawn_blocking(move || {
        let mut peer = RawPeer::accept(&listener).unwrap();
        let probe = peer.receive().unwrap();
        let mut offer = offer();
        offer[4..8].copy_from_slice(&probe[..4]);
        peer.send(&[&offer[..], SERVER_NAME].concat()).unwrap();
        assert!(peer.receive().is_err(), "the client closes the connection");
    });
    assert_eq!(connect_error(Client::connect(address, demanding()).await), io::ErrorKind::InvalidData);
    server.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_gives_up_a_handshake_that_never_ends() {
    let (listener, address) = listen();
    let server = tokio::task::spawn_blocking(move || {
        let mut peer = RawPeer::accept(&listener).unwrap();
        peer.receive().unwrap();
        assert!(peer.receive().is_err(), "the client closes the connection");
    });
    let options = ClientOptions { connect_timeout: Duration::from_millis(50), ..demanding() };
    assert_eq!(connect_error(Client::connect(address, options).await), io::ErrorKind::TimedOut);
    server.await.unwrap();
}
