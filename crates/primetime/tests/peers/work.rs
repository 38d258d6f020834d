//! Everything that one client does with a tree.

use bytes::Bytes;
use client::{Access, Client, Error, FileType, OpenOptions, SetAttributes, SetTime, Time, Version};

use crate::Place;

const READ: OpenOptions = OpenOptions::new().read(true);
const WRITE: OpenOptions = OpenOptions::new().read(true).write(true);
/// More than a server gives in one READDIR.
const ENTRIES: usize = 700;
/// More than a server takes in one WRITE.
const LARGE_BYTES: usize = 5 << 20;

pub(crate) async fn everything(place: &Place, version: Version) {
    let client = place.client(version).await;
    let top = format!("/v{version}");
    client.create_dir(&top, 0o755).await.unwrap();
    contents(&client, &top).await;
    names(&client, &top).await;
    attributes(&client, &top).await;
    many_entries(&client, &top).await;
    refusals(&client, &top).await;
    locks(&client, &top).await;
    client.shutdown().await.unwrap();
}

/// Bytes of which no two neighbouring blocks are the same.
fn pattern(length: usize) -> Bytes {
    (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect()
}

async fn contents(client: &Client, top: &str) {
    let path = format!("{top}/large");
    let data = pattern(LARGE_BYTES);
    let file = client.open(&path, WRITE.create(true).mode(0o640)).await.unwrap();
    file.write_at(0, data.clone()).await.unwrap();
    file.sync_all().await.unwrap();
    file.write_at(100, Bytes::from_static(b"here")).await.unwrap();
    file.close().await.unwrap();
    // Nothing of it comes from memory.
    client.forget(&path).await.unwrap();
    let file = client.open(&path, READ).await.unwrap();
    let read = file.read_at(0, LARGE_BYTES + 1).await.unwrap();
    assert_eq!(read.len(), LARGE_BYTES);
    assert_eq!((&read[..100], &read[100..104], &read[104..]), (&data[..100], &b"here"[..], &data[104..]));
    file.close().await.unwrap();
    let file = client.open(&path, WRITE.truncate(true)).await.unwrap();
    file.set_len(10).await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), Bytes::from_static(&[0; 10]));
    file.close().await.unwrap();
    assert_eq!(client.metadata(&path).await.unwrap().size, 10);
    let file = client.open(format!("{top}/durable"), WRITE.create_new(true).sync(true)).await.unwrap();
    file.write_at(3, Bytes::from_static(b"x")).await.unwrap();
    file.close().await.unwrap();
    assert!(client.open(format!("{top}/durable"), WRITE.create_new(true)).await.is_err());
}

async fn names(client: &Client, top: &str) {
    let at = |name: &str| format!("{top}/{name}");
    client.create_dir(at("d"), 0o755).await.unwrap();
    client.create_file(at("d/f"), 0o600).await.unwrap();
    client.hard_link(at("d/f"), at("hard")).await.unwrap();
    assert_eq!(client.metadata(at("hard")).await.unwrap().links, 2);
    client.symlink("d/f", at("soft")).await.unwrap();
    assert_eq!(client.read_link(at("soft")).await.unwrap(), Bytes::from_static(b"d/f"));
    assert_eq!(client.metadata(at("soft")).await.unwrap().kind, FileType::Regular);
    client.rename(at("d/f"), at("d/g")).await.unwrap();
    assert!(client.metadata(at("d/f")).await.is_err());
    client.rename(at("hard"), at("d/other")).await.unwrap();
    client.remove_file(at("d/other")).await.unwrap();
    assert_eq!(client.metadata(at("d/g")).await.unwrap().links, 1);
    client.remove_file(at("d/g")).await.unwrap();
    client.remove_file(at("soft")).await.unwrap();
    client.remove_dir(at("d")).await.unwrap();
    assert!(client.metadata(at("d")).await.is_err());
}

