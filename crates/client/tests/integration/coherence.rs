//! What clients see of each other: close-to-open, locks, delegations.

use std::time::Duration;

use client::{Client, Error, LockKind, OpenOptions, Options, SetAttributes, Version};

use crate::fixture::{Fixture, READ, WRITE, asked, in_every_version, read_whole, write_whole};

in_every_version! {
    open_sees_data_of_an_earlier_close
    a_lock_keeps_others_out_until_it_is_given_up
    shared_locks_are_held_together
    a_lock_shows_what_was_written_under_the_one_before
    counting_under_a_lock_loses_nothing
    closing_gives_up_locks
    parts_of_a_file_are_locked_apart
    lock_test_names_the_conflicting_owner
    names_made_elsewhere_are_found
}

async fn open_sees_data_of_an_earlier_close(version: Version) {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.client(version).await, fixture.client(version).await);
    for round in 0..5 {
        let text = format!("round {round}");
        write_whole(&one, "/file", text.clone()).await;
        assert_eq!(read_whole(&other, "/file").await, text);
        let text = format!("answer {round} is longer");
        write_whole(&other, "/file", text.clone()).await;
        assert_eq!(read_whole(&one, "/file").await, text);
    }
}

async fn a_lock_keeps_others_out_until_it_is_given_up(version: Version) {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.client(version).await, fixture.client(version).await);
    write_whole(&one, "/file", "data").await;
    let mine = one.open("/file", WRITE).await.unwrap();
    let theirs = other.open("/file", WRITE).await.unwrap();
    mine.lock(.., LockKind::Exclusive).await.unwrap();
    assert!(matches!(theirs.try_lock(.., LockKind::Shared).await, Err(Error::Locked)));
    let again = one.open("/file", WRITE).await.unwrap();
    assert!(
        matches!(again.try_lock(.., LockKind::Shared).await, Err(Error::Locked)),
        "each open is an owner"
    );
    let waiting = tokio::spawn(async move {
        theirs.lock(.., LockKind::Exclusive).await.unwrap();
        theirs
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!waiting.is_finished());
    mine.unlock(..).await.unwrap();
    let theirs = waiting.await.unwrap();
    assert!(matches!(mine.try_lock(.., LockKind::Shared).await, Err(Error::Locked)));
    theirs.unlock(..).await.unwrap();
    mine.try_lock(.., LockKind::Shared).await.unwrap();
}

#[tokio::test]
async fn a_waiter_over_nfsv4_is_called_and_does_not_poll() {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.client(Version::V4_2).await, fixture.client(Version::V4_2).await);
    write_whole(&one, "/file", "data").await;
    let mine = one.open("/file", WRITE).await.unwrap();
    let theirs = other.open("/file", WRITE).await.unwrap();
    mine.lock(.., LockKind::Exclusive).await.unwrap();
    let before = other.tap().snapshot();
    let waiting = tokio::spawn(async move {
        theirs.lock(.., LockKind::Exclusive).await.unwrap();
        theirs
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    mine.unlock(..).await.unwrap();
    let theirs = waiting.await.unwrap();
    let counts = other.tap().snapshot().since(&before);
    let locks = counts.requests["LOCK"].requests;
    // Once to wait and once when called; more only where the machine stands still for seconds.
    assert!((2..=4).contains(&locks), "{locks}");
    theirs.unlock(..).await.unwrap();
}

#[tokio::test]
async fn callers_of_one_client_get_a_lock_in_the_order_of_asking() {
    let fixture = Fixture::new().await;
    for version in [Version::V3, Version::V4_1] {
        let client = fixture.client(version).await;
        write_whole(&client, "/file", "data").await;
        let mine = client.open("/file", WRITE).await.unwrap();
        mine.lock(.., LockKind::Exclusive).await.unwrap();
        let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..6 {
            let file = client.open("/file", WRITE).await.unwrap();
            let order = std::sync::Arc::clone(&order);
            let mut waiting = Box::pin(async move {
                file.lock(.., LockKind::Exclusive).await.unwrap();
                order.lock().unwrap().push(number);
                file.unlock(..).await.unwrap();
            });
            // It joins the queue in its first step.
            assert!(futures_util::FutureExt::now_or_never(&mut waiting).is_none());
            tasks.push(tokio::spawn(waiting));
        }
        mine.unlock(..).await.unwrap();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5], "{version:?}");
    }
}

