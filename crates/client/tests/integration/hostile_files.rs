//! Malformed replies about files and links, and the answer of the client to each (`docs/hostile-servers.md`).

use std::io::ErrorKind;
use std::sync::Arc;

use bytes::Bytes;
use client::{Client, Location, TreeOptions, TreeReport, Version};
use proto::nfs4::{ListXattrsResult, Operation, ReadResult, SeekResult, Status, XattrName};

use crate::fixture::{READ, WRITE};
use crate::peer::{Peer, Tree};

const CONTENT: &[u8] = b"all there is";
/// More than a file that a copy reads at once.
const LARGE_BYTES: u64 = 64 << 20;

/// A server of `version` with the file `f` of so many bytes, by its attributes.
async fn start(version: Version, size: u64) -> (Arc<Peer>, Client) {
    let (peer, client) = Peer::start_version(7, version).await;
    let mut tree = Tree::new(|_, _| (vec![("f".into(), "f".into(), 1)], true));
    tree.size = size;
    peer.state.lock().tree = Some(tree);
    (peer, client)
}

fn answer_read(peer: &Peer, answer: impl FnMut(u64, u32) -> ReadResult + Send + 'static) {
    peer.state.lock().answer_read = Some(Box::new(answer));
}

async fn download(client: &Client) -> TreeReport {
    let local = tempfile::tempdir().unwrap();
    let to = Location::local(local.path());
    client.copy_tree(&Location::remote("/"), &to, &TreeOptions::default()).await.unwrap()
}

/// What `ls`, `cat` and `cp -r` meet: an error and no data.
async fn is_refused(client: &Client) {
    assert_eq!(client.read("/f").await.unwrap_err().kind(), ErrorKind::InvalidData);
    let report = download(client).await;
    assert_eq!((report.failures_total, report.failures[0].error.kind()), (1, ErrorKind::InvalidData));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_data_than_read_asked_for_is_an_error() {
    let (peer, client) = start(Version::V4_1, 12).await;
    answer_read(&peer, |_, count| ReadResult { eof: true, data: vec![7; count as usize + 1].into() });
    is_refused(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_data_before_the_end_is_an_error() {
    let (peer, client) = start(Version::V4_1, 12).await;
    answer_read(&peer, |_, _| ReadResult { eof: false, data: Bytes::new() });
    is_refused(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_bytes_of_a_file_are_put_together() {
    let (peer, client) = start(Version::V4_1, CONTENT.len() as u64).await;
    answer_read(&peer, |offset, _| {
        let rest = &CONTENT[(offset as usize).min(CONTENT.len())..];
        let data = Bytes::copy_from_slice(&rest[..rest.len().min(1)]);
        ReadResult { eof: rest.len() <= 1, data }
    });
    assert_eq!(client.read("/f").await.unwrap(), CONTENT);
    let reads: Vec<_> = (0..CONTENT.len() as u64).collect();
    assert_eq!(peer.state.lock().reads, reads);
    assert_eq!(download(&client).await.failures_total, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reply_of_another_operation_is_an_error() {
    let (peer, client) = start(Version::V4_1, 12).await;
    client.metadata("/f").await.unwrap();
    peer.state.lock().renumbered = Some((Operation::Read, Operation::ReadLink));
    let error = client.read("/f").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_of_data_that_go_back_or_beyond_all_files_fail_the_copy() {
    // The first is behind 2^63 - 1; the second before the end of the data that were read.
    let data = |offset| SeekResult { eof: false, offset };
    for seeks in [vec![data(1 << 63)], vec![data(0), data(1)]] {
        let expected = seeks.len();
        let (peer, client) = start(Version::V4_2, LARGE_BYTES).await;
        {
            let mut state = peer.state.lock();
            state.tree.as_mut().unwrap().used = Some(0);
            state.seeks = seeks.into();
        }
        answer_read(&peer, |_, count| ReadResult { eof: false, data: vec![7; count as usize].into() });
        let report = download(&client).await;
        assert_eq!((report.failures_total, report.failures[0].error.kind()), (1, ErrorKind::InvalidData));
        assert!(peer.state.lock().seeks.is_empty(), "{expected} SEEKs were sent");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copy_of_nothing_before_the_end_fails() {
    let (peer, client) = start(Version::V4_2, 12).await;
    peer.state.lock().tree.as_mut().unwrap().used = Some(12);
    let from = client.open("/f", READ).await.unwrap();
    let to = client.open("/g", WRITE).await.unwrap();
    assert_eq!(from.copy_whole(&to).await.unwrap_err().kind(), ErrorKind::InvalidData);
    peer.state.lock().copied = 12;
    assert_eq!(from.copy_whole(&to).await.unwrap(), 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_of_extended_attributes_are_checked_and_their_list_ends() {
    let (peer, client) = start(Version::V4_2, 12).await;
    let list = |names: &[&[u8]], cookie, eof| ListXattrsResult {
        cookie,
        names: names.iter().map(|name| XattrName(Bytes::copy_from_slice(name))).collect(),
        eof,
    };
    let long = [b'n'; 256];
    peer.state.lock().xattr_lists =
        [list(&[b"good", b"", b"a\0b"], 1, false), list(&[&long, b"last"], 2, true)].into();
    assert_eq!(client.list_xattrs("/f").await.unwrap(), ["good", "last"]);
    assert_eq!(client.refused_names().unwrap().count, 3);

    // Without a name in each reply nothing would bound a list that goes to and fro.
    peer.state.lock().xattr_lists = (0..9).map(|number| list(&[], 1 + number % 2, false)).collect();
    assert_eq!(client.list_xattrs("/f").await.unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(peer.state.lock().xattr_lists.len(), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_in_a_circle_end_with_an_error() {
    let (peer, client) = start(Version::V4_1, 12).await;
    peer.state.lock().tree.as_mut().unwrap().target = "l".into();
    let error = client.read_dir("/l").await.map(drop).unwrap_err();
    assert!(error.to_string().contains("symbolic links"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reply_without_entries_that_is_not_the_last_ends_the_list() {
    let (peer, client) = start(Version::V4_1, 12).await;
    peer.state.lock().tree.as_mut().unwrap().list = Box::new(|_, _| (Vec::new(), false));
    let listed = async { client.read_dir("/").await?.into_vec().await };
    assert_eq!(listed.await.unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(peer.state.lock().tree.as_ref().unwrap().lists, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_that_is_none_any_more_is_reported() {
    let (peer, client) = start(Version::V4_1, 12).await;
    peer.state.lock().tree.as_mut().unwrap().list = Box::new(|handle, _| match handle {
        b"root" => (vec![("d".into(), "d".into(), 1), ("f".into(), "f".into(), 2)], true),
        _ => (Vec::new(), true),
    });
    // Batches that fail are sent again in single steps.
    peer.fail(Operation::ReadDir, &[[Status::Ok].as_slice(), &[Status::NotDirectory; 4]].concat());
    let report = download(&client).await;
    assert_eq!((&report.failures[0].path[..], report.failures_total), (&b"d"[..], 1));
    assert_eq!(report.failures[0].error.kind(), ErrorKind::NotADirectory);
    assert_eq!(report.done.items, 2, "the directory was made, and the file beside it");
}
