//! A server that restarts: NFSv4.1 clients take back what they held, and their users notice nothing.

use client::{AttributeTimeouts, Client, Error, File, LockKind, Snapshot, Version};

use crate::fixture::{Fixture, LONG, READ, WRITE, asked, pattern, read_whole, write_whole};

/// How many operations of a kind there were.
fn operations(counts: &Snapshot, name: &str) -> u64 {
    counts.operations.get(name).copied().unwrap_or(0)
}

fn requests(counts: &Snapshot, name: &str) -> u64 {
    counts.requests.get(name).map_or(0, |stats| stats.requests)
}

/// A file that is opened by a delegation alone.
async fn delegated(client: &Client, fixture: &Fixture, name: &str) -> File {
    std::fs::write(fixture.path(name), b"delegated").unwrap();
    read_whole(client, &format!("/{name}")).await;
    let before = client.tap().snapshot();
    let file = client.open(format!("/{name}"), READ).await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), "delegated");
    assert_eq!(asked(&client.tap().snapshot().since(&before)), [""; 0], "there is a delegation");
    file
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opens_locks_and_delegations_are_taken_back_once_each() {
    let fixture = Fixture::new().await;
    // Names are not looked up again because the machine is slow.
    let believing =
        |options: &mut client::Options| options.attribute_timeouts = AttributeTimeouts::fixed(LONG);
    let client = fixture.client_with(Version::V4_1, believing).await;
    // The first conversation may come before the server has seen the backchannel work.
    write_whole(&client, "/first", "x").await;
    read_whole(&client, "/first").await;
    write_whole(&client, "/locked", "0123456789").await;
    let locked = client.open("/locked", WRITE).await.unwrap();
    locked.lock(0..4, LockKind::Exclusive).await.unwrap();
    locked.lock(6..8, LockKind::Shared).await.unwrap();
    write_whole(&client, "/written", "old").await;
    let written = client.open("/written", WRITE).await.unwrap();
    let local = delegated(&client, &fixture, "local").await;
    local.lock(.., LockKind::Shared).await.unwrap();
    let held = client.tap().snapshot().operations["OPEN"];

    let before = client.tap().snapshot();
    let address = fixture.address();
    let fixture = fixture.restart(address).await;
    assert_eq!(locked.read_at(0, 4).await.unwrap(), "0123");
    let counts = client.tap().snapshot().since(&before);
    // Two that are open, and one with each of the delegations of `local` and perhaps `first`.
    let claims = operations(&counts, "OPEN");
    assert!((3..=4).contains(&claims), "{claims} of {held}");
    assert_eq!(requests(&counts, "OPEN"), 1, "all in one request");
    assert_eq!(operations(&counts, "LOCK"), 2);
    assert_eq!(operations(&counts, "RECLAIM_COMPLETE"), 1);
    assert_eq!(operations(&counts, "EXCHANGE_ID"), 1);

    let before = client.tap().snapshot();
    local.try_lock(.., LockKind::Shared).await.unwrap();
    assert_eq!(local.read_at(0, 100).await.unwrap(), "delegated");
    let again = client.open("/local", READ).await.unwrap();
    assert_eq!(again.read_at(0, 100).await.unwrap(), "delegated");
    assert_eq!(asked(&client.tap().snapshot().since(&before)), [""; 0], "the delegation is still held");
    again.close().await.unwrap();

    written.write_at(0, "new".into()).await.unwrap();
    written.close().await.unwrap();
    locked.write_at(0, "abcd".into()).await.unwrap();
    locked.unlock(..).await.unwrap();
    locked.close().await.unwrap();
    local.close().await.unwrap();
    assert_eq!(std::fs::read(fixture.path("written")).unwrap(), b"new");
    assert_eq!(std::fs::read(fixture.path("locked")).unwrap(), b"abcd456789");
    client.shutdown().await.unwrap();
    let counts = client.tap().snapshot();
    assert_eq!(operations(&counts, "RECLAIM_COMPLETE"), 2, "and the one of the beginning");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delegation_that_was_taken_back_is_recalled_with_its_locks() {
    let fixture = Fixture::new().await;
    let (holder, other) = (fixture.client(Version::V4_1).await, fixture.client(Version::V4_1).await);
    write_whole(&holder, "/first", "x").await;
    read_whole(&holder, "/first").await;
    let file = delegated(&holder, &fixture, "file").await;
    file.lock(0..5, LockKind::Shared).await.unwrap();
    let address = fixture.address();
    let fixture = fixture.restart(address).await;
    // Waits for the holder, and then for the delegation.
    let theirs = other.open("/file", WRITE).await.unwrap();
    assert_eq!(holder.tap().snapshot().callbacks["CB_RECALL"], 1);
    assert!(matches!(theirs.try_lock(.., LockKind::Exclusive).await, Err(Error::Locked)));
    theirs.try_lock(5.., LockKind::Exclusive).await.unwrap();
    file.unlock(..).await.unwrap();
    theirs.try_lock(.., LockKind::Exclusive).await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), "delegated");
    drop(fixture);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lock_stays_exclusive_over_a_restart() {
    let mut fixture = Fixture::new().await;
    let (one, other) = (fixture.client(Version::V4_1).await, fixture.client(Version::V4_1).await);
    write_whole(&one, "/file", "0").await;
    let (mine, theirs) = (one.open("/file", WRITE).await.unwrap(), other.open("/file", WRITE).await.unwrap());
    mine.lock(.., LockKind::Exclusive).await.unwrap();
    let waiting = tokio::spawn(async move {
        theirs.lock(.., LockKind::Exclusive).await.unwrap();
        let seen = theirs.read_at(0, 10).await.unwrap();
        theirs.unlock(..).await.unwrap();
        seen
    });
    for round in 1..=3_u8 {
        let address = fixture.address();
        fixture = fixture.restart(address).await;
        let data = vec![b'0' + round];
        mine.write_at(0, data.into()).await.unwrap();
        mine.sync_all().await.unwrap();
        assert!(!waiting.is_finished());
    }
    mine.unlock(..).await.unwrap();
    assert_eq!(waiting.await.unwrap(), "3", "nobody was in between");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_opens_come_back_in_few_requests() {
    const FILES: u64 = 3000;
    let fixture = Fixture::new().await;
    let client = fixture.client_with(Version::V4_1, |options| options.delegations = false).await;
    write_whole(&client, "/file", "data").await;
    let mut files = Vec::new();
    for _ in 0..FILES {
        files.push(client.open("/file", READ).await.unwrap());
    }
    let before = client.tap().snapshot();
    let address = fixture.address();
    let _fixture = fixture.restart(address).await;
    for file in &files {
        client.forget("/file").await.unwrap();
        assert_eq!(file.read_at(0, 4).await.unwrap(), "data");
    }
    let counts = client.tap().snapshot().since(&before);
    assert_eq!(operations(&counts, "OPEN"), FILES);
    assert_eq!(requests(&counts, "OPEN"), FILES.div_ceil(15));
    assert_eq!(operations(&counts, "RECLAIM_COMPLETE"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_written_but_not_stable_are_written_again_to_the_next_server() {
    let fixture = Fixture::new().await;
    let client = fixture.client_with(Version::V4_1, |options| options.write_bytes_max = 4096).await;
    let data = pattern(5 * 4096);
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    file.write_at(0, data.clone()).await.unwrap();
    // Everything is at the server after this, and nothing of it stable.
    assert_eq!(file.metadata().await.unwrap().size, data.len() as u64);
    let before = client.tap().snapshot();
    let address = fixture.address();
    let fixture = fixture.restart(address).await;
    std::fs::write(fixture.path("file"), b"").unwrap();
    file.sync_all().await.unwrap();
    assert_eq!(operations(&client.tap().snapshot().since(&before), "WRITE"), 5);
    assert!(std::fs::read(fixture.path("file")).unwrap() == data);
}

/// Of two open files, and of one: the server has lost everything, and gets each byte as it was written last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recovery_resends_no_overwritten_data() {
    let fixture = Fixture::new().await;
    let client = fixture.client_with(Version::V4_1, |options| options.write_bytes_max = 4096).await;
    let first = client.open("/file", WRITE.create(true)).await.unwrap();
    let second = client.open("/file", WRITE).await.unwrap();
    for (file, offset, byte, length) in
        [(&first, 0, b'a', 12_000), (&first, 1000, b'b', 6000), (&second, 2000, b'c', 4500)]
    {
        file.write_at(offset, vec![byte; length].into()).await.unwrap();
        // Everything is at the server after this, and nothing of it stable.
        file.metadata().await.unwrap();
    }
    let address = fixture.address();
    let fixture = fixture.restart(address).await;
    std::fs::write(fixture.path("file"), b"").unwrap();
    second.write_at(3000, "d".into()).await.unwrap();
    // It answers for what the other has written over, too.
    first.sync_all().await.unwrap();
    let expected = [('a', 1000), ('b', 1000), ('c', 1000), ('d', 1), ('c', 3499), ('b', 500), ('a', 5000)];
    let runs = |bytes: &[u8]| -> Vec<(char, usize)> {
        bytes.chunk_by(|one, other| one == other).map(|run| (char::from(run[0]), run.len())).collect()
    };
    assert_eq!(runs(&std::fs::read(fixture.path("file")).unwrap()), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn truncated_data_do_not_return_after_recovery() {
    for version in [Version::V3, Version::V4_1] {
        let fixture = Fixture::new().await;
        let client = fixture.client_with(version, |options| options.write_bytes_max = 4096).await;
        let file = client.open("/file", WRITE.create(true)).await.unwrap();
        file.write_at(0, pattern(5000)).await.unwrap();
        file.metadata().await.unwrap();
        let address = fixture.address();
        let object = client.root_object().lookup(b"file").await.unwrap();
        object.open(&WRITE.truncate(true)).await.unwrap();
        let fixture = fixture.restart(address).await;
        file.sync_all().await.unwrap();
        assert_eq!(std::fs::read(fixture.path("file")).unwrap().len(), 0, "over {version}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_reclaim_reopens_and_reports_lost_locks() {
    let fixture = Fixture::new().await;
    let client = fixture.client(Version::V4_1).await;
    write_whole(&client, "/plain", "plain").await;
    write_whole(&client, "/locked", "locked").await;
    let plain = client.open("/plain", WRITE).await.unwrap();
    let locked = client.open("/locked", WRITE).await.unwrap();
    locked.lock(.., LockKind::Exclusive).await.unwrap();
    let local = delegated(&client, &fixture, "local").await;
    local.lock(.., LockKind::Shared).await.unwrap();
    locked.write_at(0, "doomed".into()).await.unwrap();
    let address = fixture.address();
    let stopped = fixture.stop().await;
    locked.write_at(0, "DOOMED".into()).await.unwrap();
    let fixture = stopped.start_without_records(address).await;

    assert!(matches!(locked.sync_all().await, Err(Error::Revoked)), "its data may not go out any more");
    assert!(matches!(locked.read_at(0, 10).await, Err(Error::Revoked)));
    assert!(matches!(locked.try_lock(.., LockKind::Exclusive).await, Err(Error::Revoked)));
    assert!(matches!(local.unlock(..).await, Err(Error::Revoked)));
    assert_eq!(local.read_at(0, 100).await.unwrap(), "delegated", "it goes on once the lock is given up");
    assert_eq!(plain.read_at(0, 10).await.unwrap(), "plain");
    plain.write_at(0, "PLAIN".into()).await.unwrap();
    plain.close().await.unwrap();
    assert_eq!(std::fs::read(fixture.path("plain")).unwrap(), b"PLAIN");

    assert!(matches!(locked.unlock(..).await, Err(Error::Revoked)));
    assert_ne!(std::fs::read(fixture.path("locked")).unwrap(), b"DOOMED");
    locked.lock(.., LockKind::Exclusive).await.unwrap();
    locked.write_at(0, "better".into()).await.unwrap();
    locked.close().await.unwrap();
    assert_eq!(std::fs::read(fixture.path("locked")).unwrap(), b"better");
    local.close().await.unwrap();
    client.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_under_way_survive_restart_after_restart() {
    let mut fixture = Fixture::new().await;
    let (address, client) = (fixture.address(), fixture.client(Version::V4_1).await);
    let mut tasks = Vec::new();
    for task in 0..6 {
        let client = client.clone();
        tasks.push(tokio::spawn(async move {
            let path = format!("/{task}");
            for round in 0..30_u32 {
                let file = client.open(&path, WRITE.create(true)).await.unwrap();
                file.lock(.., LockKind::Exclusive).await.unwrap();
                file.write_at(u64::from(round) * 4, round.to_be_bytes().to_vec().into()).await.unwrap();
                file.unlock(..).await.unwrap();
                let data = file.read_at(0, 4 * 100).await.unwrap();
                assert_eq!(data.len(), 4 * (round as usize + 1));
                file.close().await.unwrap();
            }
        }));
    }
    for _ in 0..4 {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        fixture = fixture.restart(address).await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    let expected: Vec<u8> = (0..30_u32).flat_map(u32::to_be_bytes).collect();
    for task in 0..6 {
        assert_eq!(std::fs::read(fixture.path(&task.to_string())).unwrap(), expected);
    }
    client.shutdown().await.unwrap();
}
