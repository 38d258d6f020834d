//! Operations on an export that is well, and changes of one that is frozen.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bytes::Bytes;
use proto::nfs3::*;

use crate::peer::Peer;
use crate::timed;

/// The operations of a round.
pub const OPERATIONS: usize = 8;
/// No operation on an export that is well may take longer.
const LIMIT: Duration = Duration::from_secs(20);
/// Connections that requests hang on.
const CONNECTIONS: usize = 8;

fn at(dir: FileHandle, name: &str) -> DirOpArgs {
    DirOpArgs { dir, name: Bytes::copy_from_slice(name.as_bytes()) }
}

fn create(dir: FileHandle, name: &str) -> CreateArgs {
    CreateArgs { place: at(dir, name), how: CreateHow::Unchecked(SetAttributes::default()) }
}

fn write(file: FileHandle) -> WriteArgs {
    let data = Bytes::from_static(&[b'x'; 4096]);
    WriteArgs { file, offset: 0, count: 4096, stable: StableHow::Unstable, data }
}

fn set_mode(object: FileHandle) -> SetAttrArgs {
    let attributes = SetAttributes { mode: Some(0o640), ..Default::default() };
    SetAttrArgs { object, attributes, guard: None }
}

/// One round of operations on a file called `name`; how long each took.
pub async fn exercise(peer: &Peer, dir: FileHandle, name: &str) -> Vec<Duration> {
    let round = async {
        let mut times = Vec::new();
        macro_rules! step {
            ($arguments:expr) => {{
                let (time, ok) = timed(peer.ok($arguments)).await;
                times.push(time);
                ok
            }};
        }
        let file = step!(create(dir, name)).object.unwrap();
        step!(write(file));
        step!(set_mode(file));
        step!(GetAttrArgs { object: file });
        let read = step!(ReadArgs { file, offset: 0, count: 4096 });
        assert_eq!(read.count, 4096);
        let moved = format!("{name}-moved");
        step!(RenameArgs { from: at(dir, name), to: at(dir, &moved) });
        step!(LookupArgs { what: at(dir, &moved) });
        step!(RemoveArgs { object: at(dir, &moved) });
        times
    };
    tokio::time::timeout(LIMIT, round).await.expect("the export goes on")
}

/// Many rounds.
pub async fn exercise_all(peer: &Peer, dir: FileHandle, rounds: usize, label: &str) -> Vec<Duration> {
    let mut times = Vec::new();
    for round in 0..rounds {
        times.extend(exercise(peer, dir, &format!("{label}-{round}")).await);
    }
    times
}

/// Changes that are to hang, on connections of their own.
pub struct Hanging {
    peers: Vec<Peer>,
    dir: FileHandle,
    files: Vec<FileHandle>,
    answered: Arc<AtomicUsize>,
    calls: Vec<tokio::task::JoinHandle<()>>,
}

impl Hanging {
    /// Connects, and makes the files that `count` requests are to change.
    pub async fn prepare(address: SocketAddr, export: &'static str, count: usize) -> Self {
        let mut peers = Vec::new();
        for _ in 0..CONNECTIONS.min(count) {
            peers.push(Peer::connect(address).await);
        }
        let dir = peers[0].mount(export).await;
        let mut files = Vec::new();
        for index in 0..count {
            files.push(peers[0].ok(create(dir, &format!("file-{index}"))).await.object.unwrap());
        }
        Self { peers, dir, files, answered: Arc::default(), calls: Vec::new() }
    }

    /// Sends them.
    pub fn start(mut self) -> Self {
        for (index, file) in self.files.iter().copied().enumerate() {
            let (peer, dir) = (self.peers[index % self.peers.len()].clone(), self.dir);
            let answered = Arc::clone(&self.answered);
            self.calls.push(tokio::spawn(async move {
                let name = format!("file-{index}");
                match index % 5 {
                    0 => assert_eq!(peer.ok(write(file)).await.count, 4096),
                    1 => _ = peer.ok(set_mode(file)).await,
                    2 => _ = peer.ok(create(dir, &format!("new-{index}"))).await,
                    3 => _ = peer.ok(RemoveArgs { object: at(dir, &name) }).await,
                    _ => {
                        let to = at(dir, &format!("moved-{index}"));
                        _ = peer.ok(RenameArgs { from: at(dir, &name), to }).await;
                    }
                }
                answered.fetch_add(1, SeqCst);
            }));
        }
        self
    }

    pub fn answered(&self) -> usize {
        self.answered.load(SeqCst)
    }

    /// Waits for all of them, and sees that each has done what it was to do. How many there were.
    pub async fn finish(self) -> usize {
        for call in self.calls {
            tokio::time::timeout(LIMIT, call).await.expect("the export goes on").unwrap();
        }
        let peer = &self.peers[0];
        for (index, file) in self.files.iter().copied().enumerate() {
            let found = async |name: String| {
                matches!(peer.reply(LookupArgs { what: at(self.dir, &name) }).await, Reply::Ok(_))
            };
            let own = format!("file-{index}");
            match index % 5 {
                0 => assert_eq!(peer.ok(GetAttrArgs { object: file }).await.attributes.size, 4096),
                1 => assert_eq!(peer.ok(GetAttrArgs { object: file }).await.attributes.mode & 0o777, 0o640),
                2 => assert!(found(format!("new-{index}")).await),
                3 => assert!(!found(own).await),
                _ => assert!(!found(own).await && found(format!("moved-{index}")).await),
            }
            // For the next.
            for name in [format!("file-{index}"), format!("new-{index}"), format!("moved-{index}")] {
                peer.reply(RemoveArgs { object: at(self.dir, &name) }).await;
            }
        }
        self.answered.load(SeqCst)
    }
}
