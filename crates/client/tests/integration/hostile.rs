//! Malformed and hostile replies, and the answer of the client to each (`docs/hostile-servers.md`).

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use bytes::Bytes;
use client::{Client, Descend, Location, TreeOptions, TreeReport};
use proto::nfs4::Time;

use crate::peer::{Listed, Peer, Tree};

/// A client of a server with that tree.
async fn start(tree: Tree) -> (Arc<Peer>, Client) {
    let (peer, client) = Peer::start().await;
    peer.state.lock().tree = Some(tree);
    (peer, client)
}

fn listed(name: impl Into<String>, handle: impl Into<String>, cookie: u64) -> Listed {
    (name.into(), handle.into(), cookie)
}

/// A directory with one object, whose handle is its name.
fn one(name: &'static str) -> Tree {
    Tree::new(move |_, _| (vec![listed(name, name, 1)], true))
}

async fn list(client: &Client, options: &TreeOptions) -> TreeReport {
    client.list_tree("/", options, |_| Descend::Into).await.unwrap()
}

/// Copies everything to a local directory.
async fn download(client: &Client) -> (tempfile::TempDir, TreeReport) {
    let local = tempfile::tempdir().unwrap();
    let to = Location::local(local.path());
    let report = client.copy_tree(&Location::remote("/"), &to, &TreeOptions::default()).await.unwrap();
    (local, report)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_that_leads_back_ends_with_an_error() {
    let next = |_: &[u8], cookie| {
        let cookies = if cookie == 2 { [3, 1] } else { [5, 2] };
        (cookies.map(|cookie| listed(format!("f{cookie}"), "f", cookie)).to_vec(), false)
    };
    let (peer, client) = start(Tree::new(next)).await;
    let error = client.read_dir("/").await.unwrap().into_vec().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(peer.state.lock().tree.as_ref().unwrap().lists, 3);
    let report = list(&client, &TreeOptions::default()).await;
    assert_eq!((report.failures_total, report.failures[0].error.kind()), (1, ErrorKind::InvalidData));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_in_itself_is_reported_and_not_entered() {
    let (peer, client) =
        start(Tree::new(|_, _| (vec![listed("d", "root", 1), listed("f", "f", 2)], true))).await;
    let report = list(&client, &TreeOptions::default()).await;
    assert_eq!((report.done.items, report.failures_total), (2, 1));
    assert_eq!(
        (&report.failures[0].path[..], report.failures[0].error.kind()),
        (&b"d"[..], ErrorKind::InvalidData)
    );
    let (local, report) = download(&client).await;
    assert_eq!((report.done.items, report.failures_total), (1, 1));
    assert!(local.path().join("f").exists() && !local.path().join("d").exists());
    let report = client.remove_tree("/", &TreeOptions::default()).await.unwrap();
    assert_eq!((report.done.items, report.failures_total), (1, 1));
    assert_eq!(peer.state.lock().tree.as_ref().unwrap().lists, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tree_without_a_ground_ends_at_the_longest_path() {
    let mut made = 0;
    let next = move |_: &[u8], _| {
        made += 1;
        (vec![listed("d".repeat(200), format!("d{made}"), 1)], true)
    };
    let (peer, client) = start(Tree::new(next)).await;
    let report = list(&client, &TreeOptions::default()).await;
    assert_eq!((report.failures_total, report.failures[0].error.kind()), (1, ErrorKind::InvalidInput));
    // As many names of 200 bytes as 32 KiB have.
    assert_eq!(peer.state.lock().tree.as_ref().unwrap().lists, 164);
    let report = client.remove_tree("/", &TreeOptions::default()).await.unwrap();
    assert!(report.failures_total > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tree_that_grows_without_end_ends_at_the_most_entries() {
    let mut made = 0;
    let next = move |_: &[u8], _| {
        let entry = |index| {
            made += 1;
            listed(format!("d{index}"), format!("d{made}"), index)
        };
        ((1..=100).map(entry).collect(), true)
    };
    let (peer, client) = start(Tree::new(next)).await;
    let options = TreeOptions { entries_max: 1000, ..TreeOptions::default() };
    let report = list(&client, &options).await;
    assert_eq!((report.done.items, report.failures_total), (1000, 1));
    let report = client.remove_tree("/", &options).await.unwrap();
    assert_eq!(report.failures_total, 1);
    let local = tempfile::tempdir().unwrap();
    let to = Location::local(local.path());
    let report = client.copy_tree(&Location::remote("/"), &to, &options).await.unwrap();
    assert_eq!(report.failures_total, 1);
    assert!(peer.state.lock().tree.as_ref().unwrap().lists < 20_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn target_of_a_link_that_is_no_path_is_an_error() {
    for target in [Bytes::from_static(b"a\0b"), Bytes::from(vec![b'x'; 64 << 10])] {
        let (peer, client) = start(one("l")).await;
        peer.state.lock().tree.as_mut().unwrap().target = target;
        assert_eq!(client.read_link("/l").await.unwrap_err().kind(), ErrorKind::InvalidData);
        let (local, report) = download(&client).await;
        assert_eq!((report.failures_total, report.failures[0].error.kind()), (1, ErrorKind::InvalidData));
        assert_eq!(fs::read_dir(local.path()).unwrap().count(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn size_beyond_what_is_sent_takes_no_memory() {
    let (peer, client) = start(one("f")).await;
    {
        let mut state = peer.state.lock();
        state.tree.as_mut().unwrap().size = 1 << 63;
        state.content = b"all there is".to_vec();
    }
    assert_eq!(client.read("/f").await.unwrap(), "all there is");
    let (_, report) = download(&client).await;
    assert_eq!(report.failures_total, 1, "no local file can become so long");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipes_are_reported_and_not_copied() {
    let (_peer, client) = start(one("pipe")).await;
    let (local, report) = download(&client).await;
    assert_eq!(report.failures_total, 1);
    assert_eq!(fs::read_dir(local.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_a_second_that_are_none_are_not_taken_for_commands() {
    // To utimensat(2) this is the present time.
    let modified = Time { seconds: 7, nanoseconds: (1 << 30) - 1 };
    let (peer, client) = start(one("f")).await;
    peer.state.lock().tree.as_mut().unwrap().modified = modified;
    let (local, report) = download(&client).await;
    assert_eq!(report.failures_total, 0);
    let found = fs::metadata(local.path().join("f")).unwrap();
    assert_eq!((found.mtime(), found.mtime_nsec()), (7, 999_999_999));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copy_of_names_with_slashes_writes_nothing_outside_of_its_target() {
    for name in ["../outside", "../../outside", "inside/outside", "a\0b"] {
        let (_peer, client) = start(Tree::new(move |handle, _| {
            let inside = listed("inside", "d", 1);
            (if handle == b"root" { vec![inside, listed(name, "f", 2)] } else { Vec::new() }, true)
        }))
        .await;
        let local = tempfile::tempdir().unwrap();
        let target = local.path().join("below/target");
        fs::create_dir_all(&target).unwrap();
        let options = TreeOptions::default();
        client.copy_tree(&Location::remote("/"), &Location::local(&target), &options).await.unwrap();
        let names = |directory: &std::path::Path| -> Vec<_> {
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        assert_eq!(names(local.path()), ["below"], "{name:?}");
        assert_eq!(names(&local.path().join("below")), ["target"], "{name:?}");
        assert_eq!(names(&target), ["inside"], "{name:?}");
        assert!(names(&target.join("inside")).is_empty(), "{name:?}");
    }
}
