//! The server is restarted while a client has a file open and, with NFSv4, locked.

use bytes::Bytes;
use client::{Error, LockKind, OpenOptions, Version};

use crate::Place;

const WRITE: OpenOptions = OpenOptions::new().read(true).write(true);

pub(crate) async fn files_outlive_the_server(place: &Place, version: Version, restart: impl FnOnce() + Send) {
    let locks = version != Version::V3;
    let client = place.client(version).await;
    let path = format!("/restarted-{version}");
    let file = client.open(&path, WRITE.create(true)).await.unwrap();
    if locks {
        file.lock(0..10, LockKind::Exclusive).await.unwrap();
    }
    file.write_at(0, Bytes::from_static(b"before")).await.unwrap();
    tokio::task::block_in_place(restart);
    // Whatever was not on the disk of the first one is written again to the second one.
    file.write_at(6, Bytes::from_static(b" and after")).await.unwrap();
    file.sync_all().await.unwrap();
    let other = place.client(version).await;
    let rival = other.open(&path, WRITE).await.unwrap();
    if locks {
        let tried = rival.try_lock(5..6, LockKind::Shared).await;
        assert!(matches!(tried, Err(Error::Locked)), "the lock was taken back: {tried:?}");
        file.unlock(..).await.unwrap();
        rival.try_lock(5..6, LockKind::Shared).await.unwrap();
    }
    rival.close().await.unwrap();
    file.close().await.unwrap();
    let file = other.open(&path, WRITE).await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), Bytes::from_static(b"before and after"));
    file.close().await.unwrap();
    client.shutdown().await.unwrap();
    other.shutdown().await.unwrap();
}
