//! Clients and servers over loopback.

#![allow(missing_docs, clippy::unwrap_used)]

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rpc::{Call, CallError, Credential, Disposition, Refusal, Service};
use rpc_net::{Client, ClientOptions, Resolve, ServerOptions, serve};
use testkit::wire::{self, RawCall, words};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use xdr::Encoder;

const PROGRAM: u32 = 400_000;
const ECHO: u32 = 1;
const HELD: u32 = 2;
const PANIC: u32 = 3;
const CALL_BACK: u32 = 4;
const DROPPED: u32 = 5;
const LARGE: u32 = 6;

#[derive(Default)]
struct TestService {
    release: Notify,
    calls: AtomicU64,
    gone: AtomicU64,
    finished: AtomicU64,
}

impl Service for TestService {
    async fn call(&self, mut call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if call.header.program != PROGRAM {
            return Err(Refusal::ProgramUnavailable);
        }
        if call.header.version != 1 {
            return Err(Refusal::ProgramMismatch { low: 1, high: 1 });
        }
        match call.header.procedure {
            ECHO => {
                let value = call.arguments.u32().map_err(|_| Refusal::GarbageArguments)?;
                reply.u32(value);
            }
            HELD => {
                self.release.notified().await;
                self.finished.fetch_add(1, Ordering::SeqCst);
                reply.u32(7);
            }
            PANIC => panic!("on purpose"),
            CALL_BACK => {
                let results = call
                    .connection
                    .call(PROGRAM, 1, ECHO, Credential::None.into(), vec![0, 0, 0, 9], Duration::from_secs(5))
                    .await
                    .map_err(|_| Refusal::SystemError)?;
                reply.buffer_mut().extend_from_slice(&results);
            }
            DROPPED => return Ok(Disposition::Drop),
            LARGE => {
                let length = call.arguments.u32().map_err(|_| Refusal::GarbageArguments)?;
                reply.opaque(&vec![5; length as usize]);
            }
            _ => return Err(Refusal::ProcedureUnavailable),
        }
        Ok(Disposition::Reply)
    }

    fn disconnected(&self, _connection: u64) {
        self.gone.fetch_add(1, Ordering::SeqCst);
    }
}

struct Fixture {
    address: SocketAddr,
    service: Arc<TestService>,
    stop: Option<oneshot::Sender<()>>,
    server: tokio::task::JoinHandle<std::io::Result<()>>,
}

async fn start(options: ServerOptions) -> Fixture {
    start_at("127.0.0.1:0".parse().unwrap(), options).await
}

async fn start_at(address: SocketAddr, options: ServerOptions) -> Fixture {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(address).unwrap();
    let listener: TcpListener = socket.listen(64).unwrap();
    let address = listener.local_addr().unwrap();
    let service = Arc::new(TestService::default());
    let (stop, stopped) = oneshot::channel();
    let server = tokio::spawn(serve(listener, Arc::clone(&service), options, async {
        let _ = stopped.await;
    }));
    Fixture { address, service, stop: Some(stop), server }
}

impl Fixture {
    async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.server.await.unwrap().unwrap();
    }

    async fn client(&self) -> Client {
        Client::connect(self.address, ClientOptions::default()).await.unwrap()
    }
}

async fn echo(client: &Client, value: u32) -> Result<u32, CallError> {
    let mut reply = client.call(PROGRAM, 1, ECHO, |e| e.u32(value)).await?;
    reply.results.u32().map_err(CallError::Protocol)
}

/// Sends raw bytes and returns what comes back until the server closes or `length` bytes are there.
async fn raw(address: SocketAddr, bytes: &[u8], length: usize) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match stream.read(&mut answer[filled..]).await {
            Ok(0) | Err(_) => break,
            Ok(count) => filled += count,
        }
    }
    answer.truncate(filled);
    answer
}

fn record(values: &[u32]) -> Vec<u8> {
    wire::record(&words(values))
}

