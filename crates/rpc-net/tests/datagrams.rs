//! Calls in single datagrams, and single calls over streams, over loopback.

#![allow(missing_docs, clippy::unwrap_used)]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use rpc::{Call, CallError, Credential, Disposition, Refusal, Service, Transport};
use rpc_net::{DatagramOptions, Destination, OneCall, ServerOptions, call_once, serve, serve_datagrams};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::Notify;
use xdr::Encoder;

const PROGRAM: u32 = 400_000;
const COUNT: u32 = 1;
const HELD: u32 = 2;
const PANIC: u32 = 3;
const LARGE: u32 = 4;
const TRANSPORT: u32 = 5;

#[derive(Default)]
struct TestService {
    calls: AtomicU64,
    release: Notify,
}

impl Service for TestService {
    async fn call(&self, mut call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        if call.header.program != PROGRAM {
            return Err(Refusal::ProgramUnavailable);
        }
        let number = self.calls.fetch_add(1, Ordering::SeqCst) as u32;
        match call.header.procedure {
            COUNT => reply.u32(number),
            HELD => self.release.notified().await,
            PANIC => panic!("on purpose"),
            LARGE => {
                let length = call.arguments.u32().map_err(|_| Refusal::GarbageArguments)?;
                reply.opaque(&vec![5; length as usize]);
            }
            _ => reply.u32(u32::from(call.connection.transport() == Transport::Udp)),
        }
        Ok(Disposition::Reply)
    }
}

async fn start(options: DatagramOptions) -> (SocketAddr, Arc<TestService>) {
    let service = Arc::new(TestService::default());
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(serve_datagrams(socket, Arc::clone(&service), options, std::future::pending()));
    (address, service)
}

fn call(procedure: u32, arguments: &[u8]) -> OneCall {
    let arguments = arguments.to_vec();
    OneCall { program: PROGRAM, version: 1, procedure, credential: Credential::None, arguments }
}

fn to(transport: Transport, to: SocketAddr) -> Destination {
    Destination::Network { transport, local: Some(Ipv4Addr::LOCALHOST.into()), to }
}

const LONG: Duration = Duration::from_secs(20);

/// A call as bytes.
fn datagram(xid: u32, procedure: u32, arguments: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new();
    for word in [xid, 0, 2, PROGRAM, 1, procedure, 0, 0, 0, 0] {
        encoder.u32(word);
    }
    encoder.buffer_mut().extend_from_slice(arguments);
    encoder.into_inner()
}

async fn client(server: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    socket.connect(server).await.unwrap();
    socket
}

async fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = vec![0; 65_536];
    let length = tokio::time::timeout(LONG, socket.recv(&mut buffer)).await.unwrap().unwrap();
    buffer.truncate(length);
    buffer
}

/// The number that the service gave to the call of this reply.
fn number(reply: &[u8]) -> u32 {
    u32::from_be_bytes(*reply.last_chunk().unwrap())
}

#[tokio::test]
async fn a_call_is_answered_over_either_transport() {
    let (address, service) = start(DatagramOptions::default()).await;
    let results = call_once(&to(Transport::Udp, address), call(TRANSPORT, &[]), LONG).await.unwrap();
    assert_eq!(results, Bytes::from_static(&[0, 0, 0, 1]));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, service, ServerOptions::default(), std::future::pending()));
    let results = call_once(&to(Transport::Tcp, address), call(TRANSPORT, &[]), LONG).await.unwrap();
    assert_eq!(results, Bytes::from_static(&[0, 0, 0, 0]));
}

#[tokio::test]
async fn a_refusal_is_told_over_either_transport() {
    let (address, service) = start(DatagramOptions::default()).await;
    let unknown = OneCall { program: 1, ..call(COUNT, &[]) };
    let refused = call_once(&to(Transport::Udp, address), unknown.clone(), LONG).await;
    assert!(matches!(refused, Err(CallError::Refused(Refusal::ProgramUnavailable))), "{refused:?}");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, service, ServerOptions::default(), std::future::pending()));
    let refused = call_once(&to(Transport::Tcp, address), unknown, LONG).await;
    assert!(matches!(refused, Err(CallError::Refused(Refusal::ProgramUnavailable))), "{refused:?}");
}