async fn shared_locks_are_held_together(version: Version) {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.client(version).await, fixture.client(version).await);
    write_whole(&one, "/file", "data").await;
    let (mine, theirs) = (one.open("/file", WRITE).await.unwrap(), other.open("/file", WRITE).await.unwrap());
    mine.try_lock(.., LockKind::Shared).await.unwrap();
    theirs.try_lock(.., LockKind::Shared).await.unwrap();
    assert!(matches!(mine.try_lock(.., LockKind::Exclusive).await, Err(Error::Locked)));
    theirs.unlock(..).await.unwrap();
    mine.try_lock(.., LockKind::Exclusive).await.unwrap();
}

async fn a_lock_shows_what_was_written_under_the_one_before(version: Version) {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.client(version).await, fixture.client(version).await);
    write_whole(&one, "/file", "0").await;
    let (mine, theirs) = (one.open("/file", WRITE).await.unwrap(), other.open("/file", WRITE).await.unwrap());
    for round in 1..10_u8 {
        let (writer, reader) = if round % 2 == 0 { (&mine, &theirs) } else { (&theirs, &mine) };
        writer.lock(.., LockKind::Exclusive).await.unwrap();
        writer.write_at(0, vec![b'0' + round].into()).await.unwrap();
        writer.unlock(..).await.unwrap();
        reader.lock(.., LockKind::Shared).await.unwrap();
        assert_eq!(reader.read_at(0, 10).await.unwrap()[..], [b'0' + round]);
        reader.unlock(..).await.unwrap();
    }
}

