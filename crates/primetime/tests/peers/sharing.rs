//! Two clients at one server: what one writes, the other sees.

use bytes::Bytes;
use client::{Client, Error, LockKind, OpenOptions, Version};

use crate::Place;

const READ: OpenOptions = OpenOptions::new().read(true);
const WRITE: OpenOptions = OpenOptions::new().read(true).write(true);
const ROUNDS: u32 = 20;
/// In one tick of a server's clock there is time for several of them.
const REWRITES: u32 = 100;

pub(crate) async fn two_clients_see_each_other(place: &Place, version: Version) {
    let (ann, bob) = (place.client(version).await, place.client(version).await);
    let path = format!("/shared-{version}");
    closed_then_opened(&ann, &bob, &path).await;
    rewritten_within_a_tick(&ann, &bob, &path).await;
    under_locks(&ann, &bob, &path).await;
    delegated(&ann, &bob, &format!("{path}-delegated")).await;
    ann.shutdown().await.unwrap();
    bob.shutdown().await.unwrap();
}

async fn read_whole(client: &Client, path: &str) -> Bytes {
    let file = client.open(path, READ).await.unwrap();
    let data = file.read_at(0, 1000).await.unwrap();
    file.close().await.unwrap();
    data
}

async fn write_whole(client: &Client, path: &str, data: Bytes) {
    let file = client.open(path, WRITE.create(true).truncate(true)).await.unwrap();
    file.write_at(0, data).await.unwrap();
    file.close().await.unwrap();
}

async fn closed_then_opened(ann: &Client, bob: &Client, path: &str) {
    for round in 0..ROUNDS {
        let text = Bytes::from(format!("round {round}"));
        let (writer, reader) = if round % 2 == 0 { (ann, bob) } else { (bob, ann) };
        write_whole(writer, path, text.clone()).await;
        assert_eq!(read_whole(reader, path).await, text);
    }
}

/// Neither the length nor, on a kernel with coarse times, the time of the last change tells the states of the
/// file apart.
async fn rewritten_within_a_tick(ann: &Client, bob: &Client, path: &str) {
    for round in 0..REWRITES {
        let text = Bytes::from(format!("rewrite {round:04}"));
        let file = ann.open(path, WRITE).await.unwrap();
        file.write_at(0, text.clone()).await.unwrap();
        file.close().await.unwrap();
        assert_eq!(read_whole(bob, path).await, text);
        assert_eq!(read_whole(ann, path).await, text);
    }
}

/// A number that both count up, each under a lock of its own.
async fn under_locks(ann: &Client, bob: &Client, path: &str) {
    write_whole(ann, path, Bytes::from_static(&[0; 4])).await;
    let count = async |client: &Client| {
        let file = client.open(path, WRITE).await.unwrap();
        for _ in 0..ROUNDS {
            file.lock(0..4, LockKind::Exclusive).await.unwrap();
            let number = u32::from_be_bytes(file.read_at(0, 4).await.unwrap()[..].try_into().unwrap());
            file.write_at(0, Bytes::copy_from_slice(&(number + 1).to_be_bytes())).await.unwrap();
            file.unlock(0..4).await.unwrap();
        }
        file.close().await.unwrap();
    };
    tokio::join!(count(ann), count(bob));
    assert_eq!(read_whole(ann, path).await, (2 * ROUNDS).to_be_bytes().to_vec());
    let held = ann.open(path, WRITE).await.unwrap();
    held.lock(.., LockKind::Exclusive).await.unwrap();
    let other = bob.open(path, WRITE).await.unwrap();
    assert!(matches!(other.try_lock(2..3, LockKind::Shared).await, Err(Error::Locked)));
    other.close().await.unwrap();
    held.close().await.unwrap();
}

/// Ann reads a file again and again, by a delegation where the server gives one; Bob changes it.
async fn delegated(ann: &Client, bob: &Client, path: &str) {
    write_whole(bob, path, Bytes::from_static(b"before")).await;
    for _ in 0..3 {
        assert_eq!(read_whole(ann, path).await, Bytes::from_static(b"before"));
    }
    write_whole(bob, path, Bytes::from_static(b"after")).await;
    assert_eq!(read_whole(ann, path).await, Bytes::from_static(b"after"));
}
