//! The calls of the client.

use std::net::SocketAddr;
use std::time::Duration;

use client::{
    Batch, Client, Descend, Existing, LockKind, OpenOptions, Options, SetAttributes, TreeOptions, Url,
    Version, XattrMode,
};

use super::Reached;

impl Reached {
    fn note<T>(&mut self, result: client::Result<T>) -> Option<T> {
        match result {
            Ok(value) => {
                self.succeeded += 1;
                Some(value)
            }
            Err(_) => {
                self.failed += 1;
                None
            }
        }
    }
}

/// A listing may be as long as this; the file system has no more objects.
const ENTRIES_MAX: usize = 100_000;

pub async fn work(address: SocketAddr, version: u8, calls: u8) -> Reached {
    let url: Url = format!("nfs://{address}/").parse().expect("an address");
    let version = Version::ALL[usize::from(version) % 3];
    let mut reached = Reached::default();
    let Ok(client) = Client::connect(&url, options(version)).await else { return reached };
    reached.connected = true;
    fill(&client, &mut reached).await;
    if calls & 1 != 0 {
        files(&client, &mut reached).await;
    }
    if calls & 2 != 0 {
        listings(&client, &mut reached).await;
    }
    if calls & 4 != 0 {
        batches(&client, &mut reached).await;
    }
    if calls & 8 != 0 {
        names(&client, &mut reached).await;
    }
    reached.note(client.remove_tree("/directory", &TreeOptions::default()).await);
    reached.note(client.shutdown().await);
    reached
}

fn options(version: Version) -> Options {
    Options {
        versions: vec![version],
        timeout: Duration::from_millis(200),
        soft: true,
        retransmissions: 1,
        data_cache_bytes_max: 1 << 20,
        dirty_bytes_max: 1 << 20,
        readahead_bytes_max: 1 << 20,
        uid: 1000,
        gid: 1000,
        ..Options::default()
    }
}

async fn fill(client: &Client, reached: &mut Reached) {
    reached.note(client.create_dir("/directory", 0o755).await);
    reached.note(client.write("/directory/file", b"some data".as_slice()).await);
    reached.note(client.symlink("directory", "/link").await);
}

async fn files(client: &Client, reached: &mut Reached) {
    let options = OpenOptions::new().read(true).write(true).create(true);
    if let Some(file) = reached.note(client.open("/new", options).await) {
        reached.note(file.lock(0..10, LockKind::Exclusive).await);
        reached.note(file.write_at(0, vec![7; 10_000].into()).await);
        reached.note(file.sync_all().await);
        if let Some(data) = reached.note(file.read_at(5000, 20_000).await) {
            assert!(data.len() <= 20_000, "no more than was asked for");
        }
        reached.note(file.set_len(100).await);
        reached.note(file.seek_hole(0).await);
        reached.note(file.test_lock(.., LockKind::Shared).await);
        reached.note(file.unlock(..).await);
        reached.note(file.close().await);
    }
    reached.note(client.open("/excl", options.create_new(true)).await);
    reached.note(client.read("/directory/file").await);
}

async fn listings(client: &Client, reached: &mut Reached) {
    if let Some(entries) = reached.note(client.read_dir("/").await)
        && let Some(entries) = reached.note(entries.into_vec().await)
    {
        assert!(entries.len() <= ENTRIES_MAX);
        for entry in entries {
            let name = &entry.name[..];
            assert!(!name.is_empty() && name.len() <= 255, "a name of {} bytes", name.len());
            assert!(name != b"." && name != b"..");
            assert!(!name.contains(&b'/') && !name.contains(&0));
        }
    }
    let report = client.list_tree("/", &TreeOptions::default(), |_| Descend::Into).await;
    reached.note(report);
}

async fn names(client: &Client, reached: &mut Reached) {
    reached.note(client.read_link("/link").await);
    reached.note(client.metadata("/link/file").await);
    let set = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
    reached.note(client.set_metadata("/directory/file", set).await);
    reached.note(client.statfs("/").await);
    reached.note(client.set_xattr("/directory/file", "user.name", "value".into(), XattrMode::Either).await);
    reached.note(client.list_xattrs("/directory/file").await);
    reached.note(client.xattr("/directory/file", "user.name").await);
    reached.note(client.rename("/directory/file", "/renamed").await);
    reached.note(client.hard_link("/renamed", "/second").await);
    reached.note(client.remove_file("/renamed").await);
}

async fn batches(client: &Client, reached: &mut Reached) {
    let mut batch = Batch::new();
    batch.read("/directory/file");
    batch.symlink_metadata("/link");
    batch.write("/a", b"abc".as_slice(), Existing::Replace, 0o644);
    batch.read_range("/a", 1, 100);
    for result in client.run(batch).await {
        reached.note(result);
    }
}