#[tokio::test]
async fn closed_port_is_an_error_and_silence_a_timeout() {
    let closed = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    for transport in [Transport::Tcp, Transport::Udp] {
        let outcome = call_once(&to(transport, closed), call(COUNT, &[]), LONG).await;
        assert!(matches!(outcome, Err(CallError::Connect(_))), "{transport:?}: {outcome:?}");
    }
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = silent.local_addr().unwrap();
    let outcome = call_once(&to(Transport::Udp, address), call(COUNT, &[]), Duration::from_millis(700)).await;
    assert!(matches!(outcome, Err(CallError::Timeout)), "{outcome:?}");
    let mut buffer = [0; 100];
    for _ in 0..2 {
        assert_eq!(silent.recv(&mut buffer).await.unwrap(), 40, "it was sent again");
    }
}

#[tokio::test]
async fn the_same_datagram_is_carried_out_once() {
    let (address, service) = start(DatagramOptions::default()).await;
    let socket = client(address).await;
    for (xid, expected) in [(1, 0), (1, 0), (2, 1), (1, 0), (2, 1)] {
        socket.send(&datagram(xid, COUNT, &[])).await.unwrap();
        assert_eq!(number(&receive(&socket).await), expected);
    }
    let other = client(address).await;
    other.send(&datagram(1, COUNT, &[])).await.unwrap();
    assert_eq!(number(&receive(&other).await), 2, "another sender's call");
    // One that is still under way is not begun again.
    for _ in 0..3 {
        socket.send(&datagram(9, HELD, &[])).await.unwrap();
    }
    socket.send(&datagram(10, COUNT, &[])).await.unwrap();
    assert_eq!(number(&receive(&socket).await), 4, "the held call is the fourth");
    service.release.notify_waiters();
    assert_eq!(receive(&socket).await.len(), 24);
}

#[tokio::test]
async fn a_reply_is_no_more_than_three_times_its_call() {
    let (address, _service) = start(DatagramOptions::default()).await;
    let socket = client(address).await;
    // A call of 44 bytes; a reply of 28 and what is asked for.
    for (length, whole) in [(104_u32, true), (108, false), (60_000, false)] {
        let call = datagram(length, LARGE, &length.to_be_bytes());
        socket.send(&call).await.unwrap();
        let reply = receive(&socket).await;
        assert!(reply.len() <= 3 * call.len());
        assert_eq!(reply.len(), if whole { 28 + length as usize } else { 24 });
        assert_eq!(reply[20..24], if whole { [0; 4] } else { [0, 0, 0, 5] }, "SYSTEM_ERR");
    }
}

#[tokio::test]
async fn invalid_datagram_is_dropped_and_panic_is_contained() {
    let options = DatagramOptions { call_bytes_max: 100, in_flight_max: 2, ..DatagramOptions::default() };
    let (address, service) = start(options).await;
    let socket = client(address).await;
    let reply = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0];
    for garbage in [&[][..], &[0; 3], &reply, &[0xff; 60], &datagram(3, COUNT, &[0; 61])] {
        socket.send(garbage).await.unwrap();
    }
    socket.send(&datagram(4, PANIC, &[])).await.unwrap();
    socket.send(&datagram(5, HELD, &[])).await.unwrap();
    socket.send(&datagram(6, COUNT, &[])).await.unwrap();
    assert_eq!(
        receive(&socket).await[..4],
        [0, 0, 0, 6],
        "the first reply is to the first call that has one"
    );
    socket.send(&datagram(7, HELD, &[])).await.unwrap();
    // Two are under way: the third is dropped, and may be sent again.
    socket.send(&datagram(8, COUNT, &[])).await.unwrap();
    // A call in another version of RPC is refused at once, and so tells that all before it were looked at.
    let mut other_version = datagram(11, COUNT, &[]);
    other_version[11] = 3;
    socket.send(&other_version).await.unwrap();
    assert_eq!(receive(&socket).await[..4], [0, 0, 0, 11]);
    while service.calls.load(Ordering::SeqCst) < 4 {
        tokio::task::yield_now().await;
    }
    service.release.notify_waiters();
    let mut ended = [receive(&socket).await[3], receive(&socket).await[3]];
    ended.sort_unstable();
    assert_eq!(ended, [5, 7]);
    socket.send(&datagram(8, COUNT, &[])).await.unwrap();
    assert_eq!(receive(&socket).await[..4], [0, 0, 0, 8]);
}
