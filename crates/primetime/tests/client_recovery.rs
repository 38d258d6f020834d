//! The client and a server that is killed: what was open and locked goes on, and nobody else had it in
//! between.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};

use client::{Client, Error, LockKind, OpenOptions, Options, Url, Version};

#[path = "support/ready.rs"]
mod ready;

const WRITE: OpenOptions = OpenOptions::new().read(true).write(true);

/// A server process, killed when it is dropped.
struct Server(Child);

impl Server {
    fn start(place: &Path, address: SocketAddr) -> (Self, SocketAddr) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
        command
            .args(["serve", "export", "--state-dir", "state", "--no-root-squash", "--listen"])
            .arg(address.to_string())
            .current_dir(place);
        let (child, address) = ready::start(&mut command);
        (Self(child), address)
    }
}

impl Drop for Server {
    /// SIGKILL.
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn connect(address: SocketAddr) -> Client {
    let url: Url = format!("nfs://{address}/?version=4.1").parse().unwrap();
    Client::connect(&url, Options::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opens_and_locks_survive_a_killed_server() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("export")).unwrap();
    let (mut server, address) = Server::start(place.path(), ([127, 0, 0, 1], 0).into());
    let (one, other) = (connect(address).await, connect(address).await);
    assert_eq!(one.version(), Version::V4_1);
    let mine = one.open("/file", WRITE.create(true)).await.unwrap();
    mine.lock(.., LockKind::Exclusive).await.unwrap();
    let theirs = other.open("/file", WRITE).await.unwrap();
    let waiting = tokio::spawn(async move {
        theirs.lock(.., LockKind::Exclusive).await.unwrap();
        let data = theirs.read_at(0, 1000).await.unwrap();
        (data, theirs)
    });
    let before = one.tap().snapshot();
    let mut expected = Vec::new();
    for round in 0..5_u8 {
        mine.write_at(expected.len() as u64, vec![b'a' + round; 10].into()).await.unwrap();
        expected.extend([b'a' + round; 10]);
        drop(server);
        (server, _) = Server::start(place.path(), address);
        mine.sync_all().await.unwrap();
        assert_eq!(std::fs::read(place.path().join("export/file")).unwrap(), expected);
        assert!(!waiting.is_finished(), "the lock is held");
    }
    let counts = one.tap().snapshot().since(&before);
    assert_eq!(counts.operations["RECLAIM_COMPLETE"], 5);
    assert_eq!((counts.operations["OPEN"], counts.operations["LOCK"]), (5, 5), "each once for each restart");
    mine.unlock(..).await.unwrap();
    let (data, theirs) = waiting.await.unwrap();
    assert_eq!(data, expected);
    assert!(matches!(mine.try_lock(.., LockKind::Exclusive).await, Err(Error::Locked)));
    theirs.close().await.unwrap();
    drop(server);
}
