//! Whole files, read and written by one call.

use client::{Client, Version};

use crate::fixture::{Fixture, READ, WRITE, in_every_version, pattern};

in_every_version! {
    write_whole_replaces_the_content
    an_open_file_of_ours_sees_what_was_written_beside_it
    a_symbolic_link_is_written_through
    write_whole_fails_where_open_fails
}

async fn write_whole_replaces_the_content(version: Version) {
    let fixture = Fixture::new().await;
    let (client, other) = (fixture.client(version).await, fixture.client(version).await);
    for size in [4096, 3 << 20, 100, 0, 1] {
        client.write("/file", pattern(size)).await.unwrap();
        assert_eq!(std::fs::read(fixture.path("file")).unwrap(), pattern(size));
        assert_eq!(other.read("/file").await.unwrap(), pattern(size));
        assert_eq!(client.read("/file").await.unwrap(), pattern(size));
    }
    assert!(client.read("/none").await.unwrap_err().is_not_found());
}

async fn an_open_file_of_ours_sees_what_was_written_beside_it(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    client.write("/file", "before").await.unwrap();
    let file = client.open("/file", WRITE).await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), "before");
    file.write_at(3, "beside and longer".into()).await.unwrap();
    client.write("/file", "after").await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), "after");
    file.close().await.unwrap();
    assert_eq!(client.read("/file").await.unwrap(), "after");
}

async fn a_symbolic_link_is_written_through(version: Version) {
    let fixture = Fixture::new().await;
    std::os::unix::fs::symlink("target", fixture.path("link")).unwrap();
    let client = fixture.client(version).await;
    client.write("/link", "through").await.unwrap();
    assert_eq!(std::fs::read(fixture.path("target")).unwrap(), b"through");
    assert_eq!(client.read("/link").await.unwrap(), "through");
}

async fn write_whole_fails_where_open_fails(version: Version) {
    let fixture = Fixture::new().await;
    std::fs::create_dir(fixture.path("directory")).unwrap();
    let client = fixture.client(version).await;
    client.write("/directory", "x").await.unwrap_err();
    client.write("/none/file", "x").await.unwrap_err();
    client.write("/file", "good").await.unwrap();
    assert_eq!(client.read("/file").await.unwrap(), "good");
}

async fn requests_of(client: &Client, each: impl AsyncFn(usize)) -> f64 {
    const FILES: usize = 50;
    let before = client.tap().snapshot();
    for index in 0..FILES {
        each(index).await;
    }
    client.tap().snapshot().since(&before).requests_total() as f64 / FILES as f64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_file_is_written_in_one_request_and_read_in_one() {
    let fixture = Fixture::new().await;
    for (version, writing, reading) in [(Version::V3, 2.0, 2.0), (Version::V4_1, 1.0, 1.0)] {
        let client = fixture.unhurried(version, |options| options.delegations = false).await;
        let name = |index| format!("/{version}-{index}");
        let write = async |index| client.write(name(index), pattern(4096)).await.unwrap();
        assert_eq!(requests_of(&client, write).await, writing, "{version}: new files");
        assert!(requests_of(&client, write).await <= writing + 1.0, "{version}: files that are there");
        let other = fixture.unhurried(version, |options| options.delegations = false).await;
        let read = async |index| assert_eq!(other.read(name(index)).await.unwrap(), pattern(4096));
        let requests = requests_of(&other, read).await;
        assert!(requests <= reading * 1.1, "{version}: {requests}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delegation_of_ours_goes_back_before_its_file_is_written_whole() {
    let fixture = Fixture::new().await;
    let client = fixture.client(Version::V4_1).await;
    client.write("/file", "one").await.unwrap();
    let file = client.open("/file", READ).await.unwrap();
    assert_eq!(file.read_at(0, 10).await.unwrap(), "one");
    client.write("/file", "two").await.unwrap();
    assert_eq!(file.read_at(0, 10).await.unwrap(), "two");
    assert!(!client.tap().snapshot().callbacks.contains_key("CB_RECALL"));
}