#[tokio::test]
async fn refusals_have_the_bytes_of_the_standard() {
    let fixture = start(ServerOptions::default()).await;
    // xid, CALL, RPC version, program, version, procedure, credential, verifier.
    let call =
        |rpc, program, version, procedure| record(&[77, 0, rpc, program, version, procedure, 0, 0, 0, 0]);
    let cases: [(Vec<u8>, &[u32]); 5] = [
        (call(2, 1, 1, 1), &[77, 1, 0, 0, 0, 1]),
        (call(2, PROGRAM, 9, 1), &[77, 1, 0, 0, 0, 2, 1, 1]),
        (call(2, PROGRAM, 1, 99), &[77, 1, 0, 0, 0, 3]),
        (call(2, PROGRAM, 1, ECHO), &[77, 1, 0, 0, 0, 4]),
        (call(3, PROGRAM, 1, 1), &[77, 1, 1, 0, 2, 2]),
    ];
    for (request, expected) in cases {
        assert_eq!(raw(fixture.address, &request, expected.len() * 4 + 4).await, record(expected));
    }
    // AUTH_SYS with a body that is too short: AUTH_ERROR, AUTH_BADCRED.
    let request = record(&[77, 0, 2, PROGRAM, 1, ECHO, 1, 4, 0, 0, 0]);
    assert_eq!(raw(fixture.address, &request, 24).await, record(&[77, 1, 1, 1, 1]));
    fixture.stop().await;
}

#[tokio::test]
async fn a_broken_stream_ends_its_own_connection_only() {
    let options = ServerOptions { record_bytes_max: 1000, fragments_max: 2, ..ServerOptions::default() };
    let fixture = start(options).await;
    let client = fixture.client().await;
    for garbage in [words(&[0x8000_03e9]), words(&[0, 0, 0, 0]), record(&[1, 9]), record(&[1])] {
        assert_eq!(raw(fixture.address, &garbage, 4).await, Vec::<u8>::new());
    }
    assert_eq!(echo(&client, 5).await.unwrap(), 5);
    fixture.stop().await;
}

#[tokio::test(start_paused = true)]
async fn half_a_record_is_not_waited_for_without_end() {
    let fixture = start(ServerOptions::default()).await;
    assert_eq!(raw(fixture.address, &words(&[0x8000_0100, 1, 2]), 4).await, Vec::<u8>::new());
    fixture.stop().await;
}

/// An ECHO of `value` with so many bytes behind it that nobody reads.
fn large_call(value: u32, bytes: usize) -> Vec<u8> {
    let mut arguments = words(&[value]);
    arguments.resize(arguments.len() + bytes, 0);
    RawCall::new(77, (PROGRAM, 1, ECHO)).with_bytes(&arguments).record()
}