async fn attributes(client: &Client, top: &str) {
    let path = format!("{top}/attributes");
    client.create_file(&path, 0o600).await.unwrap();
    let when = Time { seconds: 1_000_000_007, nanoseconds: 5_000_000 };
    let set = SetAttributes {
        mode: Some(0o751),
        uid: Some(1234),
        gid: Some(4321),
        accessed: Some(SetTime::To(when)),
        modified: Some(SetTime::To(when)),
        ..SetAttributes::default()
    };
    client.set_metadata(&path, set).await.unwrap();
    client.forget(&path).await.unwrap();
    let found = client.metadata(&path).await.unwrap();
    assert_eq!((found.mode, found.uid, found.gid), (0o751, 1234, 4321));
    assert_eq!((found.accessed, found.modified), (when, when));
    let granted = client.access(&path, Access::READ | Access::MODIFY).await.unwrap();
    assert!(granted.contains(Access::READ | Access::MODIFY));
    let space = client.statfs(top).await.unwrap();
    assert!(space.total_bytes > 0 && space.total_bytes >= space.free_bytes, "{space:?}");
}

async fn many_entries(client: &Client, top: &str) {
    let path = format!("{top}/many");
    client.create_dir(&path, 0o755).await.unwrap();
    let directory = client.directory(&path).await.unwrap();
    let mut expected: Vec<String> = (0..ENTRIES).map(|number| format!("entry-{number:04}")).collect();
    for name in &expected {
        directory.create_file(name, 0o644).await.unwrap();
    }
    client.forget(&path).await.unwrap();
    let listed = client.read_dir(&path).await.unwrap().into_vec().await.unwrap();
    let mut names: Vec<_> =
        listed.iter().map(|entry| String::from_utf8(entry.name.to_vec()).unwrap()).collect();
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
    assert!(listed.iter().all(|entry| entry.attributes.is_some_and(|found| found.kind == FileType::Regular)));
}

/// What must not be is refused, and nothing comes of it.
async fn refusals(client: &Client, top: &str) {
    let at = |name: &str| format!("{top}/{name}");
    let kind = |error: Error| error.kind();
    use std::io::ErrorKind;
    assert_eq!(client.open(at("none"), READ).await.map_err(kind).unwrap_err(), ErrorKind::NotFound);
    client.create_dir(at("full"), 0o755).await.unwrap();
    assert_eq!(
        client.create_dir(at("full"), 0o755).await.map_err(kind).unwrap_err(),
        ErrorKind::AlreadyExists
    );
    client.create_file(at("full/file"), 0o644).await.unwrap();
    assert_eq!(client.remove_dir(at("full")).await.map_err(kind).unwrap_err(), ErrorKind::DirectoryNotEmpty);
    let long = "n".repeat(300);
    assert_eq!(
        client.create_file(at(&long), 0o644).await.map_err(kind).unwrap_err(),
        ErrorKind::InvalidFilename
    );
    assert!(client.open(at("full"), WRITE).await.is_err());
    assert!(client.read_dir(at("full/file")).await.is_err());
}

/// Two open files of one client are two owners.
async fn locks(client: &Client, top: &str) {
    let path = format!("{top}/locked");
    client.create_file(&path, 0o644).await.unwrap();
    let one = client.open(&path, WRITE).await.unwrap();
    let two = client.open(&path, WRITE).await.unwrap();
    one.lock(0..100, client::LockKind::Exclusive).await.unwrap();
    assert!(matches!(two.try_lock(50..60, client::LockKind::Shared).await, Err(Error::Locked)));
    two.lock(100..200, client::LockKind::Exclusive).await.unwrap();
    one.unlock(40..70).await.unwrap();
    two.try_lock(50..60, client::LockKind::Shared).await.unwrap();
    one.unlock(..).await.unwrap();
    two.unlock(..).await.unwrap();
    one.try_lock(.., client::LockKind::Exclusive).await.unwrap();
    one.close().await.unwrap();
    two.try_lock(.., client::LockKind::Exclusive).await.unwrap();
    two.close().await.unwrap();
}
