//! What a delegation for writing saves, and what becomes of the data when it ends.

use client::{Client, Error, File, LockKind, Options, Snapshot, Version, WriteDelegations};

use crate::fixture::{Fixture, WRITE, asked, connect, pattern, read_whole, write_whole};
use crate::recovery_loss::short_lease;
use crate::relay::Relay;

const ROUNDS: u64 = 20;

fn likely(options: &mut Options) {
    options.write_delegations = WriteDelegations::Likely;
}

/// A file of 64 KiB that this client has written again and again, the last time by an open that brought a
/// delegation.
async fn written_often(client: &Client) {
    for options in [WRITE.create(true), WRITE, WRITE] {
        let file = client.open("/file", options).await.unwrap();
        file.write_at(0, pattern(64 << 10)).await.unwrap();
        file.close().await.unwrap();
    }
}

async fn locked_write(file: &File, at: u64, data: &str) {
    file.lock(.., LockKind::Exclusive).await.unwrap();
    file.write_at(at, data.to_owned().into()).await.unwrap();
    file.unlock(..).await.unwrap();
}

fn operations(counts: &Snapshot, name: &str) -> u64 {
    counts.operations.get(name).copied().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_writer_opens_and_locks_without_the_server() {
    let fixture = Fixture::new().await;
    let client = fixture.unhurried(Version::V4_1, likely).await;
    written_often(&client).await;
    let before = client.tap().snapshot();
    for round in 0..ROUNDS {
        let file = client.open("/file", WRITE).await.unwrap();
        locked_write(&file, round, "x").await;
        file.close().await.unwrap();
    }
    let counts = client.tap().snapshot().since(&before);
    assert_eq!(operations(&counts, "WRITE"), ROUNDS, "close means on stable storage");
    assert_eq!(counts.requests_total(), ROUNDS, "{:?}", counts.operations);
    client.shutdown().await.unwrap();
    let data = std::fs::read(fixture.path("file")).unwrap();
    assert_eq!(data[..ROUNDS as usize], [b'x'; ROUNDS as usize]);
    assert_eq!(data[ROUNDS as usize..], pattern(64 << 10)[ROUNDS as usize..]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_stays_open_is_locked_read_and_written_without_a_request() {
    let fixture = Fixture::new().await;
    let client = fixture.unhurried(Version::V4_1, likely).await;
    written_often(&client).await;
    let file = client.open("/file", WRITE).await.unwrap();
    assert_eq!(file.read_at(0, 64 << 10).await.unwrap(), pattern(64 << 10));
    let before = client.tap().snapshot();
    for round in 0..ROUNDS {
        locked_write(&file, 4096, &format!("{round:04}")).await;
        assert_eq!(file.read_at(4096, 4).await.unwrap(), format!("{round:04}"));
    }
    assert_eq!(asked(&client.tap().snapshot().since(&before)), [""; 0]);
    file.sync_all().await.unwrap();
    assert_eq!(std::fs::read(fixture.path("file")).unwrap()[4096..4100], *b"0019");
    // What was cached around it is still right, and so is what was written.
    let data = file.read_at(0, 64 << 10).await.unwrap();
    assert_eq!((&data[4096..4100], &data[4100..]), (&b"0019"[..], &pattern(64 << 10)[4100..]));
    let counts = client.tap().snapshot().since(&before);
    assert_eq!((asked(&counts), operations(&counts, "WRITE")), (vec!["WRITE"], 1));
    file.close().await.unwrap();
    client.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_recalls_data_that_another_client_holds_back() {
    let fixture = Fixture::new().await;
    let client = fixture.unhurried(Version::V4_1, likely).await;
    let other = fixture.client(Version::V4_1).await;
    written_often(&client).await;
    let file = client.open("/file", WRITE).await.unwrap();
    locked_write(&file, 0, "mine, and not sent").await;
    assert_ne!(std::fs::read(fixture.path("file")).unwrap()[..4], *b"mine");
    assert_eq!(read_whole(&other, "/file").await[..18], *b"mine, and not sent");
    // With the lock of the other kind, too.
    file.lock(.., LockKind::Exclusive).await.unwrap();
    let theirs = other.open("/file", WRITE).await.unwrap();
    assert!(matches!(theirs.try_lock(.., LockKind::Shared).await, Err(Error::Locked)));
    file.unlock(..).await.unwrap();
    locked_write(&theirs, 0, "THEIRS").await;
    file.lock(.., LockKind::Shared).await.unwrap();
    assert_eq!(file.read_at(0, 18).await.unwrap(), "THEIRSand not sent");
    file.unlock(..).await.unwrap();
    for client in [client, other] {
        client.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delegation_is_asked_for_as_the_options_say() {
    for (wanted, opens) in
        [(WriteDelegations::Never, 4), (WriteDelegations::Likely, 2), (WriteDelegations::Always, 1)]
    {
        let fixture = Fixture::new().await;
        std::fs::write(fixture.path("file"), "").unwrap();
        let client = fixture.unhurried(Version::V4_1, |options| options.write_delegations = wanted).await;
        let before = client.tap().snapshot();
        for _ in 0..4 {
            let file = client.open("/file", WRITE).await.unwrap();
            file.close().await.unwrap();
        }
        let counts = client.tap().snapshot().since(&before);
        assert_eq!(operations(&counts, "OPEN"), opens, "{wanted:?}");
        client.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_of_a_lost_lock_are_not_sent() {
    let fixture = Fixture::with(short_lease).await;
    let relay = Relay::new(fixture.address()).await;
    let one = connect(relay.address(), Version::V4_1, |options| {
        options.write_delegations = WriteDelegations::Always;
    })
    .await;
    let other = fixture.client(Version::V4_1).await;
    write_whole(&one, "/file", "before").await;
    let file = one.open("/file", WRITE).await.unwrap();
    relay.block().await;
    locked_write(&file, 0, "doomed").await;
    // Recalled in vain, and revoked when the lease is over.
    let theirs = other.open("/file", WRITE).await.unwrap();
    locked_write(&theirs, 0, "theirs").await;
    theirs.close().await.unwrap();
    relay.unblock();
    assert!(matches!(file.sync_all().await, Err(Error::Revoked)));
    assert_eq!(std::fs::read(fixture.path("file")).unwrap(), b"theirs");
    assert_eq!(file.read_at(0, 10).await.unwrap(), "theirs");
    file.close().await.unwrap();
    one.shutdown().await.unwrap();
    assert_eq!(read_whole(&other, "/file").await, "theirs");
}