#[tokio::test]
async fn a_large_record_is_answered_whatever_the_pieces_that_it_comes_in() {
    let fixture = start(ServerOptions::default()).await;
    let mut stream = TcpStream::connect(fixture.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let length = large_call(0, 1 << 20).len();
    let pieces: [&[usize]; 5] = [
        &[1, 4, length - 1],
        &[1000, 600_000, length - 200_000, length - 100],
        &[300_000],
        &[length - 1],
        &[5, 500_000, 524_288 + 500_000],
    ];
    for (value, cuts) in (1..).zip(pieces) {
        let call = large_call(value, 1 << 20);
        let mut from = 0;
        for &until in cuts {
            stream.write_all(&call[from..until]).await.unwrap();
            // The server has read this when it gets the next.
            tokio::time::sleep(Duration::from_millis(10)).await;
            from = until;
        }
        // A small one comes along with the end, and another behind.
        let small = |value| large_call(value, 0);
        stream.write_all(&[&call[from..], &small(100 + value)].concat()).await.unwrap();
        let mut answers = vec![0; 2 * 32];
        stream.read_exact(&mut answers).await.unwrap();
        let answer = |value| record(&[77, 1, 0, 0, 0, 0, value]);
        assert_eq!(answers, [answer(value), answer(100 + value)].concat());
        stream.write_all(&small(200 + value)).await.unwrap();
        stream.read_exact(&mut answers[..32]).await.unwrap();
        assert_eq!(answers[..32], answer(200 + value));
    }
    fixture.stop().await;
}

#[tokio::test]
async fn connection_lost_within_a_large_record_is_noticed() {
    let fixture = start(ServerOptions::default()).await;
    let mut stream = TcpStream::connect(fixture.address).await.unwrap();
    stream.write_all(&large_call(1, 1 << 20)[..300_000]).await.unwrap();
    drop(stream);
    while fixture.service.gone.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    fixture.stop().await;
}

#[tokio::test(start_paused = true)]
async fn half_a_large_record_is_not_waited_for_without_end() {
    let fixture = start(ServerOptions::default()).await;
    assert_eq!(raw(fixture.address, &large_call(1, 1 << 20)[..300_000], 4).await, Vec::<u8>::new());
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_interleaved_calls_get_their_own_answers() {
    let fixture = start(ServerOptions::default()).await;
    let client = fixture.client().await;
    let tasks: Vec<_> = (0..100u32)
        .map(|task| {
            let client = client.clone();
            tokio::spawn(async move {
                for i in 0..100 {
                    assert_eq!(echo(&client, task * 100 + i).await.unwrap(), task * 100 + i);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(fixture.service.calls.load(Ordering::SeqCst), 10_000);
    fixture.stop().await;
}

#[tokio::test]
async fn a_call_that_waits_holds_up_nobody() {
    let fixture = start(ServerOptions::default()).await;
    let client = fixture.client().await;
    let held = tokio::spawn({
        let client = client.clone();
        async move { client.call(PROGRAM, 1, HELD, |_| {}).await.map(|mut r| r.results.u32().unwrap()) }
    });
    for value in 0..100 {
        assert_eq!(echo(&client, value).await.unwrap(), value);
    }
    assert!(!held.is_finished());
    fixture.service.release.notify_one();
    assert_eq!(held.await.unwrap().unwrap(), 7);
    fixture.stop().await;
}

#[tokio::test]
async fn nothing_is_read_while_too_many_calls_wait() {
    let options = ServerOptions { requests_in_flight_max: 3, ..ServerOptions::default() };
    let fixture = start(options).await;
    let client = fixture.client().await;
    let held: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call(PROGRAM, 1, HELD, |_| {}).await.map(|_| ()) })
        })
        .collect();
    while fixture.service.calls.load(Ordering::SeqCst) < 3 {
        tokio::task::yield_now().await;
    }
    for _ in 0..8 {
        fixture.service.release.notify_one();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for call in held {
        call.await.unwrap().unwrap();
    }
    fixture.stop().await;
}

#[tokio::test]
async fn a_panic_costs_one_connection() {
    let fixture = start(ServerOptions::default()).await;
    let client = fixture.client().await;
    assert!(matches!(client.call(PROGRAM, 1, PANIC, |_| {}).await, Err(CallError::Disconnected)));
    assert_eq!(echo(&client, 3).await.unwrap(), 3, "on a new connection");
    assert_eq!(client.generation(), 2);
    fixture.stop().await;
}

#[tokio::test]
async fn a_reader_that_does_not_read_stalls_only_itself() {
    let options = ServerOptions { replies_pending_bytes_max: 1 << 20, ..ServerOptions::default() };
    let fixture = start(options).await;
    let mut lazy = TcpStream::connect(fixture.address).await.unwrap();
    let request = record(&[1, 0, 2, PROGRAM, 1, LARGE, 0, 0, 0, 0, 1 << 20]);
    for _ in 0..64 {
        lazy.write_all(&request).await.unwrap();
    }
    let client = fixture.client().await;
    assert_eq!(echo(&client, 1).await.unwrap(), 1);
    let mut total = 0usize;
    let mut buffer = vec![0; 1 << 20];
    while total < 64 * ((1 << 20) + 32) {
        total += lazy.read(&mut buffer).await.unwrap();
    }
    assert_eq!(fixture.service.calls.load(Ordering::SeqCst), 65);
    fixture.stop().await;
}

#[tokio::test]
async fn calls_go_both_ways_over_one_connection() {
    let fixture = start(ServerOptions::default()).await;
    let own = Arc::new(TestService::default());
    let client = Client::connect_with_callbacks(fixture.address, ClientOptions::default(), Arc::clone(&own))
        .await
        .unwrap();
    let mut reply = client.call(PROGRAM, 1, CALL_BACK, |_| {}).await.unwrap();
    assert_eq!(reply.results.u32(), Ok(9));
    assert_eq!(own.calls.load(Ordering::SeqCst), 1);
    fixture.stop().await;
}

#[tokio::test]
async fn a_lost_connection_leaves_the_outcome_open_unless_retransmitted() {
    let fixture = start(ServerOptions::default()).await;
    let client = fixture.client().await;
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call(PROGRAM, 1, HELD, |_| {}).await.map(|_| ()) }
    });
    while fixture.service.calls.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    client.disconnect();
    assert!(matches!(call.await.unwrap(), Err(CallError::Disconnected)));

    let options = ClientOptions { retransmit: true, ..ClientOptions::default() };
    let client = Client::connect(fixture.address, options).await.unwrap();
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call(PROGRAM, 1, HELD, |_| {}).await.map(|_| ()) }
    });
    while fixture.service.calls.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    client.disconnect();
    while fixture.service.calls.load(Ordering::SeqCst) < 3 {
        tokio::task::yield_now().await;
    }
    fixture.service.release.notify_one();
    fixture.service.release.notify_waiters();
    call.await.unwrap().unwrap();
    fixture.stop().await;
}

