//! A caller who has one call at a time, each soon after the last, is looked for, and nobody else is kept
//! waiting by it.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use futures_util::FutureExt;
use rpc::{Call, Disposition, Refusal, Service};
use rpc_net::{ServerOptions, serve};
use testkit::wire::null_call;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use xdr::Encoder;

/// Of a call: its mark and ten words.
const CALL_BYTES: usize = 44;
/// Of a reply: its mark and seven words.
const REPLY_BYTES: usize = 32;
/// Where other work takes the cores again and again, a call may have to be the last of many to be looked for.
const CALLS_MAX: u32 = 500_000;
/// More than a task of the runtime may do without a break.
const BUDGET: usize = 1000;

#[derive(Default)]
struct Looks {
    gone: AtomicUsize,
}

impl Service for Looks {
    /// Tells whether the call was looked for: what is done while the runtime is at other threads has no
    /// budget.
    async fn call(&self, _call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        let was_looked_for = (0..BUDGET).all(|_| tokio::task::consume_budget().now_or_never().is_some());
        reply.u32(was_looked_for.into());
        Ok(Disposition::Reply)
    }

    fn disconnected(&self, _connection: u64) {
        self.gone.fetch_add(1, Relaxed);
    }
}

struct Scene {
    service: Arc<Looks>,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Scene {
    async fn new(busy_poll_limit: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = Arc::new(Looks::default());
        let options = ServerOptions { busy_poll_limit, ..ServerOptions::default() };
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(serve(listener, Arc::clone(&service), options, stopped.map(drop)));
        Self { service, address, stop, server }
    }

    fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.address).unwrap();
        client.set_nodelay(true).unwrap();
        client
    }
}

/// Longer than it should be used with, so that calls are soon on a slow machine as well.
const LIMIT: Duration = Duration::from_millis(20);

/// Takes the reply to `xid`; true when the call was looked for.
fn take(client: &mut TcpStream, xid: u32) -> bool {
    let mut reply = [0; REPLY_BYTES];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(reply[4..8], xid.to_be_bytes());
    reply[REPLY_BYTES - 1] == 1
}

fn ask(client: &mut TcpStream, xid: u32) -> bool {
    client.write_all(&null_call(xid)).unwrap();
    take(client, xid)
}

/// Asks until a call was looked for.
fn ask_until_looked_for(client: &mut TcpStream) {
    assert!((0..CALLS_MAX).any(|xid| ask(client, xid)), "no call was looked for");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn calls_that_come_soon_are_looked_for_and_others_are_answered_meanwhile() {
    let scene = Scene::new(LIMIT).await;
    let (mut quick, mut other) = (scene.connect(), scene.connect());
    ask_until_looked_for(&mut quick);
    assert!(!ask(&mut other, 7));
    // Once it was given up, and began anew.
    ask_until_looked_for(&mut quick);
    quick.write_all(&[null_call(1), null_call(2), null_call(3)].concat()).unwrap();
    for xid in 1..4 {
        take(&mut quick, xid);
    }
    ask_until_looked_for(&mut quick);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_that_comes_in_pieces_is_answered_when_it_is_whole() {
    let scene = Scene::new(LIMIT).await;
    let mut client = scene.connect();
    // In the mark, behind it, in the header, and before the last byte.
    for cut in [1, 4, 21, CALL_BYTES - 1] {
        ask_until_looked_for(&mut client);
        let whole = null_call(9);
        let (head, tail) = whole.split_at(cut);
        client.write_all(head).unwrap();
        assert!(!ask(&mut scene.connect(), 5));
        client.write_all(tail).unwrap();
        take(&mut client, 9);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn busy_poll_notices_a_lost_connection() {
    let scene = Scene::new(LIMIT).await;
    let mut client = scene.connect();
    ask_until_looked_for(&mut client);
    drop(client);
    while scene.service.gone.load(Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_stops_while_it_looks_for_calls() {
    let scene = Scene::new(LIMIT).await;
    let mut client = scene.connect();
    ask_until_looked_for(&mut client);
    scene.stop.send(()).unwrap();
    // Calls go on to come until the server has closed the connection.
    while client.write_all(&null_call(1)).and_then(|()| client.read_exact(&mut [0; REPLY_BYTES])).is_ok() {}
    scene.server.await.unwrap().unwrap();
    assert_eq!(scene.service.gone.load(Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn disabled_busy_poll_never_polls() {
    let scene = Scene::new(Duration::ZERO).await;
    let mut client = scene.connect();
    assert!(!(0..1000).any(|xid| ask(&mut client, xid)));
}

#[tokio::test]
async fn only_thread_never_busy_polls() {
    let scene = Scene::new(LIMIT).await;
    let mut client = scene.connect();
    let asked = tokio::task::spawn_blocking(move || (0..1000).any(|xid| ask(&mut client, xid)));
    assert!(!asked.await.unwrap());
}
