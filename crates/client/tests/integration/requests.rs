//! How many requests things take: the counts that the studies of NFSv4.1 are about.

use client::{Client, LockKind, OpenOptions, Snapshot, Version};

use crate::fixture::{Fixture, READ, WRITE, pattern, read_whole, write_whole};

const FILES: usize = 50;
const ROUNDS: usize = 10;

async fn files(fixture: &Fixture) {
    for index in 0..FILES {
        std::fs::write(fixture.path(&format!("{index}")), pattern(4096)).unwrap();
    }
}

/// Open, lock, read, unlock, close: each file ten times (the locked read of the studies).
async fn locked_read(client: &Client) -> Snapshot {
    let before = client.tap().snapshot();
    for index in 0..FILES {
        for _ in 0..ROUNDS {
            let file = client.open(format!("/{index}"), READ).await.unwrap();
            file.lock(.., LockKind::Shared).await.unwrap();
            assert_eq!(file.read_at(0, 4096).await.unwrap(), pattern(4096));
            file.unlock(..).await.unwrap();
            file.close().await.unwrap();
        }
    }
    client.shutdown().await.unwrap();
    client.tap().snapshot().since(&before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_read_takes_four_requests_of_nfs3() {
    let fixture = Fixture::new().await;
    files(&fixture).await;
    let counts = locked_read(&fixture.unhurried(Version::V3, |_| {}).await).await;
    for (name, each) in [("LOCK", 10), ("UNLOCK", 10), ("READ", 10), ("LOOKUP", 10)] {
        assert_eq!(counts.requests[name].requests, FILES as u64 * each, "{name}");
    }
    assert_eq!(counts.requests_total(), FILES as u64 * 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn habitual_locked_read_without_delegations_takes_two_requests() {
    let fixture = Fixture::new().await;
    files(&fixture).await;
    let client = fixture.unhurried(Version::V4_1, |options| options.delegations = false).await;
    let counts = locked_read(&client).await;
    let files = FILES as u64;
    assert_eq!(counts.requests["OPEN"].requests, files * 10);
    for (name, each) in [("LOCK", 10), ("LOCKU", 10), ("FREE_STATEID", 10), ("CLOSE", 10), ("READ", 1)] {
        let carried_out = counts.operations[name];
        assert!((files * each..files * each * 21 / 20).contains(&carried_out), "{name}: {carried_out}");
    }
    // The studies' 10,000 rounds would take 22,000.
    assert!(counts.requests_total() <= files * 23, "{}", counts.requests_total());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_read_with_delegations_takes_two_requests_for_ten_rounds() {
    let fixture = Fixture::new().await;
    files(&fixture).await;
    let client = fixture.unhurried(Version::V4_1, |_| {}).await;
    let counts = locked_read(&client).await;
    assert!(!counts.requests.contains_key("LOCK"), "{:?}", counts.requests.keys());
    assert!(counts.requests_total() <= FILES as u64 * 2 + 2, "{}", counts.requests_total());
}

/// Open, then ten times lock, read, unlock; then close (the second locked read of the studies).
async fn locked_read_open_once(client: &Client) -> Snapshot {
    let before = client.tap().snapshot();
    for index in 0..FILES {
        let file = client.open(format!("/{index}"), READ).await.unwrap();
        for _ in 0..ROUNDS {
            file.lock(.., LockKind::Shared).await.unwrap();
            assert_eq!(file.read_at(0, 4096).await.unwrap(), pattern(4096));
            file.unlock(..).await.unwrap();
        }
        file.close().await.unwrap();
    }
    client.shutdown().await.unwrap();
    client.tap().snapshot().since(&before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_read_of_an_open_file_takes_two_requests() {
    let fixture = Fixture::new().await;
    files(&fixture).await;
    let client = fixture.unhurried(Version::V4_1, |options| options.delegations = false).await;
    let counts = locked_read_open_once(&client).await;
    assert_eq!(counts.operations["READ"], FILES as u64);
    assert!(counts.requests_total() <= FILES as u64 * 22, "{}", counts.requests_total());
    let client = fixture.unhurried(Version::V4_1, |_| {}).await;
    let counts = locked_read_open_once(&client).await;
    assert!(counts.requests_total() <= FILES as u64 * 2 + 2, "{}", counts.requests_total());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_file_is_read_in_one_request_without_delegations() {
    let fixture = Fixture::new().await;
    files(&fixture).await;
    let client = fixture.unhurried(Version::V4_1, |options| options.delegations = false).await;
    let before = client.tap().snapshot();
    for index in 0..FILES {
        let file = client.open(format!("/{index}"), READ).await.unwrap();
        assert_eq!(file.read_at(0, 4096).await.unwrap(), pattern(4096));
        file.close().await.unwrap();
    }
    client.shutdown().await.unwrap();
    let counts = client.tap().snapshot().since(&before);
    assert_eq!(counts.operations["CLOSE"], FILES as u64);
    assert!(counts.requests_total() <= FILES as u64 * 11 / 10 + 3, "{}", counts.requests_total());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delegated_file_is_read_again_without_a_request() {
    let fixture = Fixture::new().await;
    files(&fixture).await;
    let client = fixture.unhurried(Version::V4_1, |_| {}).await;
    for index in 0..FILES {
        read_whole(&client, &format!("/{index}")).await;
    }
    let before = client.tap().snapshot();
    for index in 1..FILES {
        assert_eq!(read_whole(&client, &format!("/{index}")).await, pattern(4096));
    }
    assert_eq!(client.tap().snapshot().since(&before).requests_total(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_file_is_created_in_one_request() {
    let fixture = Fixture::new().await;
    for version in Version::ALL {
        let client = fixture.unhurried(version, |_| {}).await;
        let before = client.tap().snapshot();
        client.create_file(format!("/empty-{version}"), 0o644).await.unwrap();
        let counts = client.tap().snapshot().since(&before);
        assert_eq!(counts.requests_total(), 1, "{version}: {:?}", counts.requests.keys());
        assert!(!counts.operations.contains_key("GETATTR"), "nobody wants to have them");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_new_file_takes_one_stable_write_and_no_commit() {
    let fixture = Fixture::new().await;
    for (version, names) in [(Version::V3, &["CREATE", "WRITE"][..]), (Version::V4_1, &["OPEN", "WRITE"][..])]
    {
        let client = fixture.unhurried(version, |_| {}).await;
        let before = client.tap().snapshot();
        let new = OpenOptions::new().write(true).create_new(true);
        let file = client.open(format!("/new-{version}"), new).await.unwrap();
        for at in 0..4 {
            file.write_at(at * 1024, pattern(1024)).await.unwrap();
        }
        file.close().await.unwrap();
        if version == Version::V4_1 {
            client.shutdown().await.unwrap();
        }
        let counts = client.tap().snapshot().since(&before);
        for name in names {
            assert_eq!(counts.requests[name].requests, 1, "{version} {name}");
        }
        assert!(!counts.requests.contains_key("COMMIT"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deep_path_is_walked_in_one_request_of_nfs4() {
    let fixture = Fixture::new().await;
    std::fs::create_dir_all(fixture.path("a/b/c/d")).unwrap();
    std::fs::write(fixture.path("a/b/c/d/file"), b"deep").unwrap();
    let client = fixture.unhurried(Version::V4_1, |_| {}).await;
    let before = client.tap().snapshot();
    let file = client.open("/a/b/c/d/file", READ).await.unwrap();
    let counts = client.tap().snapshot().since(&before);
    assert_eq!((counts.requests["LOOKUP"].requests, counts.requests["OPEN"].requests), (1, 1));
    assert_eq!(counts.requests_total(), 2);
    file.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_reads_fetch_what_was_asked_for_and_no_more() {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.path("large"), pattern(4 << 20)).unwrap();
    for version in Version::ALL {
        let client = fixture.unhurried(version, |_| {}).await;
        let file = client.open("/large", READ).await.unwrap();
        let before = client.tap().snapshot();
        for index in 1..100_u64 {
            let block = index * 389 % 1024;
            file.read_at(block * 4096, 4096).await.unwrap();
        }
        let counts = client.tap().snapshot().since(&before);
        assert_eq!(counts.requests["READ"].requests, 99);
        assert!(counts.bytes_received() < 99 * 4096 * 21 / 20, "{}", counts.bytes_received());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sequential_reader_fetches_every_byte_once_in_large_requests() {
    let fixture = Fixture::new().await;
    let size = 8 << 20;
    std::fs::write(fixture.path("large"), pattern(size)).unwrap();
    for version in Version::ALL {
        let client = fixture.unhurried(version, |_| {}).await;
        let file = client.open("/large", READ).await.unwrap();
        let before = client.tap().snapshot();
        for at in (0..size).step_by(65536) {
            assert_eq!(file.read_at(at as u64, 65536).await.unwrap().len(), 65536);
        }
        let counts = client.tap().snapshot().since(&before);
        assert!(counts.requests["READ"].requests <= 16, "{}", counts.requests["READ"].requests);
        assert!(counts.bytes_received() < size as u64 * 101 / 100);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_readahead_a_read_is_still_one_request() {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.path("large"), pattern(1 << 20)).unwrap();
    for version in Version::ALL {
        let client = fixture.unhurried(version, |options| options.readahead_bytes_max = 0).await;
        let file = client.open("/large", READ).await.unwrap();
        let before = client.tap().snapshot();
        for at in (0..1 << 20).step_by(65536) {
            file.read_at(at, 65536).await.unwrap();
        }
        assert_eq!(client.tap().snapshot().since(&before).requests["READ"].requests, 16);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_callers_than_slots_wait_in_line() {
    let fixture = Fixture::new().await;
    files(&fixture).await;
    let client = fixture.unhurried(Version::V4_1, |options| options.slots_max = 2).await;
    assert_eq!(client.negotiated()["slots"], "2");
    let tasks: Vec<_> = (0..FILES)
        .map(|index| {
            let client = client.clone();
            tokio::spawn(async move { read_whole(&client, &format!("/{index}")).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), pattern(4096));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_files_are_written_in_large_requests_and_committed_once() {
    let fixture = Fixture::new().await;
    for version in Version::ALL {
        let client = fixture.unhurried(version, |_| {}).await;
        let file = client.open("/written", WRITE.create(true).truncate(true)).await.unwrap();
        let before = client.tap().snapshot();
        for at in (0..8 << 20).step_by(65536) {
            file.write_at(at, pattern(65536)).await.unwrap();
        }
        file.sync_all().await.unwrap();
        let counts = client.tap().snapshot().since(&before);
        assert!(counts.requests["WRITE"].requests <= 10, "{}", counts.requests["WRITE"].requests);
        assert_eq!(counts.requests["COMMIT"].requests, 1);
        file.close().await.unwrap();
        write_whole(&client, "/written", "").await;
    }
}