async fn counting_under_a_lock_loses_nothing(version: Version) {
    let fixture = Fixture::new().await;
    write_whole(&fixture.client(version).await, "/counter", "000").await;
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let client = fixture.client(version).await;
        tasks.push(tokio::spawn(async move {
            for _ in 0..20 {
                count_up_in(&client, "/counter").await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(std::fs::read(fixture.path("counter")).unwrap(), b"060");
}

async fn count_up_in(client: &Client, path: &str) {
    let file = client.open(path, WRITE).await.unwrap();
    file.lock(.., LockKind::Exclusive).await.unwrap();
    let text = file.read_at(0, 3).await.unwrap();
    let number: u32 = std::str::from_utf8(&text).unwrap().parse().unwrap();
    file.write_at(0, format!("{:03}", number + 1).into()).await.unwrap();
    file.unlock(..).await.unwrap();
    file.close().await.unwrap();
}

async fn closing_gives_up_locks(version: Version) {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.client(version).await, fixture.client(version).await);
    write_whole(&one, "/file", "data").await;
    let mine = one.open("/file", WRITE).await.unwrap();
    mine.lock(5..10, LockKind::Exclusive).await.unwrap();
    mine.close().await.unwrap();
    let theirs = other.open("/file", WRITE).await.unwrap();
    theirs.try_lock(.., LockKind::Exclusive).await.unwrap();
}

async fn parts_of_a_file_are_locked_apart(version: Version) {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.client(version).await, fixture.client(version).await);
    write_whole(&one, "/file", "0123456789").await;
    let (mine, theirs) = (one.open("/file", WRITE).await.unwrap(), other.open("/file", WRITE).await.unwrap());
    mine.lock(0..8, LockKind::Exclusive).await.unwrap();
    theirs.try_lock(8.., LockKind::Exclusive).await.unwrap();
    assert!(matches!(theirs.try_lock(4..5, LockKind::Exclusive).await, Err(Error::Locked)));
    mine.unlock(4..5).await.unwrap();
    theirs.try_lock(4..5, LockKind::Exclusive).await.unwrap();
    assert!(matches!(theirs.try_lock(3..6, LockKind::Exclusive).await, Err(Error::Locked)));
    mine.unlock(..).await.unwrap();
    theirs.try_lock(.., LockKind::Exclusive).await.unwrap();
}

async fn names_made_elsewhere_are_found(version: Version) {
    let fixture = Fixture::new().await;
    let no_belief = |options: &mut client::Options| {
        options.attribute_timeouts = client::AttributeTimeouts::fixed(Duration::ZERO);
    };
    let one = fixture.client_with(version, no_belief).await;
    let other = fixture.client(version).await;
    assert!(one.metadata("/name").await.unwrap_err().is_not_found());
    write_whole(&other, "/name", "12").await;
    assert_eq!(one.metadata("/name").await.unwrap().size, 2);
    other.rename("/name", "/moved").await.unwrap();
    assert!(one.metadata("/name").await.unwrap_err().is_not_found());
    assert_eq!(read_whole(&one, "/moved").await, "12");
}

/// Opens and locks under a delegation, which the server does not know of.
async fn delegated(client: &Client, fixture: &Fixture) -> client::File {
    std::fs::write(fixture.path("file"), b"old data").unwrap();
    // The first conversation may come before the server has seen the backchannel work.
    let first = client.open("/file", READ).await.unwrap();
    first.read_at(0, 100).await.unwrap();
    let before = client.tap().snapshot();
    let file = client.open("/file", READ).await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), "old data");
    file.try_lock(.., LockKind::Shared).await.unwrap();
    assert_eq!(asked(&client.tap().snapshot().since(&before)), [""; 0], "there is a delegation");
    file
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lock_leaves_no_trace_when_a_late_return_meets_the_next_delegation() {
    for _ in 0..6 {
        meet_the_next_delegation(&Fixture::new().await).await;
    }
}

async fn meet_the_next_delegation(fixture: &Fixture) {
    let wait = Duration::from_millis(50);
    let hesitant = |options: &mut Options| {
        options.waits.delegation = wait;
        // A lock that came with the open would be known to the server.
        options.lock_with_open = false;
    };
    let client = fixture.client_with(Version::V4_1, hesitant).await;
    delegated(&client, fixture).await.close().await.unwrap();
    // Both want the delegation away. When the first has it, a file gets the next one, and the second comes
    // late.
    let change = |client: Client, mode| async move {
        let mode = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
        client.set_metadata("/file", mode).await.unwrap();
    };
    let first = tokio::spawn(change(client.clone(), 0o600));
    tokio::time::sleep(wait / 2).await;
    let second = tokio::spawn(change(client.clone(), 0o640));
    first.await.unwrap();
    let file = client.open("/file", READ).await.unwrap();
    for at in 0_u64.. {
        if second.is_finished() {
            break;
        }
        // Shorter than a LOCK takes: the client releases the lock while LOCK is under way.
        file.lock(at..=at, LockKind::Shared).await.unwrap();
        tokio::task::yield_now().await;
        file.unlock(at..=at).await.unwrap();
    }
    second.await.unwrap();
    file.close().await.unwrap();
    let other = fixture.client_with(Version::V4_1, |options| options.delegations = false).await;
    let theirs = other.open("/file", WRITE).await.unwrap();
    theirs.try_lock(.., LockKind::Exclusive).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conflicting_open_recalls_the_delegation_and_succeeds() {
    let fixture = Fixture::new().await;
    let (holder, other) = (fixture.client(Version::V4_1).await, fixture.client(Version::V4_1).await);
    let file = delegated(&holder, &fixture).await;
    let theirs = other.open("/file", OpenOptions::new().write(true)).await.unwrap();
    assert_eq!(holder.tap().snapshot().callbacks["CB_RECALL"], 1);
    assert_eq!(other.tap().snapshot().requests["OPEN"].requests, 1, "held, not sent away");
    assert!(
        matches!(theirs.try_lock(.., LockKind::Exclusive).await, Err(Error::Locked)),
        "the lock moved along"
    );
    file.unlock(..).await.unwrap();
    theirs.try_lock(.., LockKind::Exclusive).await.unwrap();
    theirs.write_at(0, "new".into()).await.unwrap();
    theirs.unlock(..).await.unwrap();
    file.lock(.., LockKind::Shared).await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), "new data");
    file.close().await.unwrap();
    theirs.close().await.unwrap();
    assert_eq!(read_whole(&holder, "/file").await, "new data");
    holder.shutdown().await.unwrap();
    other.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_locking_and_recalling_at_once_loses_nothing() {
    let fixture = Fixture::new().await;
    let (holder, other) = (fixture.client(Version::V4_1).await, fixture.client(Version::V4_1).await);
    std::fs::write(fixture.path("file"), b"000").unwrap();
    let mut readers = Vec::new();
    for _ in 0..3 {
        let holder = holder.clone();
        readers.push(tokio::spawn(async move {
            let mut last = 0;
            for _ in 0..200 {
                let file = holder.open("/file", READ).await.unwrap();
                file.lock(.., LockKind::Shared).await.unwrap();
                let text = file.read_at(0, 3).await.unwrap();
                let number: u32 = std::str::from_utf8(&text).unwrap().parse().unwrap();
                assert!(number >= last, "{number} after {last}");
                last = number;
                file.unlock(..).await.unwrap();
                file.close().await.unwrap();
            }
        }));
    }
    for _ in 0..100 {
        count_up_in(&other, "/file").await;
    }
    for reader in readers {
        reader.await.unwrap();
    }
    assert_eq!(read_whole(&holder, "/file").await, "100");
    holder.shutdown().await.unwrap();
    other.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_elsewhere_recalls_the_delegation() {
    let fixture = Fixture::new().await;
    let (holder, other) = (fixture.client(Version::V4_1).await, fixture.client(Version::V4_1).await);
    let file = delegated(&holder, &fixture).await;
    file.close().await.unwrap();
    other.remove_file("/file").await.unwrap();
    assert_eq!(holder.tap().snapshot().callbacks["CB_RECALL"], 1);
    assert!(holder.open("/file", READ).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_gives_its_own_delegation_up_before_it_writes() {
    let fixture = Fixture::new().await;
    let client = fixture.client(Version::V4_1).await;
    let file = delegated(&client, &fixture).await;
    file.close().await.unwrap();
    write_whole(&client, "/file", "mine").await;
    let snapshot = client.tap().snapshot();
    assert_eq!(snapshot.requests["DELEGRETURN"].requests, 1);
    assert!(!snapshot.callbacks.contains_key("CB_RECALL"));
    assert_eq!(read_whole(&client, "/file").await, "mine");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn surplus_delegations_go_back() {
    let fixture = Fixture::new().await;
    for index in 0..20 {
        std::fs::write(fixture.path(&format!("{index}")), b"x").unwrap();
    }
    let client = fixture.client_with(Version::V4_1, |options| options.delegations_max = 5).await;
    // The server grants none before it has seen the backchannel work.
    std::fs::write(fixture.path("first"), b"x").unwrap();
    loop {
        let before = client.tap().snapshot();
        read_whole(&client, "/first").await;
        if asked(&client.tap().snapshot().since(&before)).is_empty() {
            break;
        }
    }
    for index in 0..20 {
        assert_eq!(read_whole(&client, &format!("/{index}")).await, "x");
    }
    client.shutdown().await.unwrap();
    assert_eq!(client.tap().snapshot().requests["DELEGRETURN"].requests, 21);
}

async fn lock_test_names_the_conflicting_owner(version: Version) {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.path("file"), vec![0; 100]).unwrap();
    let (one, other) = (fixture.client(version).await, fixture.client(version).await);
    let holder = one.open("/file", WRITE).await.unwrap();
    let neighbour = one.open("/file", WRITE).await.unwrap();
    let stranger = other.open("/file", WRITE).await.unwrap();
    holder.lock(10..20, LockKind::Exclusive).await.unwrap();
    holder.lock(50.., LockKind::Shared).await.unwrap();
    assert_eq!(holder.test_lock(.., LockKind::Exclusive).await.unwrap(), None);
    for file in [&neighbour, &stranger] {
        let found = file.test_lock(..15, LockKind::Shared).await.unwrap().unwrap();
        assert_eq!((found.range, found.kind), (10..20, LockKind::Exclusive));
        let found = file.test_lock(60..61, LockKind::Exclusive).await.unwrap().unwrap();
        assert_eq!((found.range, found.kind), (50..u64::MAX, LockKind::Shared));
        assert_eq!(file.test_lock(60..61, LockKind::Shared).await.unwrap(), None);
        assert_eq!(file.test_lock(20..50, LockKind::Exclusive).await.unwrap(), None);
    }
}
