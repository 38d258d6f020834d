//! A server that clients come to and leave again, thousands of times, holds no more memory than before.
//!
//! What it holds is the process's anonymous memory, which has no part in caches of files. It is taken when
//! thousands have come and left, and again after as many more: a connection, or what a mount or a session
//! has, takes more than is allowed here.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "a part is for other tests")]
#[path = "../nfs3/peer.rs"]
mod peer;
mod server;
mod workload;

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use client::{Client, OpenOptions, Url};
use proto::nfs3::*;

use peer::{Peer, place};
use server::Server;

/// Clients that are there at one time.
const TOGETHER: usize = 50;

/// How often memory is looked at while `clients` come. What an allocator keeps for later comes and goes; the
/// least counts.
const LOOKS: usize = 4;

/// Lets `clients` come and leave, and again as many; yields by how many bytes the server grew for each of the
/// latter.
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
                let file = mount.open(&name, OpenOptions::new().write(true).create(true)).await.unwrap();
                file.write_at(0, "data".into()).await.unwrap();
                file.close().await.unwrap();
                mounts.push((mount, name));
            }
            for (mount, name) in mounts {
                mount.remove_file(&name).await.unwrap();
                mount.shutdown().await.unwrap();
            }
        });
    });
    assert!(growth < 4096, "{growth} bytes of each session are left");
}

/// Lists a directory with attributes and handles, `bytes_max` at a time; yields all names.
fn list(peer: &mut Peer, dir: FileHandle, bytes_max: u32) -> Vec<String> {
    let (mut names, mut cookie, mut verifier) = (Vec::new(), 0, CookieVerifier([0; 8]));
    loop {
        let arguments = ReadDirPlusArgs { dir, cookie, verifier, dir_count: bytes_max, max_count: bytes_max };
        let ok = peer.ok(&arguments);
        assert!(xdr::to_bytes(&ok).len() <= bytes_max as usize, "RFC 1813 §3.3.17");
        verifier = ok.verifier;
        for entry in ok.entries.0 {
            let is_parent = &entry.name[..] == b"..";
            assert!(is_parent || (entry.attributes.is_some() && entry.object.is_some()));
            cookie = entry.cookie;
            names.push(String::from_utf8(entry.name.to_vec()).unwrap());
        }
        if ok.eof {
            return names;
        }
    }
}

/// A reply is filled page by page, so that it makes no difference how many entries there are.
#[test]
fn a_large_directory_is_listed_in_little_memory() {
    const ENTRIES: usize = 100_000;
    let server = Server::start();
    let place = server.export();
    for number in 0..ENTRIES {
        // Names of few files: as many as a file system allows would be slow to make.
        let file = place.join(format!("file{}", number / 50_000));
        if number % 50_000 == 0 {
            std::fs::write(&file, "").unwrap();
        } else {
            std::fs::hard_link(file, place.join(format!("a name of some length {number}"))).unwrap();
        }
    }
    let list_all = |bytes_max| {
        let mut peer = Peer::new(server.address(), bytes_max);
        let root = peer.root();
        let names = list(&mut peer, root, bytes_max);
        assert_eq!(names.len(), ENTRIES + 2, "nothing twice, {bytes_max} bytes at a time");
        assert_eq!(names.into_iter().collect::<BTreeSet<_>>().len(), ENTRIES + 2);
    };
    let before = server.settled_bytes();
    let most = thread::scope(|scope| {
        let listings =
            [8 << 10, 32 << 10, 64 << 10].map(|bytes_max| scope.spawn(move || list_all(bytes_max)));
        let mut most = before;
        while listings.iter().any(|listing| !listing.is_finished()) {
            most = most.max(server.anonymous_bytes());
            thread::sleep(Duration::from_millis(5));
        }
        most
    });
    // Threads that look at entries take some, once; all entries of the three listings would take about twice
    // the bound.
    let bytes = most - before;
    assert!(bytes < 40 << 20, "{bytes} bytes were needed");
    // What is in the largest reply is in memory once or twice, with what is kept of such sizes for later.
    list_all(1 << 20);
}
