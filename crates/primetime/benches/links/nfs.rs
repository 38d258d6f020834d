//! Clients of the library that read or write a file each over a link.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use client::{Client, File, OpenOptions, Options, Url, Version};
use netlab::relay::Relay;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::window::{Direction, Flows};

/// What the caller reads and writes at a time.
const PIECE_BYTES: usize = 64 << 10;

pub fn file_to_read(crowd: usize, reader: usize) -> String {
    format!("read-{crowd}-{reader}")
}

pub struct Nfs<'a> {
    runtime: &'a Runtime,
    direction: Direction,
    stop: Arc<AtomicBool>,
    users: Vec<User>,
}

/// A client and what it does.
struct User {
    client: Client,
    task: Option<JoinHandle<()>>,
    /// Bytes that it has read, or has given to the library.
    bytes: Arc<AtomicU64>,
}

impl<'a> Nfs<'a> {
    /// Fresh clients: nothing that they read is cached. Those of NFSv4.1 have a session each.
    pub fn start(
        runtime: &'a Runtime,
        link: SocketAddr,
        version: Version,
        direction: Direction,
        crowd: usize,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let opened: Vec<_> =
            (0..crowd).map(|user| runtime.block_on(open(link, version, direction, crowd, user))).collect();
        let start = |(client, file): (Client, File)| {
            let (stop, bytes) = (Arc::clone(&stop), Arc::new(AtomicU64::new(0)));
            let counted = Arc::clone(&bytes);
            let task = match direction {
                Direction::ToClient => runtime.spawn(async move { read(file, &stop, &counted).await }),
                Direction::ToServer => runtime.spawn(async move { write(file, &stop, &counted).await }),
            };
            User { client, task: Some(task), bytes }
        };
        let users = opened.into_iter().map(start).collect();
        Self { runtime, direction, stop, users }
    }

    /// Ends the clients: how many requests they needed for a megabyte.
    pub fn end(self, link: &Relay) -> f64 {
        let (mut bytes, mut requests) = (0, 0);
        for user in self.users {
            let done = user.bytes.load(Ordering::Relaxed);
            let counts = user.client.tap().snapshot();
            if self.direction == Direction::ToClient {
                assert!(counts.data_read >= done, "what was read came from a cache");
            }
            (bytes, requests) = (bytes + done, requests + counts.requests_total());
            self.runtime.block_on(user.client.shutdown()).expect("shutdown");
        }
        let crossed = match self.direction {
            Direction::ToClient => link.stats().bytes_to_clients,
            Direction::ToServer => link.stats().bytes_to_target,
        };
        assert!(crossed >= bytes, "{bytes} bytes, of which {crossed} have crossed the link");
        requests as f64 / (bytes as f64 / 1e6)
    }
}

impl Flows for Nfs<'_> {
    fn arrived(&self) -> Vec<u64> {
        let arrived = |user: &User| match self.direction {
            Direction::ToClient => user.bytes.load(Ordering::Relaxed),
            // What the library has taken is not at the server yet.
            Direction::ToServer => {
                user.client.tap().snapshot().requests.get("WRITE").map_or(0, |writes| writes.bytes_sent)
            }
        };
        self.users.iter().map(arrived).collect()
    }

    fn finish(&mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let tasks: Vec<_> = self.users.iter_mut().filter_map(|user| user.task.take()).collect();
        tasks.into_iter().for_each(|task| self.runtime.block_on(task).expect("user"));
        self.users.iter().map(|user| user.bytes.load(Ordering::Relaxed)).sum()
    }
}

async fn open(
    link: SocketAddr,
    version: Version,
    direction: Direction,
    crowd: usize,
    user: usize,
) -> (Client, File) {
    let url: Url = format!("nfs://{link}/").parse().expect("an address");
    let options = Options { versions: vec![version], ..Options::default() };
    let client = Client::connect(&url, options).await.expect("connect");
    let file = match direction {
        Direction::ToClient => client.open(file_to_read(crowd, user), OpenOptions::new().read(true)).await,
        Direction::ToServer => {
            let new = OpenOptions::new().write(true).create(true).truncate(true);
            client.open(format!("written-{user}"), new).await
        }
    };
    (client, file.expect("file"))
}

async fn read(file: File, stop: &AtomicBool, bytes: &AtomicU64) {
    let mut at = 0;
    while !stop.load(Ordering::Relaxed) {
        let data = file.read_at(at, PIECE_BYTES).await.expect("read");
        assert!(!data.is_empty(), "the file was read to its end before the time was over");
        at += data.len() as u64;
        bytes.store(at, Ordering::Relaxed);
    }
    file.close().await.expect("close");
}

async fn write(file: File, stop: &AtomicBool, bytes: &AtomicU64) {
    let piece = Bytes::from(vec![9; PIECE_BYTES]);
    let mut at = 0;
    while !stop.load(Ordering::Relaxed) {
        file.write_at(at, piece.clone()).await.expect("write");
        at += piece.len() as u64;
        bytes.store(at, Ordering::Relaxed);
    }
    file.close().await.expect("close");
}
