//! Requests that wait for another to ride on, and requests that are made before somebody asks: CLOSE and
//! LOCK.

use std::time::{Duration, Instant};

use client::{Client, Error, LockKind, Snapshot, Version};

use crate::fixture::{Fixture, LONG, READ, WRITE, connect, pattern, write_whole};
use crate::relay::Relay;

async fn without_delegations(fixture: &Fixture) -> Client {
    fixture.client_with(Version::V4_1, |options| options.delegations = false).await
}

/// What it puts off goes with another request or not at all.
async fn unhurried(fixture: &Fixture) -> Client {
    fixture.unhurried(Version::V4_1, |options| options.delegations = false).await
}

/// Waits until that is so.
async fn until(client: &Client, so: impl Fn(&Snapshot) -> bool) {
    let asked = async {
        while !so(&client.tap().snapshot()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), asked).await.expect("it comes to that in time");
}

/// Waits for less than a timer can tell.
async fn pass(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        tokio::task::yield_now().await;
    }
}

/// Opens and locks so often that it is expected.
async fn make_a_habit(client: &Client, kind: LockKind) {
    for _ in 0..3 {
        let file = client.open("/file", WRITE).await.unwrap();
        file.lock(.., kind).await.unwrap();
        file.unlock(..).await.unwrap();
        file.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_rides_on_the_next_request_whatever_that_is() {
    let fixture = Fixture::new().await;
    let client = unhurried(&fixture).await;
    write_whole(&client, "/file", "data").await;
    let before = client.tap().snapshot();
    for index in 0..20 {
        client.open("/file", READ).await.unwrap().close().await.unwrap();
        client.create_dir(format!("/{index}"), 0o755).await.unwrap();
    }
    let counts = client.tap().snapshot().since(&before);
    assert!(!counts.requests.contains_key("CLOSE"), "by itself");
    assert_eq!(counts.operations["CLOSE"], 21, "that of the writer too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_that_no_request_comes_for_goes_by_itself() {
    let fixture = Fixture::new().await;
    let client = without_delegations(&fixture).await;
    write_whole(&client, "/file", "data").await;
    until(&client, |now| now.requests.contains_key("CLOSE")).await;
    let files: Vec<_> = futures_util::future::join_all((0..20).map(|_| client.open("/file", READ))).await;
    let before = client.tap().snapshot();
    for file in files {
        file.unwrap().close().await.unwrap();
    }
    until(&client, |now| now.operations["CLOSE"] == before.operations["CLOSE"] + 20).await;
    // Operations are counted when they are sent, requests when they are answered.
    let requests = client.tap().snapshot().since(&before).operations["SEQUENCE"];
    assert!((3..=10).contains(&requests), "up to seven at a time, in {requests} requests");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_always_follows_comes_with_the_open() {
    let fixture = Fixture::new().await;
    let client = unhurried(&fixture).await;
    write_whole(&client, "/file", pattern(4096)).await;
    make_a_habit(&client, LockKind::Exclusive).await;
    let other = without_delegations(&fixture).await;
    let before = client.tap().snapshot();
    let file = client.open("/file", WRITE).await.unwrap();
    file.lock(.., LockKind::Exclusive).await.unwrap();
    assert_eq!(client.tap().snapshot().since(&before).requests_total(), 1);
    let theirs = other.open("/file", WRITE).await.unwrap();
    assert!(matches!(theirs.try_lock(.., LockKind::Shared).await, Err(Error::Locked)));
    file.unlock(..).await.unwrap();
    theirs.try_lock(.., LockKind::Exclusive).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_came_with_the_open_goes_back_when_nobody_takes_it() {
    let fixture = Fixture::new().await;
    let (client, other) = (without_delegations(&fixture).await, without_delegations(&fixture).await);
    write_whole(&client, "/file", "data").await;
    make_a_habit(&client, LockKind::Exclusive).await;
    let theirs = other.open("/file", WRITE).await.unwrap();
    let file = client.open("/file", WRITE).await.unwrap();
    theirs.lock(.., LockKind::Exclusive).await.unwrap();
    assert!(matches!(file.try_lock(.., LockKind::Exclusive).await, Err(Error::Locked)));
    theirs.unlock(..).await.unwrap();
    file.try_lock(.., LockKind::Exclusive).await.unwrap();
    let again = client.open("/file", WRITE).await.unwrap();
    theirs.close().await.unwrap();
    file.close().await.unwrap();
    again.try_lock(.., LockKind::Exclusive).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_nobody_has_taken_keeps_no_other_file_of_ours_out() {
    let fixture = Fixture::new().await;
    let client = without_delegations(&fixture).await;
    write_whole(&client, "/file", "data").await;
    make_a_habit(&client, LockKind::Exclusive).await;
    let (one, two) = (client.open("/file", WRITE).await.unwrap(), client.open("/file", WRITE).await.unwrap());
    two.try_lock(.., LockKind::Exclusive).await.unwrap();
    assert!(matches!(one.try_lock(.., LockKind::Shared).await, Err(Error::Locked)));
    two.close().await.unwrap();
    one.try_lock(5..6, LockKind::Shared).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_waits_for_an_early_lock_that_goes_back() {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    let client = connect(relay.address(), Version::V4_1, |options| {
        options.delegations = false;
        // A slow machine does not get to the lock of the second file before the first gives its own back.
        options.waits.lock = LONG;
    })
    .await;
    write_whole(&client, "/file", "data").await;
    make_a_habit(&client, LockKind::Exclusive).await;
    let one = client.open("/file", WRITE).await.unwrap();
    let two = client.open("/file", WRITE).await.unwrap();
    relay.block().await;
    let unlocks = |now: &Snapshot| now.operations.get("LOCKU").copied().unwrap_or(0);
    let before = unlocks(&client.tap().snapshot());
    let locking = tokio::spawn(async move { two.lock(5..6, LockKind::Exclusive).await.map(|()| two) });
    until(&client, |now| unlocks(now) > before).await;
    let mut closing = tokio::spawn(one.close());
    // CLOSE would be refused while the lock is held, and the open stay at the server.
    assert!(tokio::time::timeout(Duration::from_millis(200), &mut closing).await.is_err());
    relay.unblock();
    closing.await.unwrap().unwrap();
    locking.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_before_lock_ends_the_lock_habit() {
    let fixture = Fixture::new().await;
    let client = without_delegations(&fixture).await;
    write_whole(&client, "/file", "data").await;
    make_a_habit(&client, LockKind::Shared).await;
    let file = client.open("/file", READ).await.unwrap();
    assert_eq!(file.read_at(0, 10).await.unwrap(), "data");
    file.close().await.unwrap();
    let before = client.tap().snapshot();
    client.open("/file", READ).await.unwrap().close().await.unwrap();
    assert!(!client.tap().snapshot().since(&before).operations.contains_key("LOCK"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_come_when_they_are_asked_for_if_that_is_wanted() {
    let fixture = Fixture::new().await;
    let client = fixture
        .client_with(Version::V4_1, |options| {
            options.delegations = false;
            options.lock_with_open = false;
        })
        .await;
    write_whole(&client, "/file", "data").await;
    make_a_habit(&client, LockKind::Shared).await;
    assert_eq!(client.tap().snapshot().requests["LOCK"].requests, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_open_leaves_neither_lock_nor_open_behind() {
    let fixture = Fixture::new().await;
    let client = without_delegations(&fixture).await;
    write_whole(&client, "/file", "data").await;
    for wait_us in (0..1000).step_by(20) {
        make_a_habit(&client, LockKind::Exclusive).await;
        let open = client.open("/file", WRITE);
        let patience = Duration::from_micros(wait_us);
        tokio::select! {
            _ = open => {}
            () = pass(patience) => {}
        }
        let other = fixture.client(Version::V4_1).await;
        let theirs = other.open("/file", WRITE).await.unwrap();
        let locked = theirs.lock(.., LockKind::Exclusive);
        let locked = tokio::time::timeout(Duration::from_secs(60), locked).await;
        locked.expect("the lock that came with it is given up").unwrap();
        theirs.close().await.unwrap();
        other.shutdown().await.unwrap();
        until(&client, |now| now.operations["OPEN"] == now.operations["CLOSE"]).await;
    }
    client.shutdown().await.unwrap();
}
