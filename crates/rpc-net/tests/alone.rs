//! The server tells which calls are alone on their connection, so that a thread may wait for a disk in them.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use rpc::{Call, Disposition, Refusal, Service};
use rpc_net::{ServerOptions, serve};
use testkit::wire::null_call;
use tokio::net::TcpListener;
use xdr::Encoder;

/// Of a reply: its mark and six words.
const REPLY_BYTES: usize = 28;
/// After so many a call is alone; of the implementation, which must not need many more, nor take one for
/// alone at once.
const LONE_CALLS: usize = 16;

/// Waits in calls with this transaction id, if they are alone.
const WAITS: u32 = 1_000_000;

struct Disk {
    /// Which calls came, and whether they were alone.
    calls: Mutex<Vec<(u32, bool)>>,
    begun: Mutex<Sender<()>>,
    over: Mutex<Receiver<()>>,
}

impl Service for Disk {
    async fn call(&self, call: Call<'_>, _reply: &mut Encoder) -> Result<Disposition, Refusal> {
        let is_only = call.connection.is_only_call();
        self.calls.lock().unwrap().push((call.header.xid, is_only));
        if call.header.xid == WAITS && is_only {
            self.begun.lock().unwrap().send(()).unwrap();
            self.over.lock().unwrap().recv().unwrap();
            call.connection.note_wait();
        }
        Ok(Disposition::Reply)
    }
}

struct Scene {
    disk: Arc<Disk>,
    begun: Receiver<()>,
    over: Sender<()>,
    client: TcpStream,
}

impl Scene {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let ((begins, begun), (over, is_over)) = (channel(), channel());
        let disk =
            Arc::new(Disk { calls: Mutex::default(), begun: Mutex::new(begins), over: Mutex::new(is_over) });
        tokio::spawn(serve(listener, Arc::clone(&disk), ServerOptions::default(), std::future::pending()));
        Self { disk, begun, over, client: TcpStream::connect(address).unwrap() }
    }

    fn send(&mut self, xids: impl IntoIterator<Item = u32>) {
        let calls: Vec<u8> = xids.into_iter().flat_map(null_call).collect();
        self.client.write_all(&calls).unwrap();
    }

    fn receive(&mut self, count: usize) {
        self.client.read_exact(&mut vec![0; count * REPLY_BYTES]).unwrap();
    }

    fn ask(&mut self, count: usize) {
        for xid in 0..count as u32 {
            self.send([xid]);
            self.receive(1);
        }
    }

    /// Until the server's socket has got what it has not read: what was sent may be on its way for a while,
    /// also on one host.
    fn wait_for_input(&self) {
        let port = |address: SocketAddr| format!(":{:04X}", address.port());
        let ends = [self.client.peer_addr(), self.client.local_addr()].map(|address| port(address.unwrap()));
        let has_input = |socket: &str| {
            let fields: Vec<&str> = socket.split_whitespace().collect();
            fields[1].ends_with(&ends[0])
                && fields[2].ends_with(&ends[1])
                && !fields[4].ends_with(":00000000")
        };
        while !std::fs::read_to_string("/proc/net/tcp").unwrap().lines().any(has_input) {
            std::thread::yield_now();
        }
    }

    /// Of the calls since the last look.
    fn alone(&self) -> Vec<bool> {
        self.disk.calls.lock().unwrap().drain(..).map(|(_, is_alone)| is_alone).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_at_a_time_is_alone_after_some() {
    let mut scene = Scene::new().await;
    scene.ask(LONE_CALLS + 10);
    assert_eq!(scene.alone(), [vec![false; LONE_CALLS], vec![true; 10]].concat());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_come_together_are_not_alone() {
    let mut scene = Scene::new().await;
    for _ in 0..20 {
        scene.send(0..2);
        scene.receive(2);
    }
    assert_eq!(scene.alone(), vec![false; 40]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_came_while_another_was_waited_for_ends_the_waiting() {
    let mut scene = Scene::new().await;
    scene.ask(LONE_CALLS);
    scene.send([WAITS]);
    scene.begun.recv().unwrap();
    scene.send([1]);
    scene.wait_for_input();
    scene.over.send(()).unwrap();
    scene.receive(2);
    scene.ask(LONE_CALLS);
    let expected = [vec![false; LONE_CALLS], vec![true], vec![false; LONE_CALLS], vec![true]].concat();
    assert_eq!(scene.alone(), expected);
}
