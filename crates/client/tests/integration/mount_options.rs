//! Options of an address that change what is asked of a server.

use client::{Client, Error, LockKind, Options, Url, Version};

use crate::fixture::{Fixture, WRITE, in_every_version};

in_every_version! {
    name_cache_lasts_as_the_url_says
}

async fn mount(fixture: &Fixture, query: &str) -> Client {
    let url: Url = format!("nfs://{}/?{query}", fixture.address()).parse().unwrap();
    Client::connect(&url, Options::default()).await.unwrap()
}

async fn name_cache_lasts_as_the_url_says(version: Version) {
    let fixture = Fixture::new().await;
    for (cache, found, missing) in [("all", 0, 0), ("positive", 0, 1), ("none", 1, 1)] {
        std::fs::create_dir_all(fixture.path("dir")).unwrap();
        let client = mount(&fixture, &format!("version={version}&lookupcache={cache}")).await;
        let looked_up = async |path: &str| {
            let count = || client.tap().snapshot().requests.get("LOOKUP").map_or(0, |stats| stats.requests);
            let root = client.root();
            let _ = root.exists(path).await.unwrap();
            let before = count();
            let _ = root.exists(path).await.unwrap();
            count() - before
        };
        assert_eq!(looked_up("dir").await, found, "{cache}");
        assert_eq!(looked_up("missing").await, missing, "{cache}");
        client.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_locking_over_version_3_locks_hold_within_the_client_only() {
    let fixture = Fixture::new().await;
    let (client, other) = (mount(&fixture, "version=3&nolock").await, fixture.client(Version::V3).await);
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    let neighbour = client.open("/file", WRITE).await.unwrap();
    let stranger = other.open("/file", WRITE).await.unwrap();
    file.lock(.., LockKind::Exclusive).await.unwrap();
    assert!(matches!(neighbour.try_lock(0..1, LockKind::Shared).await, Err(Error::Locked)));
    assert!(neighbour.test_lock(0..1, LockKind::Shared).await.unwrap().is_some());
    stranger.try_lock(.., LockKind::Exclusive).await.unwrap();
    file.unlock(..).await.unwrap();
    neighbour.try_lock(0..1, LockKind::Shared).await.unwrap();
    neighbour.close().await.unwrap();
    let asked = client.tap().snapshot().requests;
    assert!(!asked.keys().any(|name| name.contains("LOCK") || *name == "TEST"), "{:?}", asked.keys());
}
