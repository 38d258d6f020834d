//! Whole trees: what is copied, unpacked, listed and removed, and how many requests that takes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use client::{Descend, Location, TreeOptions, Version};

use crate::fixture::{Fixture, in_every_version, pattern};

in_every_version! {
    a_tree_goes_up_across_and_down_again_as_it_was
    a_tree_is_removed_with_everything_in_it
    an_archive_is_unpacked_as_it_is
    an_archive_writes_nothing_outside_of_its_directory
    tree_walk_reports_failures_and_goes_on
    a_list_leaves_out_what_it_is_told_to
}

/// What can be compared of an object: kind, mode, time of modification, links, content.
type Object = (String, u32, (i64, i64), u64, Vec<u8>);

/// Everything below a local directory.
fn objects(root: &Path) -> BTreeMap<String, Object> {
    let mut all = BTreeMap::new();
    let mut todo = vec![root.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let (kind, content) = if found.is_dir() {
                todo.push(path.clone());
                ("directory", Vec::new())
            } else if found.is_symlink() {
                ("symlink", fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
            } else {
                ("file", fs::read(&path).unwrap())
            };
            let links = if found.is_dir() { 0 } else { found.nlink() };
            let object =
                (kind.to_owned(), found.mode() & 0o7777, (found.mtime(), found.mtime_nsec()), links, content);
            all.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), object);
        }
    }
    all
}

/// Fifty directories, one in another in places, of ten files each; a large one with a hole, links of both
/// kinds.
pub fn plant(root: &Path) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    for index in 0..50 {
        let dir = root.join(format!("{}/{index}", ["a", "a/b", "a/b/c"][index % 3]));
        fs::create_dir_all(&dir).unwrap();
        for file in 0..10 {
            let path = dir.join(format!("file {file}"));
            fs::write(&path, pattern(100 * index + file)).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
    }
    let large = [&pattern(1 << 20)[..], &[0; 2 << 20], &pattern(777)].concat();
    fs::write(root.join("large"), large).unwrap();
    fs::write(root.join("empty"), "").unwrap();
    symlink("nowhere/at all", root.join("a/symlink")).unwrap();
    fs::hard_link(root.join("empty"), root.join("a/b/empty too")).unwrap();
    fs::set_permissions(root.join("empty"), fs::Permissions::from_mode(0o4750)).unwrap();
    fs::set_permissions(root.join("a/0"), fs::Permissions::from_mode(0o550)).unwrap();
    for dir in ["a/b/c", "a/b", "a/0", "a"] {
        fs::File::open(root.join(dir)).unwrap().set_modified(time).unwrap();
    }
}

async fn a_tree_goes_up_across_and_down_again_as_it_was(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let local = tempfile::tempdir().unwrap();
    plant(local.path());
    let planted = objects(local.path());
    let options = TreeOptions::default();

    let up =
        client.copy_tree(&Location::local(local.path()), &Location::remote("/up"), &options).await.unwrap();
    assert_eq!(up.failures_total, 0, "{:?}", up.failures);
    assert_eq!(up.done.items, planted.len() as u64);
    assert!(objects(&fixture.path("up")) == planted, "what was copied up is another");

    let over =
        client.copy_tree(&Location::remote("/up"), &Location::remote("/over"), &options).await.unwrap();
    assert_eq!((over.failures_total, over.done.items), (0, up.done.items), "{:?}", over.failures);
    assert!(objects(&fixture.path("over")) == planted, "what was copied across is another");

    let back = tempfile::tempdir().unwrap();
    let target = back.path().join("down");
    let down =
        client.copy_tree(&Location::remote("/over"), &Location::local(&target), &options).await.unwrap();
    assert_eq!((down.failures_total, down.done.items), (0, up.done.items), "{:?}", down.failures);
    assert!(objects(&target) == planted, "what was copied down is another");

    // Once more, over what is there.
    let again =
        client.copy_tree(&Location::local(local.path()), &Location::remote("/up"), &options).await.unwrap();
    assert_eq!((again.failures_total, again.done.items), (0, up.done.items), "{:?}", again.failures);
    assert!(objects(&fixture.path("up")) == planted);
    let error = client.copy_tree(&Location::remote("/up"), &Location::remote("/up/in/it"), &options).await;
    assert!(error.is_err());
    client.shutdown().await.unwrap();
}

async fn a_tree_is_removed_with_everything_in_it(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    fs::create_dir(fixture.path("tree")).unwrap();
    fs::write(fixture.path("kept"), "").unwrap();
    plant(&fixture.path("tree"));
    symlink(fixture.path("kept"), fixture.path("tree/to the outside")).unwrap();
    let count = objects(&fixture.path("tree")).len() as u64;
    let report = client.remove_tree("/tree", &TreeOptions::default()).await.unwrap();
    assert_eq!((report.failures_total, report.done.items), (0, count + 1), "{:?}", report.failures);
    assert!(!fixture.path("tree").exists() && fixture.path("kept").exists());
    assert!(client.metadata("/tree").await.unwrap_err().is_not_found());
    client.shutdown().await.unwrap();
}

/// An archive of a local directory.
pub fn archive(root: &Path) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.follow_symlinks(false);
    builder.append_dir_all(".", root).unwrap();
    builder.into_inner().unwrap()
}

