//! Malformed and hostile replies of NFSv3, and the answer of the client to each (`docs/hostile-servers.md`).

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use bytes::Bytes;
use client::{Client, Descend, FileName, FileType, Location, Options, TreeOptions, TreeReport, Url, Version};
use proto::mount3;
use proto::nfs3::{
    CookieVerifier, DirOpArgs, EntryPlus, FileType as Type, GetAttrOk, LookupFail, LookupOk, Procedure,
    ReadDirPlusArgs, ReadDirPlusFail, ReadDirPlusOk, ReadLinkOk, ReadOk, RemoveFail, StableHow, Status, Time,
    WccAttributes, WccData, WriteArgs, WriteOk, WriteVerifier,
};
use xdr::{Decoder, Encoder, List};

use crate::fixture::{WRITE, pattern};
use crate::peer::nfs3::{attributes, handle, ok};
use crate::peer::{Listed, Peer, Tree};

const CONTENT: &[u8] = b"all there is";

/// A client of a server with that tree.
async fn start(tree: Tree) -> (Arc<Peer>, Client) {
    let (peer, url) = Peer::listen(7).await;
    {
        let mut state = peer.state.lock();
        state.tree = Some(tree);
        state.content = CONTENT.to_vec();
    }
    (Arc::clone(&peer), connect(&url).await.unwrap())
}

async fn connect(url: &Url) -> client::Result<Client> {
    Client::connect(url, Options { versions: vec![Version::V3], ..Options::default() }).await
}

fn listed(name: impl Into<String>, handle: impl Into<String>, cookie: u64) -> Listed {
    (name.into(), handle.into(), cookie)
}

/// A directory with one object, whose handle is its name.
fn one(name: &'static str, size: u64) -> Tree {
    let mut tree = Tree::new(move |_, _| (vec![listed(name, name, 1)], true));
    tree.size = size;
    tree
}

/// Answers one procedure of the peer with what `reply` writes.
fn answer(
    peer: &Peer,
    procedure: Procedure,
    mut reply: impl FnMut(&mut Decoder, &mut Encoder) + Send + 'static,
) {
    peer.state.lock().answer3 = Some(Box::new(move |asked, from, to| {
        let answers = asked == procedure;
        if answers {
            reply(from, to);
        }
        answers
    }));
}

async fn list(client: &Client) -> TreeReport {
    client.list_tree("/", &TreeOptions::default(), |_| Descend::Into).await.unwrap()
}

/// Copies everything to a local directory.
async fn download(client: &Client) -> (tempfile::TempDir, TreeReport) {
    let local = tempfile::tempdir().unwrap();
    let to = Location::local(local.path());
    let report = client.copy_tree(&Location::remote("/"), &to, &TreeOptions::default()).await.unwrap();
    (local, report)
}

async fn remove(client: &Client) -> TreeReport {
    client.remove_tree("/", &TreeOptions::default()).await.unwrap()
}

fn failed_with(report: &TreeReport, kind: ErrorKind) {
    assert_eq!((report.failures_total, report.failures[0].error.kind()), (1, kind), "{report:?}");
}

