//! A server that restarts: locks over NFSv3.

use client::{Client, Error, File, LockKind, Version};

use crate::fixture::{Fixture, WRITE, connect, write_whole};
use crate::relay::Relay;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_of_nfsv3_are_taken_back_from_a_server_that_has_restarted() {
    let fixture = Fixture::with(|options| options.limits.lease_seconds = 2).await;
    let (one, other) = (fixture.client(Version::V3).await, fixture.client(Version::V3).await);
    write_whole(&one, "/file", "0123456789").await;
    let mine = one.open("/file", WRITE).await.unwrap();
    mine.lock(0..4, LockKind::Exclusive).await.unwrap();
    mine.lock(6..8, LockKind::Shared).await.unwrap();
    let theirs = other.open("/file", WRITE).await.unwrap();
    let before = one.tap().snapshot();
    let address = fixture.address();
    let fixture = fixture.restart_with(address, |options| options.limits.lease_seconds = 2).await;
    mine.write_at(0, "mine".into()).await.unwrap();
    mine.sync_all().await.unwrap();
    let counts = one.tap().snapshot().since(&before);
    assert_eq!(counts.requests["LOCK"].requests, 2, "each was reclaimed, once");
    // Asked for in the grace period, and answered when it is over.
    assert!(matches!(theirs.try_lock(0..4, LockKind::Shared).await, Err(Error::Locked)));
    assert!(matches!(theirs.try_lock(6..8, LockKind::Exclusive).await, Err(Error::Locked)));
    theirs.try_lock(8.., LockKind::Exclusive).await.unwrap();
    mine.unlock(..).await.unwrap();
    theirs.try_lock(.., LockKind::Exclusive).await.unwrap();
    assert_eq!(std::fs::read(fixture.path("file")).unwrap(), b"mine456789");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nfsv3_lock_taken_by_others_after_a_restart_is_lost_without_writes() {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    let one = connect(relay.address(), Version::V3, |_| {}).await;
    write_whole(&one, "/file", "before").await;
    let mine = one.open("/file", WRITE).await.unwrap();
    mine.lock(.., LockKind::Exclusive).await.unwrap();
    relay.block().await;
    mine.write_at(0, "doomed".into()).await.unwrap();
    let address = fixture.address();
    let fixture = fixture.stop().await.start_without_records(address).await;
    let other = fixture.client(Version::V3).await;
    let theirs = other.open("/file", WRITE).await.unwrap();
    theirs.try_lock(.., LockKind::Exclusive).await.unwrap();
    theirs.write_at(0, "theirs".into()).await.unwrap();
    theirs.sync_all().await.unwrap();
    relay.unblock();
    assert!(matches!(mine.sync_all().await, Err(Error::Revoked)));
    assert!(matches!(mine.read_at(0, 10).await, Err(Error::Revoked)));
    assert_eq!(std::fs::read(fixture.path("file")).unwrap(), b"theirs");
    assert!(matches!(mine.unlock(..).await, Err(Error::Revoked)));
    assert_eq!(mine.read_at(0, 10).await.unwrap(), "theirs");
    theirs.close().await.unwrap();
    mine.lock(.., LockKind::Exclusive).await.unwrap();
}

/// A file that two clients have open, the first of them through the relay.
async fn behind_a_relay() -> (Fixture, Relay, [Client; 2], [File; 2]) {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    let one = connect(relay.address(), Version::V3, |_| {}).await;
    let other = fixture.client(Version::V3).await;
    write_whole(&one, "/file", "data").await;
    let mine = one.open("/file", WRITE).await.unwrap();
    let theirs = other.open("/file", WRITE).await.unwrap();
    (fixture, relay, [one, other], [mine, theirs])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_costs_no_lock_of_nfsv3() {
    let (_fixture, relay, _clients, [mine, theirs]) = behind_a_relay().await;
    mine.lock(.., LockKind::Exclusive).await.unwrap();
    relay.cut();
    assert_eq!(mine.read_at(0, 4).await.unwrap(), "data");
    mine.write_at(0, "DATA".into()).await.unwrap();
    mine.sync_all().await.unwrap();
    assert!(matches!(theirs.try_lock(.., LockKind::Exclusive).await, Err(Error::Locked)));
    mine.unlock(..).await.unwrap();
    theirs.try_lock(.., LockKind::Exclusive).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nfsv3_lock_given_up_during_a_test_stays_given_up() {
    let (_fixture, relay, _clients, [mine, theirs]) = behind_a_relay().await;
    for round in 0..20 {
        mine.lock(.., LockKind::Exclusive).await.unwrap();
        relay.block().await;
        let unlocking = mine.unlock(..);
        let unblocking = async {
            tokio::task::yield_now().await;
            relay.unblock();
        };
        let (unlocked, ()) = tokio::join!(unlocking, unblocking);
        unlocked.unwrap();
        theirs.try_lock(.., LockKind::Exclusive).await.unwrap_or_else(|error| panic!("{round}: {error}"));
        theirs.unlock(..).await.unwrap();
    }
}
