//! Clients that make the server hold as much as they can, all at one address.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, Scope};
use std::time::Duration;

use client::{Client, OpenOptions, Url};
use proto::nfs3::*;
use xdr::Bytes;

use super::Counts;
use super::light::{Light, call, connect};
use super::server::Server;

/// Entries of the directory that is listed.
const ENTRIES: usize = 4000;
/// How long a connection that takes nothing more is left alone.
const PAUSE: Duration = Duration::from_millis(20);

/// The traffic of the attackers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// They write to a file whose delegation is not given back, 1 MiB at a time, on six connections.
    HeldWrites,
    /// They ask for 1 MiB of a file again and again on 64 connections, and read no reply.
    UnreadReplies,
    /// They connect, ask for 512 listings with attributes, close, and come again, on four threads.
    ClosedListings,
}

impl Pattern {
    pub const ALL: [Self; 3] = [Self::HeldWrites, Self::UnreadReplies, Self::ClosedListings];
}

/// The server and the files that the attackers use.
pub struct Attack {
    server: SocketAddr,
    root: FileHandle,
    delegated: FileHandle,
    large: FileHandle,
}

impl Attack {
    pub fn prepare(server: &Server, patterns: &[Pattern]) -> Self {
        if patterns.contains(&Pattern::ClosedListings) {
            for number in 0..ENTRIES {
                std::fs::write(server.export().join(format!("an entry with a long name {number}")), "")
                    .unwrap();
            }
        }
        let mut light = Light::new(server.address(), 1);
        let root = light.root();
        let (delegated, large) = (light.make(&root, "delegated"), light.make(&root, "large"));
        let data = Bytes::from(vec![7; 1 << 20]);
        light.ok(&WriteArgs { file: large, offset: 0, count: 1 << 20, stable: StableHow::Unstable, data });
        if patterns.contains(&Pattern::HeldWrites) {
            hold(server.address());
        }
        Self { server: server.address(), root, delegated, large }
    }

    pub fn start<'scope, 'a: 'scope>(
        &'a self,
        scope: &'scope Scope<'scope, 'a>,
        pattern: Pattern,
        counts: &'a Counts,
    ) {
        match pattern {
            Pattern::HeldWrites => {
                let data = Bytes::from(vec![5; 1 << 20]);
                let (offset, count, stable) = (0, 1 << 20, StableHow::Unstable);
                let write =
                    call(1, &WriteArgs { file: self.delegated, offset, count, stable, data }).record();
                scope.spawn(move || self.send_to_many(6, &write, counts));
            }
            Pattern::UnreadReplies => {
                let read = call(1, &ReadArgs { file: self.large, offset: 0, count: 1 << 20 }).record();
                scope.spawn(move || self.send_to_many(64, &read, counts));
            }
            Pattern::ClosedListings => {
                for _ in 0..4 {
                    scope.spawn(move || self.list_and_close(counts));
                }
            }
        }
    }

    /// Sends a call again and again on so many connections, and reads nothing.
    fn send_to_many(&self, connections: usize, record: &[u8], counts: &Counts) {
        let mut senders: Vec<_> = (0..connections).map(|_| Sender::default()).collect();
        while !counts.over.load(Relaxed) {
            let mut has_sent = false;
            for sender in &mut senders {
                has_sent |= sender.send(self.server, record, counts);
            }
            if !has_sent {
                counts.stopped.fetch_add(1, Relaxed);
                thread::sleep(PAUSE);
            }
        }
    }

    fn list_and_close(&self, counts: &Counts) {
        let list = ReadDirPlusArgs {
            dir: self.root,
            cookie: 0,
            verifier: CookieVerifier([0; 8]),
            dir_count: 1 << 20,
            max_count: 1 << 20,
        };
        let records: Vec<u8> = (0..512).flat_map(|xid| call(xid, &list).record()).collect();
        while !counts.over.load(Relaxed) {
            let Ok(mut stream) = connect(self.server, 1) else { continue };
            let _ = stream.set_write_timeout(Some(Duration::from_secs(1)));
            if stream.write_all(&records).is_ok() {
                counts.sent.fetch_add(512, Relaxed);
            } else {
                counts.stopped.fetch_add(1, Relaxed);
            }
        }
    }
}

/// A connection on which calls are sent as fast as they are taken.
#[derive(Default)]
struct Sender {
    stream: Option<TcpStream>,
    /// How much of the record was sent.
    sent: usize,
}

impl Sender {
    /// Sends one record, as far as it is taken. True when something was.
    fn send(&mut self, server: SocketAddr, record: &[u8], counts: &Counts) -> bool {
        if self.stream.is_none() {
            let Ok(stream) = connect(server, 1) else { return false };
            stream.set_nonblocking(true).unwrap();
            (self.stream, self.sent) = (Some(stream), 0);
        }
        let Some(stream) = &mut self.stream else { return false };
        match stream.write(&record[self.sent..]) {
            Ok(count) => {
                self.sent += count;
                if self.sent == record.len() {
                    self.sent = 0;
                    counts.sent.fetch_add(1, Relaxed);
                }
                count > 0
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(_) => {
                // The server has closed it.
                self.stream = None;
                false
            }
        }
    }
}

/// Opens the file that is to be delegated. The client's runtime is not run from then on, and its connection
/// stays open.
fn hold(server: SocketAddr) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url: Url = format!("nfs://{server}/?version=4.1").parse().unwrap();
    let (client, file) = runtime.block_on(async {
        let client = Client::connect(&url, url.options()).await.unwrap();
        // The server grants delegations once it has seen a callback answered.
        for _ in 0..50 {
            client.open("large", OpenOptions::new().read(true)).await.unwrap().close().await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let file = client.open("delegated", OpenOptions::new().read(true)).await.unwrap();
        (client, file)
    });
    std::mem::forget((runtime, client, file));
}