/// All that reads lists ends with an error of a server that misbehaves, within so many requests each.
async fn list_is_refused(tree: Tree, lists: usize) {
    let (peer, client) = start(tree).await;
    let lists_of = || peer.state.lock().tree.as_ref().unwrap().lists;
    let error = async { client.read_dir("/").await?.into_vec().await }.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(lists_of(), lists);
    failed_with(&list(&client).await, ErrorKind::InvalidData);
    failed_with(&download(&client).await.1, ErrorKind::InvalidData);
    failed_with(&remove(&client).await, ErrorKind::InvalidData);
    assert_eq!(lists_of(), 4 * lists);
    assert!(peer.state.lock().removed3.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_with_the_cookie_of_the_request_is_refused() {
    let same = |_: &[u8], cookie: u64| (vec![listed(format!("f{cookie}"), "f", cookie.max(1))], false);
    list_is_refused(Tree::new(same), 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_that_leads_back_is_refused() {
    let back = |_: &[u8], cookie: u64| {
        let next = if cookie == 3 { 1 } else { cookie + 1 };
        (vec![listed(format!("f{next}"), "f", next)], false)
    };
    list_is_refused(Tree::new(back), 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_with_the_cookie_of_its_beginning_is_refused() {
    list_is_refused(Tree::new(|_, _| (vec![listed("f", "f", 0)], false)), 1).await;
    let zero_later = |_: &[u8], cookie: u64| (vec![listed("f", "f", u64::from(cookie == 0) * 5)], false);
    list_is_refused(Tree::new(zero_later), 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_without_entries_and_end_is_refused() {
    list_is_refused(Tree::new(|_, _| (Vec::new(), false)), 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_without_attributes_is_bounded_as_one_with_them() {
    let (peer, client) = start(Tree::new(|_, _| (vec![listed("f", "f", 7)], false))).await;
    answer(&peer, Procedure::ReadDirPlus, |_, to| {
        to.put(&Status::NotSupported);
        to.put(&ReadDirPlusFail::default());
    });
    let error = async { client.read_dir("/").await?.into_vec().await }.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(peer.state.lock().tree.as_ref().unwrap().lists, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_in_itself_is_reported_and_not_entered() {
    let (peer, client) =
        start(Tree::new(|_, _| (vec![listed("d", "root", 1), listed("f", "f", 2)], true))).await;
    peer.state.lock().tree.as_mut().unwrap().size = CONTENT.len() as u64;
    let report = list(&client).await;
    assert_eq!(report.done.items, 2);
    failed_with(&report, ErrorKind::InvalidData);
    let (local, report) = download(&client).await;
    failed_with(&report, ErrorKind::InvalidData);
    assert_eq!(fs::read(local.path().join("f")).unwrap(), CONTENT);
    assert!(!local.path().join("d").exists());
    failed_with(&remove(&client).await, ErrorKind::InvalidData);
    let names: Vec<_> = peer.state.lock().removed3.iter().map(|removed| removed.name.clone()).collect();
    assert_eq!(names, ["f"]);
    assert_eq!(peer.state.lock().tree.as_ref().unwrap().lists, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_further_up_is_reported_and_not_entered() {
    let next = |dir: &[u8], _| match dir {
        b"root" => (vec![listed("a", "da", 1)], true),
        b"da" => (vec![listed("b", "db", 1)], true),
        _ => (vec![listed("c", "da", 1)], true),
    };
    let (_peer, client) = start(Tree::new(next)).await;
    for report in [list(&client).await, download(&client).await.1, remove(&client).await] {
        failed_with(&report, ErrorKind::InvalidData);
        assert_eq!(report.failures[0].path, "a/b/c");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn root_of_the_client_in_a_tree_below_it_is_not_entered() {
    let next = |dir: &[u8], _| match dir {
        b"root" => (vec![listed("f", "f", 1), listed("da", "da", 2)], true),
        b"da" => (vec![listed("db", "db", 1)], true),
        _ => (vec![listed("root", "root", 1), listed("da", "da", 2)], true),
    };
    let (peer, client) = start(Tree::new(next)).await;
    client.metadata("/da/db").await.unwrap();
    let report = client.remove_tree("/da/db", &TreeOptions::default()).await.unwrap();
    // The third is the directory itself, in which both stay.
    let kinds: Vec<_> = report.failures.iter().map(|failure| failure.error.kind()).collect();
    assert_eq!(kinds, [ErrorKind::InvalidData; 2], "{report:?}");
    assert!(peer.state.lock().removed3.iter().all(|removed| removed.dir == handle("da")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tree_behind_a_link_is_not_removed() {
    let (peer, client) = start(one("l", 0)).await;
    peer.state.lock().tree.as_mut().unwrap().target = "da".into();
    let error = client.remove_tree("/l", &TreeOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotADirectory);
    assert!(peer.state.lock().removed3.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_that_is_removed_last_stays_when_anything_else_does() {
    let mark = FileName::new("mark");
    let options = TreeOptions { removed_last: mark, ..TreeOptions::default() };
    for fails in [false, true] {
        let list = |dir: &[u8], _| match dir {
            b"da" => (vec![listed("mark", "mark", 1), listed("f", "f", 2)], true),
            _ => (vec![listed("da", "da", 1)], true),
        };
        let (peer, client) = start(Tree::new(list)).await;
        peer.state.lock().answer3 = Some(Box::new(move |procedure, from, to| {
            let refused = fails && procedure == Procedure::Remove;
            if refused {
                let args: DirOpArgs = from.get().unwrap();
                assert_eq!(args.name, "f");
                to.put(&Status::AccessDenied);
                to.put(&RemoveFail::default());
            }
            refused
        }));
        let report = client.remove_tree("/da", &options).await.unwrap();
        let removed: Vec<_> = peer.state.lock().removed3.iter().map(|place| place.name.clone()).collect();
        let all = [&b"f"[..], b"mark", b"da"];
        assert_eq!(removed, all[..if fails { 0 } else { 3 }], "{report:?}");
        assert_eq!(report.failures_total, u64::from(fails));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tree_without_a_ground_ends_at_the_longest_path() {
    let mut made = 0;
    let next = move |_: &[u8], _| {
        made += 1;
        (vec![listed("d".repeat(200), format!("d{made}"), 1)], true)
    };
    let (peer, client) = start(Tree::new(next)).await;
    failed_with(&list(&client).await, ErrorKind::InvalidInput);
    assert_eq!(peer.state.lock().tree.as_ref().unwrap().lists, 164);
    assert!(remove(&client).await.failures_total > 0);
}

/// READs that break the protocol fail whatever reads the file.
async fn read_is_refused(reply: impl FnMut(&mut Decoder, &mut Encoder) + Send + 'static) {
    let (peer, client) = start(one("f", 12)).await;
    answer(&peer, Procedure::Read, reply);
    assert_eq!(client.read("/f").await.unwrap_err().kind(), ErrorKind::InvalidData);
    failed_with(&download(&client).await.1, ErrorKind::InvalidData);
}

fn read_ok(data: Vec<u8>, count: u32, eof: bool) -> ReadOk {
    ReadOk { attributes: None, count, eof, data: data.into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_data_than_read_asked_for_is_an_error() {
    read_is_refused(|_, to| ok(to, &read_ok(vec![7; 1 << 20], 1 << 20, true))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_data_before_the_end_is_an_error() {
    read_is_refused(|_, to| ok(to, &read_ok(Vec::new(), 0, false))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn count_of_read_that_differs_from_its_data_is_an_error() {
    for count in [0, 11, 13, u32::MAX] {
        read_is_refused(move |_, to| ok(to, &read_ok(vec![7; 12], count, true))).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn size_beyond_what_is_sent_takes_no_memory() {
    let (_peer, client) = start(one("f", 1 << 63)).await;
    assert_eq!(client.read("/f").await.unwrap(), CONTENT);
    assert_eq!(download(&client).await.1.failures_total, 1, "no local file can become so long");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_that_is_larger_than_it_was_listed_is_copied_in_parts() {
    const LENGTH: usize = 3 << 20;
    // The first READs show that it is larger than what one item of a batch reads.
    for (version, begun) in [(Version::V3, 2), (Version::V4_1, 3)] {
        let (peer, url) = Peer::listen(7).await;
        let mut tree = one("f", LENGTH as u64);
        tree.listed_size = Some(10);
        {
            let mut state = peer.state.lock();
            state.tree = Some(tree);
            state.content = pattern(LENGTH).to_vec();
        }
        let options = Options { versions: vec![version], data_cache: false, ..Options::default() };
        let client = Client::connect(&url, options).await.unwrap();
        let (local, report) = download(&client).await;
        assert_eq!(report.failures_total, 0, "{report:?}");
        assert!(fs::read(local.path().join("f")).unwrap() == pattern(LENGTH));
        let reads = peer.state.lock().reads.clone();
        assert_eq!(reads.iter().filter(|offset| **offset == 0).count(), begun, "{version}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_that_takes_more_than_it_was_given_is_an_error() {
    let (peer, client) = start(one("f", 0)).await;
    answer(&peer, Procedure::Write, |from, to| {
        let args: WriteArgs = from.get().unwrap();
        let verifier = WriteVerifier([0; 8]);
        let (file, committed) = (WccData::NONE, StableHow::FileSync);
        ok(to, &WriteOk { file, count: args.count + 1, committed, verifier });
    });
    let file = client.open("/f", WRITE).await.unwrap();
    file.write_at(0, "data".into()).await.unwrap();
    assert_eq!(file.sync_all().await.unwrap_err().kind(), ErrorKind::InvalidData);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sizes_around_a_write_that_lie_lose_no_data() {
    for size in [0, u64::MAX] {
        let (peer, client) = start(one("f", 0)).await;
        let written = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let to_written = Arc::clone(&written);
        answer(&peer, Procedure::Write, move |from, to| {
            let args: WriteArgs = from.get().unwrap();
            to_written.lock().push((args.offset, args.data.clone()));
            let time = Time { seconds: 0, nanoseconds: u32::MAX };
            let before = Some(WccAttributes { size: u64::MAX, modified: time, changed: time });
            let file = WccData { before, after: Some(attributes(Type::Regular, size)) };
            let (count, committed) = (args.count, StableHow::FileSync);
            ok(to, &WriteOk { file, count, committed, verifier: WriteVerifier([0; 8]) });
        });
        let file = client.open("/f", WRITE).await.unwrap();
        for (offset, data) in [(0, "first"), (5, "second")] {
            file.write_at(offset, data.into()).await.unwrap();
            file.sync_all().await.unwrap();
        }
        assert_eq!(*written.lock(), [(0, Bytes::from("first")), (5, Bytes::from("second"))]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn target_of_a_link_that_is_no_path_is_an_error() {
    for target in [b"a\0b".to_vec(), vec![b'x'; 8193], vec![b'x'; 64 << 10]] {
        let (peer, client) = start(one("l", 0)).await;
        answer(&peer, Procedure::ReadLink, move |_, to| {
            to.put(&Status::Ok);
            to.bool(false);
            to.opaque(&target);
        });
        assert_eq!(client.read_link("/l").await.unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(client.read("/l").await.unwrap_err().kind(), ErrorKind::InvalidData);
        let (local, report) = download(&client).await;
        failed_with(&report, ErrorKind::InvalidData);
        assert_eq!(fs::read_dir(local.path()).unwrap().count(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn longest_target_of_a_link_is_read() {
    let (peer, client) = start(one("l", 0)).await;
    let target = Bytes::from(vec![b'x'; 8192]);
    let sent = target.clone();
    answer(&peer, Procedure::ReadLink, move |_, to| {
        ok(to, &ReadLinkOk { attributes: None, target: sent.clone() });
    });
    assert_eq!(client.read_link("/l").await.unwrap(), target);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_in_a_circle_end_with_an_error() {
    let (peer, client) = start(one("l", 0)).await;
    peer.state.lock().tree.as_mut().unwrap().target = "l".into();
    for error in [client.read_dir("/l").await.map(drop), client.read("/l").await.map(drop)] {
        let error = error.unwrap_err();
        assert!(error.to_string().contains("symbolic links"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_a_second_that_are_none_are_not_taken_for_commands() {
    let (peer, client) = start(one("f", 12)).await;
    // To utimensat(2) these are the present time and no change.
    for nanoseconds in [(1 << 30) - 1, (1 << 30) - 2, u32::MAX] {
        peer.state.lock().tree.as_mut().unwrap().modified = proto::nfs4::Time { seconds: 7, nanoseconds };
        let (local, report) = download(&client).await;
        assert_eq!(report.failures_total, 0);
        let found = fs::metadata(local.path().join("f")).unwrap();
        assert_eq!((found.mtime(), found.mtime_nsec()), (7, 999_999_999));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn special_files_are_reported_and_not_copied() {
    for name in ["pipe", "socket", "block"] {
        let (peer, client) = start(one(name, 0)).await;
        let (local, report) = download(&client).await;
        failed_with(&report, ErrorKind::InvalidInput);
        assert_eq!(fs::read_dir(local.path()).unwrap().count(), 0);
        assert!(client.read(format!("/{name}")).await.is_err());
        assert!(peer.state.lock().reads.is_empty());
    }
}

/// A handle of 65 bytes: one more than NFSv3 allows.
fn put_long_handle(to: &mut Encoder) {
    to.opaque(&[7; 65]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handle_of_more_than_64_bytes_is_an_error() {
    let (peer, client) = start(one("f", 12)).await;
    answer(&peer, Procedure::Lookup, |_, to| {
        to.put(&Status::Ok);
        put_long_handle(to);
        to.bool(false);
        to.bool(false);
    });
    assert_eq!(client.read("/f").await.unwrap_err().kind(), ErrorKind::InvalidData);
    answer(&peer, Procedure::ReadDirPlus, |_, to| {
        to.put(&Status::Ok);
        to.bool(false);
        to.fixed(&[0; 8]);
        to.bool(true);
        to.u64(1);
        to.opaque(b"f");
        to.u64(1);
        to.bool(false);
        to.bool(true);
        put_long_handle(to);
        to.bool(false);
        to.bool(true);
    });
    for report in [list(&client).await, download(&client).await.1, remove(&client).await] {
        failed_with(&report, ErrorKind::InvalidData);
    }
    assert!(peer.state.lock().removed3.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn root_with_a_handle_of_more_than_64_bytes_is_not_mounted() {
    let (peer, url) = Peer::listen(7).await;
    peer.state.lock().answer_mount3 = Some(Box::new(|to| {
        to.put(&mount3::Status::Ok);
        put_long_handle(to);
        to.u32(0);
    }));
    assert_eq!(connect(&url).await.map(drop).unwrap_err().kind(), ErrorKind::InvalidData);
}

/// Lists objects of the tree without saying anything but their names.
fn without_attributes(peer: &Peer, names: &'static [&'static str]) {
    answer(peer, Procedure::ReadDirPlus, move |from, to| {
        let args: ReadDirPlusArgs = from.get().unwrap();
        let here = if args.dir.as_bytes() == b"root" { names } else { &[] };
        let entry = |(index, name): (usize, &&'static str)| {
            let cookie = index as u64 + 1;
            EntryPlus {
                fileid: cookie,
                name: Bytes::from_static(name.as_bytes()),
                cookie,
                attributes: None,
                object: None,
            }
        };
        let entries = List(here.iter().enumerate().map(entry).collect());
        let verifier = CookieVerifier([0; 8]);
        ok(to, &ReadDirPlusOk { dir: None, verifier, entries, eof: true });
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_without_attributes_are_looked_up() {
    let (peer, client) = start(one("f", CONTENT.len() as u64)).await;
    without_attributes(&peer, &["d", "f", "l"]);
    let mut kinds = Vec::new();
    let options = TreeOptions::default();
    let listed = client.list_tree("/", &options, |found| {
        kinds.push(found.entry.attributes.map(|known| known.kind));
        Descend::Into
    });
    assert_eq!(listed.await.unwrap().failures_total, 0);
    let expected = [FileType::Directory, FileType::Regular, FileType::Symlink];
    assert_eq!(kinds, expected.map(Some));
    let (local, report) = download(&client).await;
    assert_eq!((report.done.items, report.failures_total), (3, 0), "{report:?}");
    assert_eq!(fs::read(local.path().join("f")).unwrap(), CONTENT);
    let report = remove(&client).await;
    assert_eq!((report.done.items, report.failures_total), (3, 0), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_that_cannot_be_looked_up_are_reported() {
    let (peer, client) = start(one("f", 12)).await;
    peer.state.lock().answer3 = Some(Box::new(|procedure, _, to| match procedure {
        Procedure::ReadDirPlus => {
            to.put(&Status::NotSupported);
            to.put(&ReadDirPlusFail::default());
            true
        }
        Procedure::Lookup => {
            to.put(&Status::AccessDenied);
            to.put(&LookupFail::default());
            true
        }
        _ => false,
    }));
    let (local, report) = download(&client).await;
    failed_with(&report, ErrorKind::InvalidInput);
    assert_eq!(fs::read_dir(local.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_in_itself_without_handles_is_found_by_its_lookup() {
    let (peer, client) = start(one("f", 12)).await;
    without_attributes(&peer, &["root"]);
    for report in [list(&client).await, download(&client).await.1, remove(&client).await] {
        failed_with(&report, ErrorKind::InvalidData);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_that_is_opened_as_another_type_is_reported() {
    for kind in [Type::Directory, Type::Fifo] {
        let (peer, client) = start(one("f", 12)).await;
        answer(&peer, Procedure::Lookup, move |_, to| {
            ok(to, &LookupOk { object: handle("f"), attributes: Some(attributes(kind, 12)), dir: None });
        });
        let (local, report) = download(&client).await;
        assert_eq!(report.failures_total, 1, "{report:?}");
        assert!(!local.path().join("f").exists());
        assert!(peer.state.lock().reads.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_that_is_a_file_is_reported() {
    let (peer, client) = start(one("d", 0)).await;
    answer(&peer, Procedure::ReadDirPlus, |from, to| {
        let args: ReadDirPlusArgs = from.get().unwrap();
        match args.dir.as_bytes() {
            b"root" => {
                let known = Some(attributes(Type::Directory, 0));
                let entry = EntryPlus {
                    fileid: 1,
                    name: "d".into(),
                    cookie: 1,
                    attributes: known,
                    object: Some(handle("file")),
                };
                let verifier = CookieVerifier([0; 8]);
                ok(to, &ReadDirPlusOk { dir: None, verifier, entries: List(vec![entry]), eof: true });
            }
            _ => {
                to.put(&Status::NotDirectory);
                to.put(&ReadDirPlusFail::default());
            }
        }
    });
    failed_with(&list(&client).await, ErrorKind::NotADirectory);
    failed_with(&download(&client).await.1, ErrorKind::NotADirectory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attributes_of_no_type_are_an_error() {
    let (peer, client) = start(one("f", 12)).await;
    answer(&peer, Procedure::GetAttr, |_, to| {
        let mut encoder = Encoder::new();
        encoder.put(&GetAttrOk { attributes: attributes(Type::Regular, 12) });
        let mut body = encoder.into_inner();
        body[3] = 8;
        to.put(&Status::Ok);
        to.buffer_mut().extend_from_slice(&body);
    });
    client.forget("/").await.unwrap();
    assert_eq!(client.metadata("/").await.unwrap_err().kind(), ErrorKind::InvalidData);
}
