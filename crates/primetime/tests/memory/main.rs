//! A server that clients come to and leave again, thousands of times, holds no more memory than before.
//!
//! What it holds is the process's anonymous memory, which has no part in caches of files. It is taken when thousands have come
//! and left, and again after as many more: a connection, or what a mount or a session has, takes more than is allowed here.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "a part is for other tests")]
#[path = "../nfs3/peer.rs"]
mod peer;
mod server;

use client::{Client, OpenOptions, Url};
use proto::nfs3::*;

use peer::{Peer, place};
use server::Server;

/// Clients that are there at one time.
const TOGETHER: usize = 50;

/// How often memory is looked at while `clients` come. What an allocator keeps for later comes and goes; the least counts.
const LOOKS: usize = 4;

/// Lets `clients` come and leave, and again as many; yields by how many bytes the server grew for each of the latter.
fn growth_bytes(server: &Server, clients: usize, mut round: impl FnMut()) -> i64 {
    let mut least_bytes = || {
        let looks = (0..LOOKS).map(|_| {
            (0..clients / TOGETHER / LOOKS).for_each(|_| round());
            server.settled_bytes()
        });
        looks.min().unwrap()
    };
    // The first fills what is kept for later.
    least_bytes();
    let (before, after) = (least_bytes(), least_bytes());
    (after - before) / clients as i64
}

#[test]
fn connections_leave_nothing_behind() {
    let server = Server::start();
    let growth = growth_bytes(&server, 5000, || {
        let mut peers: Vec<_> = (0..TOGETHER).map(|_| Peer::new(server.address(), 1)).collect();
        peers.iter_mut().for_each(|peer| _ = peer.root());
    });
    assert!(growth < 512, "{growth} bytes of each connection are left");
}

#[test]
fn nfsv3_mounts_leave_nothing_behind() {
    let server = Server::start();
    let mut number = 0;
    let growth = growth_bytes(&server, 1000, || {
        let mut peers: Vec<_> = (0..TOGETHER)
            .map(|_| {
                number += 1;
                (Peer::new(server.address(), number << 8), format!("file{number}"))
            })
            .collect();
        for (peer, name) in &mut peers {
            let root = peer.root();
            let how = CreateHow::Guarded(SetAttributes { mode: Some(0o600), ..SetAttributes::default() });
            let file = peer.ok(&CreateArgs { place: place(root, name), how }).object.unwrap();
            let data = vec![7; 1 << 16].into();
            peer.ok(&WriteArgs { file, offset: 0, count: 1 << 16, stable: StableHow::Unstable, data });
            assert_eq!(peer.ok(&ReadArgs { file, offset: 0, count: 1 << 16 }).data.len(), 1 << 16);
        }
        for (mut peer, name) in peers {
            let root = peer.root();
            peer.ok(&RemoveArgs { object: place(root, &name) });
            peer.unmount();
        }
    });
    assert!(growth < 4096, "{growth} bytes of each mount are left");
}

#[test]
fn nfsv4_1_sessions_leave_nothing_behind() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url: Url = format!("nfs://{}/?version=4.1", server.address()).parse().unwrap();
    let mut number = 0;
    let growth = growth_bytes(&server, 600, || {
        runtime.block_on(async {
            let mut mounts = Vec::new();
            for _ in 0..TOGETHER {
                number += 1;
                let mount = Client::connect(&url, url.options()).await.unwrap();
                let name = format!("file{number}");
                let file = mount.open(&name, OpenOptions::new().write().create()).await.unwrap();
                file.write_at(0, "data".into()).await.unwrap();
                file.close().await.unwrap();
                mounts.push((mount, name));
            }
            for (mount, name) in mounts {
                mount.remove(&name).await.unwrap();
                mount.shutdown().await.unwrap();
            }
        });
    });
    assert!(growth < 4096, "{growth} bytes of each session are left");
}