/// Both addresses of this machine that a server here may have.
#[derive(Debug)]
struct Name;

impl Resolve for Name {
    fn resolve(&self) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + '_>> {
        Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2])]) })
    }
}

#[tokio::test]
async fn a_server_that_is_back_at_another_address_of_its_name_is_found() {
    let fixture = start(ServerOptions::default()).await;
    let options =
        ClientOptions { retransmit: true, resolver: Some(Arc::new(Name)), ..ClientOptions::default() };
    let client = Client::connect(fixture.address, options).await.unwrap();
    assert_eq!(echo(&client, 1).await.unwrap(), 1);
    let moved = SocketAddr::from(([127, 0, 0, 2], fixture.address.port()));
    fixture.stop().await;
    let fixture = start_at(moved, ServerOptions::default()).await;
    assert_eq!(echo(&client, 2).await.unwrap(), 2);
    assert_eq!(fixture.service.calls.load(Ordering::SeqCst), 1);
    fixture.stop().await;
}

#[tokio::test]
async fn a_call_that_was_begun_is_brought_to_its_end_without_its_connection() {
    let fixture = start(ServerOptions::default()).await;
    let client = fixture.client().await;
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call(PROGRAM, 1, HELD, |_| {}).await.map(|_| ()) }
    });
    while fixture.service.calls.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    client.disconnect();
    call.await.unwrap().unwrap_err();
    while fixture.service.gone.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    fixture.service.release.notify_one();
    while fixture.service.finished.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    fixture.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_times_out() {
    let fixture = start(ServerOptions::default()).await;
    let client = fixture.client().await;
    assert!(matches!(client.call(PROGRAM, 1, DROPPED, |_| {}).await, Err(CallError::Timeout)));
    assert!(client.is_connected());
    fixture.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_answers_what_it_has_begun() {
    let fixture = start(ServerOptions::default()).await;
    let client = fixture.client().await;
    let held = tokio::spawn({
        let client = client.clone();
        async move { client.call(PROGRAM, 1, HELD, |_| {}).await.map(|_| ()) }
    });
    while fixture.service.calls.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let service = Arc::clone(&fixture.service);
    let address = fixture.address;
    let stopping = tokio::spawn(fixture.stop());
    tokio::task::yield_now().await;
    service.release.notify_one();
    held.await.unwrap().unwrap();
    stopping.await.unwrap();
    assert_eq!(service.gone.load(Ordering::SeqCst), 1);
    let error = Client::connect(address, ClientOptions::default()).await.unwrap_err();
    assert!(matches!(error, CallError::Connect(_)));
}

#[tokio::test]
async fn one_connection_too_many_is_closed() {
    let fixture = start(ServerOptions { connections_max: 1, ..ServerOptions::default() }).await;
    let client = fixture.client().await;
    assert_eq!(echo(&client, 1).await.unwrap(), 1);
    let request = record(&[1, 0, 2, PROGRAM, 1, ECHO, 0, 0, 0, 0, 4]);
    assert_eq!(raw(fixture.address, &request, 4).await, Vec::<u8>::new());
    assert_eq!(echo(&client, 2).await.unwrap(), 2);
    fixture.stop().await;
}

#[tokio::test]
async fn server_that_closes_every_connection_is_asked_with_pauses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&accepted);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            drop(stream);
        }
    });
    for retransmit in [true, false] {
        accepted.store(0, Ordering::SeqCst);
        let options =
            ClientOptions { retransmit, call_timeout: Duration::from_secs(1), ..ClientOptions::default() };
        let client = Client::connect(address, options).await.unwrap();
        let calls = async {
            loop {
                let _ = client.call(PROGRAM, 1, ECHO, |arguments| arguments.u32(1)).await;
            }
        };
        // The pauses double from 5 ms on: there is no room for more in a second.
        let _ = tokio::time::timeout(Duration::from_secs(1), calls).await;
        let connections = accepted.load(Ordering::SeqCst);
        assert!((2..=10).contains(&connections), "{connections} with retransmit {retransmit}");
    }
}
