//! The memory that clients can make a server hold, and the clients served meanwhile. A client is known by its
//! address: 127.0.0.x.

#![allow(missing_docs, clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use rpc::MemoryUse;
use rpc::{Call, Disposition, Refusal, Service};
use rpc_net::memory::MemoryBudget;
use rpc_net::{ServerOptions, serve_within};
use testkit::wire::RawCall;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use xdr::Encoder;

const PROGRAM: u32 = 400_000;
const ECHO: u32 = 1;
/// Waits until the service is released.
const HELD: u32 = 2;
/// The same; it may be cancelled, and its reply may have 1 MiB.
const CANCELLABLE: u32 = 3;
/// Has a reply of 1 MiB.
const LARGE: u32 = 4;

const MIB: u64 = 1 << 20;
/// An eighth is left for others, and one client may have half of the rest.
const BUDGET: u64 = 32 * MIB;
/// A share while no connection is open: the buffers of connections come off the pool.
const SHARE: u64 = 14 * MIB;
/// Every wait of a test ends.
const PATIENCE: Duration = Duration::from_secs(120);

struct TestService {
    released: watch::Sender<bool>,
    calls: AtomicU64,
    under_way: AtomicU64,
    gave_way: AtomicU64,
    has_backchannel: AtomicBool,
}

struct UnderWay<'a>(&'a AtomicU64);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Service for TestService {
    async fn call(&self, mut call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        self.calls.fetch_add(1, SeqCst);
        self.under_way.fetch_add(1, SeqCst);
        let _under_way = UnderWay(&self.under_way);
        let value = call.arguments.u32().map_err(|_| Refusal::GarbageArguments)?;
        match call.header.procedure {
            HELD | CANCELLABLE => {
                if call.header.procedure == CANCELLABLE {
                    call.connection.set_cancellable(true);
                    call.connection.expect_reply(1 << 20);
                }
                // Its sender is this service's.
                let _ = self.released.subscribe().wait_for(|released| *released).await;
                reply.u32(value);
            }
            LARGE => reply.opaque(&[5; 1 << 20]),
            _ => reply.u32(value),
        }
        Ok(Disposition::Reply)
    }

    fn gave_way(&self) {
        self.gave_way.fetch_add(1, SeqCst);
    }

    fn is_only_backchannel(&self, _connection: u64) -> bool {
        self.has_backchannel.load(SeqCst)
    }
}

struct Fixture {
    address: SocketAddr,
    service: Arc<TestService>,
    memory: Arc<MemoryBudget>,
}

async fn start(options: ServerOptions) -> Fixture {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = Arc::new(TestService {
        released: watch::Sender::new(false),
        calls: AtomicU64::new(0),
        under_way: AtomicU64::new(0),
        gave_way: AtomicU64::new(0),
        has_backchannel: AtomicBool::new(false),
    });
    let memory = MemoryBudget::new(BUDGET);
    tokio::spawn(serve_within(
        listener,
        Arc::clone(&service),
        options,
        Arc::clone(&memory),
        std::future::pending(),
    ));
    Fixture { address, service, memory }
}

impl Fixture {
    async fn connect(&self, client: u8) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, client], 0))).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    async fn until(&self, mut condition: impl FnMut(MemoryUse) -> bool) {
        let wait = async {
            while !condition(self.memory.memory_use()) {
                sleep(Duration::from_millis(2)).await;
            }
        };
        if timeout(PATIENCE, wait).await.is_err() {
            let calls = (self.service.calls.load(SeqCst), self.service.under_way.load(SeqCst));
            panic!("{:?} and {calls:?} calls", self.memory.memory_use());
        }
    }
}

fn call(procedure: u32, value: u32, bytes: usize) -> Vec<u8> {
    let mut arguments = value.to_be_bytes().to_vec();
    arguments.resize(arguments.len() + bytes, 0);
    RawCall::new(value, (PROGRAM, 1, procedure)).with_bytes(&arguments).record()
}

async fn echo(stream: &mut TcpStream, value: u32) {
    stream.write_all(&call(ECHO, value, 0)).await.unwrap();
    assert_eq!(timeout(PATIENCE, small_reply(stream)).await.unwrap(), value);
}

/// The value of the next reply, which is a small one.
async fn small_reply(stream: &mut (impl AsyncReadExt + Unpin)) -> u32 {
    let mut reply = [0; 32];
    stream.read_exact(&mut reply).await.unwrap();
    u32::from_be_bytes(reply[28..].try_into().unwrap())
}