async fn an_archive_is_unpacked_as_it_is(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let local = tempfile::tempdir().unwrap();
    plant(local.path());
    let archive = archive(local.path());
    let report =
        client.extract_tar(std::io::Cursor::new(archive), "/new", &TreeOptions::default()).await.unwrap();
    assert_eq!(report.failures_total, 0, "{:?}", report.failures);
    let seconds_only = |mut objects: BTreeMap<String, Object>| {
        for object in objects.values_mut() {
            // The archive has no parts of seconds, and this one no hard links.
            (object.2.1, object.3) = (0, 0);
        }
        objects
    };
    assert!(seconds_only(objects(&fixture.path("new"))) == seconds_only(objects(local.path())));
    client.shutdown().await.unwrap();
}

async fn an_archive_writes_nothing_outside_of_its_directory(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    fs::create_dir(fixture.path("outside")).unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    let mut append = |kind, name: &str, target: Option<&str>| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        // Past the checks of the builder.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        if let Some(target) = target {
            header.set_link_name(target).unwrap();
        }
        header.set_cksum();
        builder.append(&header, std::io::empty()).unwrap();
    };
    append(tar::EntryType::Symlink, "link", Some("../outside"));
    append(tar::EntryType::Regular, "link/through", None);
    append(tar::EntryType::Regular, "../outside/above", None);
    append(tar::EntryType::Regular, "/rooted", None);
    append(tar::EntryType::Regular, "implied/directories/file", None);
    append(tar::EntryType::Link, "implied/link", Some("rooted"));
    append(tar::EntryType::Fifo, "fifo", None);
    let archive = builder.into_inner().unwrap();
    let report =
        client.extract_tar(std::io::Cursor::new(archive), "/in", &TreeOptions::default()).await.unwrap();
    let mut failed: Vec<_> = report.failures.iter().map(|failure| &failure.path[..]).collect();
    failed.sort_unstable();
    assert_eq!(failed, [&b"../outside/above"[..], b"fifo", b"link/through"], "{:?}", report.failures);
    assert_eq!(fs::read_dir(fixture.path("outside")).unwrap().count(), 0);
    assert_eq!(fs::metadata(fixture.path("in/implied/link")).unwrap().nlink(), 2);
    assert!(fixture.path("in/implied/directories/file").exists());
    client.shutdown().await.unwrap();
}

async fn tree_walk_reports_failures_and_goes_on(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let local = tempfile::tempdir().unwrap();
    plant(local.path());
    // In the way of a directory, and of a file.
    fs::create_dir_all(fixture.path("up/large")).unwrap();
    fs::write(fixture.path("up/a"), "").unwrap();
    let (from, to) = (Location::local(local.path()), Location::remote("/up"));
    let report = client.copy_tree(&from, &to, &TreeOptions::default()).await.unwrap();
    for path in ["large", "a/0", "a/0/file 9"] {
        assert!(report.failures.iter().any(|failure| failure.path == path), "{path}");
    }
    assert!(fixture.path("up/empty").exists());
    let stopping = TreeOptions { stop_on_error: true, ..TreeOptions::default() };
    let report = client.copy_tree(&from, &to, &stopping).await.unwrap();
    assert!(report.failures_total >= 1 && report.done.items < 400);
    client.shutdown().await.unwrap();
}

async fn a_list_leaves_out_what_it_is_told_to(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    plant(&fixture.path(""));
    let mut seen = Vec::new();
    let visit = |entry: client::TreeEntry| {
        let descend = if &entry.path[..] == b"a/b" { Descend::Not } else { Descend::Into };
        seen.push(String::from_utf8(entry.path.to_vec()).unwrap());
        descend
    };
    let report = client.list_tree("/", &TreeOptions::default(), visit).await.unwrap();
    assert_eq!((report.failures_total, report.done.items), (0, seen.len() as u64));
    let expected: Vec<_> =
        objects(&fixture.path("")).into_keys().filter(|path| !path.starts_with("a/b/")).collect();
    let place = |path: &str| seen.iter().position(|other| other == path);
    assert!(place("a") < place("a/0") && place("a/0") < place("a/0/file 3"));
    seen.sort_unstable();
    assert_eq!(seen, expected);
    client.shutdown().await.unwrap();
}

/// Requests that a tree of 500 files in 50 directories takes over NFSv4.1: a request for each object would be
/// over a thousand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_files_take_a_few_dozen_requests() {
    let fixture = Fixture::new().await;
    let client = fixture.client(Version::V4_1).await;
    let local = tempfile::tempdir().unwrap();
    for index in 0..50 {
        let dir = local.path().join(format!("{}/{index}", index % 5));
        fs::create_dir_all(&dir).unwrap();
        for file in 0..10 {
            fs::write(dir.join(format!("{file}")), pattern(2000)).unwrap();
        }
    }
    let options = TreeOptions::default();
    let packed = archive(local.path());
    let unpacked = client.extract_tar(std::io::Cursor::new(packed), "/a", &options).await.unwrap();
    let copied = client.copy_tree(&Location::remote("/a"), &Location::remote("/b"), &options).await.unwrap();
    let listed = client.list_tree("/b", &options, |_| Descend::Into).await.unwrap();
    let removed = client.remove_tree("/b", &options).await.unwrap();
    let all = [unpacked, copied, listed, removed];
    assert!(all.iter().all(|report| report.failures_total == 0 && report.done.items >= 555));
    let requests = all.map(|report| report.done.requests);
    println!("unpacked, copied, listed, removed: {requests:?} requests");
    let limits = [110, 160, 20, 50];
    assert!(requests.iter().zip(limits).all(|(requests, limit)| *requests <= limit), "{requests:?}");
    client.shutdown().await.unwrap();
}
