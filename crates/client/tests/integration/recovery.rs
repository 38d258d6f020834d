//! Lost connections, lost sessions, abandoned requests.

use std::time::Duration;

use client::{Client, Error, LockKind, Version};
use futures_util::future::join_all;

use crate::fixture::{
    Fixture, READ, WRITE, connect, in_every_version, list, pattern, read_whole, write_whole,
};
use crate::relay::Relay;

in_every_version! {
    a_lost_connection_goes_unnoticed
    requests_under_way_survive_cut_connections
    files_created_exclusively_over_cut_connections_have_present_times
    writes_survive_cut_connections
    dropping_requests_under_way_harms_nothing
}

async fn a_lost_connection_goes_unnoticed(version: Version) {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    let client = connect(relay.address(), version, |_| {}).await;
    write_whole(&client, "/file", "before").await;
    let file = client.open("/file", WRITE).await.unwrap();
    file.lock(.., LockKind::Exclusive).await.unwrap();
    relay.cut();
    assert_eq!(file.read_at(0, 100).await.unwrap(), "before");
    file.write_at(0, "behind".into()).await.unwrap();
    relay.cut();
    file.unlock(..).await.unwrap();
    file.close().await.unwrap();
    assert_eq!(std::fs::read(fixture.path("file")).unwrap(), b"behind");
    client.shutdown().await.unwrap();
}

/// Creates `files` files in each of eight tasks while the connections are cut. Returns the number of
/// uncertain outcomes.
async fn create_over_cuts(
    client: &Client,
    relay: &Relay,
    files: u32,
    create: impl AsyncFn(&Client, String) -> client::Result<()> + Copy,
) -> u32 {
    let one = async |task: u32| {
        let mut uncertain = 0;
        for index in 0..files {
            match create(client, format!("/{task}-{index}")).await {
                Ok(()) => {}
                // NFSv3 alone cannot know whether it was the first.
                Err(Error::UncertainOutcome { .. }) => uncertain += 1,
                Err(error) => panic!("{error}"),
            }
        }
        uncertain
    };
    let cuts = async {
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            relay.cut();
        }
    };
    let (uncertain, ()) = tokio::join!(join_all((0..8).map(one)), cuts);
    uncertain.into_iter().sum()
}

async fn requests_under_way_survive_cut_connections(version: Version) {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    let client = connect(relay.address(), version, |_| {}).await;
    let uncertain =
        create_over_cuts(&client, &relay, 40, async |client, name| client.create_file(name, 0o644).await)
            .await;
    assert_eq!(list(&client, "/").await.len(), 320);
    if version == Version::V4_1 {
        assert_eq!(uncertain, 0, "each was carried out exactly once");
    }
}

async fn files_created_exclusively_over_cut_connections_have_present_times(version: Version) {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    let client = connect(relay.address(), version, |_| {}).await;
    let started = std::time::SystemTime::now();
    let uncertain = create_over_cuts(&client, &relay, 20, async |client, name| {
        client.open(name, WRITE.create_new(true).mode(0o640)).await?.close().await
    })
    .await;
    if version != Version::V3 {
        assert_eq!(uncertain, 0, "the server has kept its replies");
    }
    // A verifier in the place of a time is random: it is decades off.
    let day = Duration::from_secs(86_400);
    let present = started - day..std::time::SystemTime::now() + day;
    for task in 0..8 {
        for index in 0..20 {
            let found = std::fs::metadata(fixture.path(&format!("{task}-{index}"))).unwrap();
            let (mtime, atime) = (found.modified().unwrap(), found.accessed().unwrap());
            assert!(
                present.contains(&mtime) && present.contains(&atime),
                "{task}-{index}: {mtime:?} {atime:?}"
            );
            let mode = std::os::unix::fs::PermissionsExt::mode(&found.permissions());
            assert_eq!(mode & 0o777, 0o640);
        }
    }
}

async fn writes_survive_cut_connections(version: Version) {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    let client = connect(relay.address(), version, |options| options.write_bytes_max = 16 << 10).await;
    let data = pattern(4 << 20);
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    for (index, at) in (0..data.len()).step_by(50_000).enumerate() {
        file.write_at(at as u64, data.slice(at..data.len().min(at + 50_000))).await.unwrap();
        if index % 20 == 19 {
            relay.cut();
        }
    }
    file.close().await.unwrap();
    assert!(std::fs::read(fixture.path("file")).unwrap() == data);
}

async fn dropping_requests_under_way_harms_nothing(version: Version) {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.path("file"), pattern(1 << 20)).unwrap();
    let client = fixture
        .client_with(version, |options| {
            options.slots_max = 4;
            options.data_cache = false;
        })
        .await;
    let file = client.open("/file", READ).await.unwrap();
    for index in 0..100_u64 {
        let wait = Duration::from_micros(index * 7);
        let _ = tokio::time::timeout(wait, file.read_at(0, 1 << 20)).await;
    }
    assert_eq!(file.read_at(0, 1 << 20).await.unwrap(), pattern(1 << 20));
    client.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_under_way_survive_restarts_with_persistent_sessions() {
    let mut fixture = Fixture::with(|options| options.persistent_sessions = true).await;
    let (address, client) = (fixture.address(), fixture.client(Version::V4_1).await);
    let mut tasks = Vec::new();
    for task in 0..8 {
        let client = client.clone();
        tasks.push(tokio::spawn(async move {
            for index in 0..40 {
                let name = |what: &str| format!("/{what}-{task}-{index}");
                client.create_dir(name("made"), 0o755).await.unwrap();
                client.rename(name("made"), name("moved")).await.unwrap();
                if index % 2 == 0 {
                    client.remove_dir(name("moved")).await.unwrap();
                }
            }
        }));
    }
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        fixture = fixture.restart_with(address, |options| options.persistent_sessions = true).await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    let names = list(&client, "/").await;
    assert_eq!(names.len(), 8 * 20, "each was carried out exactly once");
    assert!(names.iter().all(|entry| entry.name.starts_with(b"moved-")));
    client.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_lost_with_its_connection_to_nobody() {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    let one = connect(relay.address(), Version::V4_1, |_| {}).await;
    let other = fixture.client(Version::V4_1).await;
    write_whole(&one, "/file", "data").await;
    let mine = one.open("/file", WRITE).await.unwrap();
    mine.lock(.., LockKind::Exclusive).await.unwrap();
    relay.cut();
    let theirs = other.open("/file", WRITE).await.unwrap();
    assert!(matches!(theirs.try_lock(.., LockKind::Shared).await, Err(Error::Locked)));
    mine.unlock(..).await.unwrap();
    theirs.try_lock(.., LockKind::Shared).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delegation_is_recalled_over_the_next_connection() {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    let holder = connect(relay.address(), Version::V4_1, |_| {}).await;
    let other = fixture.client(Version::V4_1).await;
    std::fs::write(fixture.path("file"), b"data").unwrap();
    for _ in 0..2 {
        assert_eq!(read_whole(&holder, "/file").await, "data");
    }
    relay.cut();
    while !holder.tap().snapshot().requests.contains_key("BIND_CONN_TO_SESSION") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    write_whole(&other, "/file", "else").await;
    assert_eq!(holder.tap().snapshot().callbacks["CB_RECALL"], 1);
    assert_eq!(read_whole(&holder, "/file").await, "else");
}