/// True when the other end has closed it.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut byte = [0];
    !matches!(timeout(PATIENCE * 100, stream.read(&mut byte)).await.unwrap(), Ok(1))
}

fn send(stream: TcpStream, bytes: Vec<u8>) -> (OwnedReadHalf, tokio::task::JoinHandle<OwnedWriteHalf>) {
    let (from, mut to) = stream.into_split();
    let writing = tokio::spawn(async move {
        to.write_all(&bytes).await.unwrap();
        to
    });
    (from, writing)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_over_its_share_is_not_read_until_its_calls_end() {
    let fixture = start(ServerOptions::default()).await;
    let mut connections = Vec::new();
    for _ in 0..4 {
        let calls: Vec<u8> = (0..16).flat_map(|value| call(HELD, value, 1 << 20)).collect();
        connections.push(send(fixture.connect(1).await, calls));
    }
    fixture.until(|used| used.stopped_connections == 4).await;
    let used = fixture.memory.memory_use();
    assert!(used.heaviest > used.share && used.requests + used.calls < SHARE + 6 * MIB, "{used:?}");
    let mut light = fixture.connect(2).await;
    for value in 0..100 {
        echo(&mut light, value).await;
    }
    fixture.service.released.send_replace(true);
    for (mut from, writing) in connections {
        let mut values = Vec::new();
        for _ in 0..16 {
            values.push(timeout(PATIENCE, small_reply(&mut from)).await.unwrap());
        }
        values.sort_unstable();
        assert_eq!(values, (0..16).collect::<Vec<_>>());
        writing.await.unwrap();
    }
    fixture.until(|used| (used.requests, used.calls, used.stopped_connections) == (0, 0, 0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_replies_are_bounded_for_each_client() {
    let fixture = start(ServerOptions::default()).await;
    let mut connections = Vec::new();
    for _ in 0..24 {
        let calls: Vec<u8> = (0..12).flat_map(|value| call(LARGE, value, 0)).collect();
        connections.push(send(fixture.connect(1).await, calls));
    }
    fixture.until(|used| used.stopped_connections > 0).await;
    let mut light = fixture.connect(2).await;
    for value in 0..1000 {
        echo(&mut light, value).await;
        let used = fixture.memory.memory_use();
        assert!(used.replies + used.requests < SHARE + 6 * MIB, "{used:?}");
    }
    // A client that begins to read gets everything.
    let reading = connections.into_iter().map(|(mut from, writing)| async move {
        let mut left = 12 * (32 + (1 << 20));
        let mut buffer = vec![0; 1 << 16];
        while left > 0 {
            let count = timeout(PATIENCE, from.read(&mut buffer)).await.unwrap().unwrap();
            assert!(count > 0, "{left} bytes are missing");
            left -= count;
        }
        writing.await.unwrap();
    });
    for (number, connection) in reading.map(tokio::spawn).collect::<Vec<_>>().into_iter().enumerate() {
        assert!(connection.await.is_ok(), "{number}: {:?}", fixture.memory.memory_use());
    }
    fixture.until(|used| used.replies == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancellable_calls_end_with_their_connection() {
    let fixture = start(ServerOptions::default()).await;
    for round in 1..=20 {
        let calls: Vec<u8> = (0..512).flat_map(|value| call(CANCELLABLE, value, 0)).collect();
        let begun = fixture.service.calls.load(SeqCst);
        let (from, writing) = send(fixture.connect(1).await, calls);
        fixture.until(|_| fixture.service.calls.load(SeqCst) > begun).await;
        let used = fixture.memory.memory_use();
        assert!(used.calls < SHARE + 6 * MIB, "{used:?} in round {round}");
        drop((from, writing.await.unwrap()));
    }
    fixture.until(|used| used.calls == 0 && fixture.service.under_way.load(SeqCst) == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_run_on_without_their_connection_are_charged() {
    let fixture = start(ServerOptions::default()).await;
    for _ in 0..2 {
        let calls: Vec<u8> = (0..8).flat_map(|value| call(HELD, value, 1 << 20)).collect();
        let mut stream = fixture.connect(1).await;
        let begun = fixture.service.calls.load(SeqCst);
        stream.write_all(&calls).await.unwrap();
        fixture
            .until(|used| used.stopped_connections > 0 || fixture.service.calls.load(SeqCst) == begun + 8)
            .await;
    }
    // The share was smaller while both were connected, by the bytes of their buffers.
    fixture.until(|used| used.heaviest > SHARE - MIB).await;
    let mut late = fixture.connect(1).await;
    // With nothing under way on it a connection has one request at a time, whatever the others hold.
    echo(&mut late, 5).await;
    fixture.service.released.send_replace(true);
    fixture.until(|used| used.requests == 0).await;
    assert_eq!(fixture.service.under_way.load(SeqCst), 0);
    echo(&mut late, 6).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn halves_of_large_requests_do_not_block_each_other() {
    let fixture = start(ServerOptions::default()).await;
    let mut connections = Vec::new();
    for value in 0..40 {
        let mut stream = fixture.connect(1).await;
        let whole = call(ECHO, value, 1 << 20);
        let (first, rest) = whole.split_at(600_000);
        let rest = rest.to_vec();
        // As much of it as the server takes.
        let _ = timeout(Duration::from_millis(50), stream.write_all(first)).await.ok();
        connections.push((stream, whole, rest));
    }
    fixture.until(|used| used.heaviest > used.share && used.stopped_connections > 0).await;
    drop(connections);
    fixture.until(|used| used.heaviest < MIB).await;
    // The same again, and now all are completed.
    let mut replies = Vec::new();
    for value in 0..40 {
        let (mut from, writing) = send(fixture.connect(1).await, call(ECHO, value, 1 << 20));
        replies.push(tokio::spawn(async move {
            assert_eq!(timeout(PATIENCE, small_reply(&mut from)).await.unwrap(), value);
            writing.await.unwrap();
        }));
    }
    for reply in replies {
        reply.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn client_that_reads_no_replies_is_disconnected() {
    let fixture = start(ServerOptions::default()).await;
    let mut stream = fixture.connect(1).await;
    let calls: Vec<u8> = (0..64).flat_map(|value| call(LARGE, value, 0)).collect();
    stream.write_all(&calls).await.unwrap();
    fixture.until(|used| used.replies > 0).await;
    fixture.until(|used| used.replies == 0 && used.connections == 0).await;
}

#[tokio::test(start_paused = true)]
async fn time_for_a_request_begins_with_its_first_byte() {
    let fixture = start(ServerOptions::default()).await;
    let mut stream = fixture.connect(1).await;
    let half = call(ECHO, 0, 0).len() / 2;
    stream.write_all(&call(ECHO, 0, 0)[..half]).await.unwrap();
    for value in 0..10 {
        sleep(Duration::from_secs(40)).await;
        let rest_and_half = [&call(ECHO, value, 0)[half..], &call(ECHO, value + 1, 0)[..half]].concat();
        stream.write_all(&rest_and_half).await.unwrap();
        assert_eq!(small_reply(&mut stream).await, value);
    }
    assert!(is_closed(&mut stream).await, "the rest does not come");
}

#[tokio::test]
async fn newcomer_is_accepted_when_another_client_has_all_places() {
    let fixture = start(ServerOptions { connections_max: 10, ..ServerOptions::default() }).await;
    let mut first = Vec::new();
    for value in 0..10 {
        let mut stream = fixture.connect(1).await;
        echo(&mut stream, value).await;
        first.push(stream);
    }
    for value in 0..4 {
        let mut stream = fixture.connect(2).await;
        echo(&mut stream, value).await;
        first.push(stream);
    }
    assert_eq!(fixture.service.gave_way.load(SeqCst), 4);
    let mut refused = fixture.connect(1).await;
    assert!(is_closed(&mut refused).await, "the client with the most has nothing idle");
}

#[tokio::test(start_paused = true)]
async fn idle_connection_is_closed_unless_it_alone_carries_callbacks() {
    let fixture = start(ServerOptions::default()).await;
    let mut stream = fixture.connect(1).await;
    for value in 0..10 {
        echo(&mut stream, value).await;
        sleep(Duration::from_secs(300)).await;
    }
    fixture.service.has_backchannel.store(true, SeqCst);
    sleep(Duration::from_secs(3600)).await;
    echo(&mut stream, 11).await;
    fixture.service.has_backchannel.store(false, SeqCst);
    assert!(is_closed(&mut stream).await);
}
