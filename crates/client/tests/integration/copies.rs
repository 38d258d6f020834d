//! Copying ranges of files.

use std::io::ErrorKind;

use client::{Error, Version};

use crate::fixture::{Fixture, READ, WRITE, in_every_version, pattern, read_whole, write_whole};

in_every_version! {
    a_range_is_copied_and_the_server_does_it_where_it_can
    copy_includes_dirty_data
    within_one_file_ranges_are_copied_unless_they_overlap
    files_of_two_clients_are_copied_through
    sharing_that_the_file_system_cannot_do_is_unsupported
}

async fn a_range_is_copied_and_the_server_does_it_where_it_can(version: Version) {
    let fixture = Fixture::new().await;
    let data = pattern(40 << 20);
    std::fs::write(fixture.path("source"), &data).unwrap();
    std::fs::write(fixture.path("target"), b"what was there before").unwrap();
    let client = fixture.client(version).await;
    let source = client.open("/source", READ).await.unwrap();
    let target = client.open("/target", WRITE).await.unwrap();
    assert_eq!(target.read_at(0, 4).await.unwrap(), "what");
    let before = client.tap().snapshot();
    assert_eq!(source.copy_range(.., &target, 5).await.unwrap(), data.len() as u64);
    let counts = client.tap().snapshot().since(&before);
    match version {
        // The server copies 16 MiB at a time.
        Version::V4_2 => {
            assert_eq!((counts.requests["COPY"].requests, counts.requests["COMMIT"].requests), (3, 1));
            assert!(counts.bytes_sent() + counts.bytes_received() < 10_000);
        }
        _ => assert!(!counts.requests.contains_key("COPY")),
    }
    assert!(target.read_at(0, 100).await.unwrap() == [b"what ", &data[..95]].concat());
    target.close().await.unwrap();
    assert!(std::fs::read(fixture.path("target")).unwrap() == [b"what ", &data[..]].concat());
    assert_eq!(
        source.copy_range(1 << 40.., &source, 0).await.err().map(|error| error.kind()),
        Some(ErrorKind::InvalidInput)
    );
}

async fn copy_includes_dirty_data(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let source = client.open("/source", WRITE.create(true)).await.unwrap();
    let target = client.open("/target", WRITE.create(true)).await.unwrap();
    source.write_at(0, "0123456789".into()).await.unwrap();
    target.write_at(0, "abcdefghij".into()).await.unwrap();
    assert_eq!(source.copy_range(2..5, &target, 4).await.unwrap(), 3);
    assert_eq!(source.copy_range(8..100, &target, 9).await.unwrap(), 2, "the source ends before");
    assert_eq!(source.copy_range(50..60, &target, 0).await.unwrap(), 0);
    assert_eq!(target.read_at(0, 100).await.unwrap(), "abcd234hi89");
    target.close().await.unwrap();
    assert_eq!(read_whole(&fixture.client(version).await, "/target").await, "abcd234hi89");
}

async fn within_one_file_ranges_are_copied_unless_they_overlap(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    file.write_at(0, "0123456789".into()).await.unwrap();
    assert_eq!(file.copy_range(0..4, &file, 10).await.unwrap(), 4);
    assert_eq!(file.read_at(0, 100).await.unwrap(), "01234567890123");
    assert!(matches!(file.copy_range(0..4, &file, 3).await, Err(Error::Usage(_))));
}

async fn files_of_two_clients_are_copied_through(version: Version) {
    let (one, other) = (Fixture::new().await, Fixture::new().await);
    let data = pattern(5 << 20);
    std::fs::write(one.path("source"), &data).unwrap();
    let (from, to) = (one.client(version).await, other.client(version).await);
    let source = from.open("/source", READ).await.unwrap();
    let target = to.open("/target", WRITE.create(true)).await.unwrap();
    assert_eq!(source.copy_range(.., &target, 0).await.unwrap(), data.len() as u64);
    target.close().await.unwrap();
    assert!(std::fs::read(other.path("target")).unwrap() == data);
}

/// The tests' directory is on a file system that may be able to or not; it is all or nothing in any case.
async fn sharing_that_the_file_system_cannot_do_is_unsupported(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    write_whole(&client, "/source", pattern(1 << 20)).await;
    let source = client.open("/source", READ).await.unwrap();
    let target = client.open("/target", WRITE.create(true)).await.unwrap();
    match source.clone_range(.., &target, 0).await {
        Ok(()) => assert_eq!(read_whole(&client, "/target").await, pattern(1 << 20)),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert_eq!(target.metadata().await.unwrap().size, 0);
        }
    }
}
