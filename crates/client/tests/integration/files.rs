//! Reading and writing.

use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use client::{AttributeTimeouts, Error, OpenOptions, Version};

use crate::fixture::{Fixture, READ, WRITE, connect, in_every_version, pattern, read_whole, write_whole};
use crate::relay::Relay;

in_every_version! {
    written_data_are_read_back
    a_large_file_is_read_in_parallel_and_in_order
    small_writes_in_any_order_end_up_where_they_belong
    a_read_sees_what_the_same_client_wrote_before
    a_hole_that_is_not_written_yet_reads_as_zeros
    readers_beside_a_writer_end_up_with_what_it_wrote
    a_file_open_for_sync_is_stable_after_each_write
    the_end_of_a_file_cuts_reads_short
    a_file_is_made_longer_and_shorter
    the_cache_can_be_switched_off
    creating_exclusively_fails_when_there_is_one
    opening_what_is_not_there_fails
    permissions_are_the_callers
    a_file_that_may_only_be_executed_is_opened_to_run_it
    a_closed_file_is_of_no_use
    a_dirty_budget_smaller_than_the_data_is_no_obstacle
    close_writes_data_that_wait_for_room
    a_dropped_file_is_written_in_the_end
    appends_of_one_client_never_overlap
    options_that_make_no_sense_are_refused_before_anything_is_sent
}

async fn written_data_are_read_back(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    write_whole(&client, "/file", "some data").await;
    assert_eq!(std::fs::read(fixture.path("file")).unwrap(), b"some data");
    assert_eq!(read_whole(&client, "/file").await, "some data");
    assert_eq!(read_whole(&fixture.client(version).await, "file").await, "some data");
    client.shutdown().await.unwrap();
}

async fn a_large_file_is_read_in_parallel_and_in_order(version: Version) {
    let fixture = Fixture::new().await;
    let data = pattern(9 << 20);
    std::fs::write(fixture.path("large"), &data).unwrap();
    let client = fixture.client_with(version, |options| options.read_bytes_max = 64 << 10).await;
    let file = client.open("/large", READ).await.unwrap();
    assert_eq!(file.read_at(0, data.len()).await.unwrap(), data, "one read");
    client.forget("/large").await.unwrap();
    let mut whole = BytesMut::new();
    loop {
        let piece = file.read_at(whole.len() as u64, 10_000).await.unwrap();
        if piece.is_empty() {
            break;
        }
        whole.extend_from_slice(&piece);
    }
    assert_eq!(whole, data, "many reads");
}

async fn small_writes_in_any_order_end_up_where_they_belong(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client_with(version, |options| options.write_bytes_max = 4096).await;
    let data = pattern(100_000);
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    let pieces: Vec<usize> = (0..data.len()).step_by(1000).collect();
    for index in 0..pieces.len() {
        // 37 and the number of pieces have no common divisor: every piece comes once.
        let at = pieces[index * 37 % pieces.len()];
        file.write_at(at as u64, data.slice(at..at + 1000)).await.unwrap();
    }
    file.write_at(500, Bytes::from_static(b"over")).await.unwrap();
    file.close().await.unwrap();
    let mut expected = data.to_vec();
    expected[500..504].copy_from_slice(b"over");
    assert!(std::fs::read(fixture.path("file")).unwrap() == expected);
}

async fn a_read_sees_what_the_same_client_wrote_before(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    write_whole(&client, "/file", "0123456789").await;
    let file = client.open("/file", WRITE).await.unwrap();
    let other = client.open("/file", READ).await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), "0123456789");
    file.write_at(3, "abc".into()).await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), "012abc6789");
    file.write_at(9, "xyz".into()).await.unwrap();
    assert_eq!(other.read_at(0, 100).await.unwrap(), "012abc678xyz", "through another open of ours");
    file.write_at(12, "!".into()).await.unwrap();
    assert_eq!(file.metadata().await.unwrap().size, 13);
    assert_eq!(client.metadata("/file").await.unwrap().size, 13);
}

async fn a_hole_that_is_not_written_yet_reads_as_zeros(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    file.write_at(1000, "end".into()).await.unwrap();
    assert_eq!(file.read_at(0, 500).await.unwrap(), vec![0; 500]);
    assert_eq!(file.read_at(995, 500).await.unwrap(), "\0\0\0\0\0end");
    // Also where nothing is believed of the file, and where nothing is kept.
    for cache in [true, false] {
        let client = fixture
            .client_with(version, |options| {
                options.attribute_timeouts = AttributeTimeouts::fixed(Duration::ZERO);
                (options.delegations, options.data_cache) = (false, cache);
            })
            .await;
        let file = client.open(format!("/cache {cache}"), WRITE.create(true)).await.unwrap();
        file.write_at(1000, "end".into()).await.unwrap();
        assert_eq!(file.read_at(10, 500).await.unwrap(), vec![0; 500]);
    }
}

async fn readers_beside_a_writer_end_up_with_what_it_wrote(version: Version) {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.path("file"), vec![0; 1 << 20]).unwrap();
    let client = fixture.client_with(version, |options| options.read_bytes_max = 32 << 10).await;
    let file = client.open("/file", WRITE).await.unwrap();
    for round in 1..20_u8 {
        let reader = tokio::spawn({
            let file = file.clone();
            async move {
                for at in (0..1 << 20).step_by(16 << 10) {
                    file.read_at(at, 16 << 10).await.unwrap();
                }
            }
        });
        for at in (0..1 << 20).step_by(64 << 10) {
            file.write_at(at, vec![round; 64 << 10].into()).await.unwrap();
            tokio::task::yield_now().await;
        }
        reader.await.unwrap();
        let whole = file.read_at(0, 1 << 20).await.unwrap();
        assert!(
            whole.iter().all(|byte| *byte == round),
            "{:?}",
            whole.iter().position(|byte| *byte != round)
        );
    }
}

async fn a_file_open_for_sync_is_stable_after_each_write(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let file = client.open("/file", WRITE.create(true).sync(true)).await.unwrap();
    file.write_at(0, "now".into()).await.unwrap();
    assert_eq!(std::fs::read(fixture.path("file")).unwrap(), b"now");
    let requests = client.tap().snapshot().requests;
    assert!(!requests.contains_key("COMMIT"));
    file.close().await.unwrap();
}

async fn the_end_of_a_file_cuts_reads_short(version: Version) {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.path("file"), b"12345").unwrap();
    let client = fixture.client(version).await;
    let file = client.open("/file", READ).await.unwrap();
    assert_eq!(file.read_at(3, 100).await.unwrap(), "45");
    assert!(file.read_at(5, 100).await.unwrap().is_empty());
    assert!(file.read_at(1 << 40, 100).await.unwrap().is_empty());
    assert!(file.read_at(0, 0).await.unwrap().is_empty());
    assert!(matches!(file.read_at(u64::MAX, 2).await, Err(Error::Usage(_))));
    assert!(matches!(file.write_at(0, "x".into()).await, Err(Error::Usage(_))));
}

async fn a_file_is_made_longer_and_shorter(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    file.write_at(0, "0123456789".into()).await.unwrap();
    file.set_len(4).await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), "0123");
    file.set_len(6).await.unwrap();
    assert_eq!(file.read_at(0, 100).await.unwrap(), "0123\0\0");
    file.close().await.unwrap();
    let file = client.open("/file", WRITE.truncate(true)).await.unwrap();
    assert_eq!(file.metadata().await.unwrap().size, 0);
    assert!(file.read_at(0, 100).await.unwrap().is_empty());
}

async fn the_cache_can_be_switched_off(version: Version) {
    let fixture = Fixture::new().await;
    let data = pattern(1 << 20);
    std::fs::write(fixture.path("file"), &data).unwrap();
    let client = fixture
        .client_with(version, |options| {
            options.data_cache = false;
            options.delegations = false;
            options.read_bytes_max = 64 << 10;
        })
        .await;
    let file = client.open("/file", READ).await.unwrap();
    for _ in 0..2 {
        assert_eq!(file.read_at(0, 2 << 20).await.unwrap(), data);
        assert_eq!(file.read_at(100, 50).await.unwrap(), data.slice(100..150));
    }
    let before = client.tap().snapshot();
    file.read_at(0, 65536).await.unwrap();
    file.read_at(0, 65536).await.unwrap();
    assert_eq!(client.tap().snapshot().since(&before).requests["READ"].requests, 2);
}

async fn creating_exclusively_fails_when_there_is_one(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let new = OpenOptions::new().write(true).create_new(true).mode(0o600);
    client.open("/file", new).await.unwrap().close().await.unwrap();
    assert_eq!(client.open("/file", new).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(client.create_file("/file", 0o600).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
    client.create_file("/other", 0o640).await.unwrap();
    let other = client.metadata("/other").await.unwrap();
    assert_eq!((other.mode, other.size), (0o640, 0));
    write_whole(&client, "/other", "it can be written").await;
    assert_eq!(std::fs::read(fixture.path("other")).unwrap(), b"it can be written");
}

async fn opening_what_is_not_there_fails(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    assert!(client.open("/none", READ).await.unwrap_err().is_not_found());
    assert!(client.open("/none/file", READ).await.unwrap_err().is_not_found());
    client.create_dir("/dir", 0o755).await.unwrap();
    assert_eq!(client.open("/dir", READ).await.unwrap_err().kind(), ErrorKind::IsADirectory);
    assert!(matches!(client.open("/", READ).await, Err(Error::Usage(_))));
    std::fs::write(fixture.path("none"), b"now it is").unwrap();
    let other = fixture.client(version).await;
    assert_eq!(read_whole(&other, "/none").await, "now it is");
}

async fn permissions_are_the_callers(version: Version) {
    let fixture = Fixture::new().await;
    let root = fixture.client(version).await;
    if root.access("/", client::Access::MODIFY).await.unwrap() != client::Access::MODIFY {
        // The server does not run with the right to act as others.
        return;
    }
    root.open("/private", WRITE.create(true).mode(0o600)).await.unwrap().close().await.unwrap();
    let user = |options: &mut client::Options| {
        options.uid = 1000;
        options.gid = 1000;
    };
    let user = fixture.client_with(version, user).await;
    if std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(fixture.root()).unwrap()) != 0 {
        return;
    }
    assert_eq!(user.open("/private", READ).await.unwrap_err().kind(), ErrorKind::PermissionDenied);
}

async fn a_file_that_may_only_be_executed_is_opened_to_run_it(version: Version) {
    let fixture = Fixture::new().await;
    if std::fs::metadata(fixture.root()).unwrap().uid() != 0 {
        // The server does not run with the right to act as others.
        return;
    }
    for (name, mode) in [("program", 0o711), ("text", 0o744), ("both", 0o733)] {
        std::fs::write(fixture.path(name), name).unwrap();
        std::fs::set_permissions(fixture.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let user = fixture
        .client_with(version, |options| {
            options.uid = 1000;
            options.gid = 1000;
        })
        .await;
    const RUN: OpenOptions = OpenOptions::new().execute(true);
    let refused = |opened: client::Result<client::File>| {
        assert_eq!(opened.map(drop).unwrap_err().kind(), ErrorKind::PermissionDenied);
    };
    // Once more when the first file is still open, or open at the server.
    for _ in 0..2 {
        let program = user.open("/program", RUN).await.unwrap();
        assert_eq!(program.read_at(0, 100).await.unwrap(), "program");
        refused(user.open("/program", READ).await);
        program.close().await.unwrap();
        refused(user.open("/program", READ).await);
        refused(user.open("/text", RUN).await);
        assert_eq!(read_whole(&user, "/text").await, "text");
    }
    refused(user.open("/both", WRITE.truncate(true)).await);
    assert_eq!(std::fs::read(fixture.path("both")).unwrap(), b"both", "as it was");
    assert!(matches!(user.open("/both", RUN.write(true)).await, Err(Error::Usage(_))));
    user.shutdown().await.unwrap();
}

async fn a_closed_file_is_of_no_use(version: Version) {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.path("file"), b"x").unwrap();
    let client = fixture.client(version).await;
    let file = client.open("/file", READ).await.unwrap();
    let clone = file.clone();
    file.close().await.unwrap();
    assert!(matches!(clone.read_at(0, 1).await, Err(Error::Usage(_))));
    clone.close().await.unwrap();
}

async fn a_dirty_budget_smaller_than_the_data_is_no_obstacle(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture
        .client_with(version, |options| {
            options.dirty_bytes_max = 256 << 10;
            options.write_bytes_max = 64 << 10;
        })
        .await;
    let data = pattern(3 << 20);
    let (one, other) = (
        client.open("/one", WRITE.create(true)).await.unwrap(),
        client.open("/other", WRITE.create(true)).await.unwrap(),
    );
    for at in (0..data.len()).step_by(100_000) {
        let end = data.len().min(at + 100_000);
        one.write_at(at as u64, data.slice(at..end)).await.unwrap();
        other.write_at(at as u64, data.slice(at..end)).await.unwrap();
    }
    one.write_at(data.len() as u64, data.clone()).await.unwrap();
    one.close().await.unwrap();
    other.close().await.unwrap();
    assert!(std::fs::read(fixture.path("one")).unwrap() == [&data[..], &data[..]].concat());
    assert!(std::fs::read(fixture.path("other")).unwrap() == data);
}

async fn close_writes_data_that_wait_for_room(version: Version) {
    let fixture = Fixture::new().await;
    let relay = Relay::new(fixture.address()).await;
    let client = connect(relay.address(), version, |options| {
        options.dirty_bytes_max = 256 << 10;
        options.write_bytes_max = 64 << 10;
    })
    .await;
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    relay.block().await;
    let (data, clone) = (pattern(3 << 20), file.clone());
    let mut writing = Box::pin(clone.write_at(0, data.clone()));
    assert!(futures_util::poll!(&mut writing).is_pending(), "there is no room for all of it");
    let mut closing = Box::pin(file.close());
    assert!(futures_util::poll!(&mut closing).is_pending());
    relay.unblock();
    let (written, closed) = tokio::join!(writing, closing);
    written.unwrap();
    closed.unwrap();
    assert!(std::fs::read(fixture.path("file")).unwrap() == data);
    assert!(matches!(clone.write_at(0, "late".into()).await, Err(Error::Usage(_))));
    client.shutdown().await.unwrap();
}

async fn a_dropped_file_is_written_in_the_end(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    file.write_at(0, "late".into()).await.unwrap();
    drop(file);
    client.shutdown().await.unwrap();
    assert_eq!(std::fs::read(fixture.path("file")).unwrap(), b"late");
}

async fn appends_of_one_client_never_overlap(version: Version) {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.path("log"), "first\n").unwrap();
    let client = fixture.client(version).await;
    let options = OpenOptions::new().append(true);
    let files = [client.open("/log", options).await.unwrap(), client.open("/log", options).await.unwrap()];
    assert_eq!(files[0].append("second\n".into()).await.unwrap(), 6);
    let appends = (0..200_u8).map(|n| {
        let file = files[usize::from(n % 2)].clone();
        tokio::spawn(async move { (n, file.append(vec![n; 1000].into()).await.unwrap()) })
    });
    let mut starts: Vec<(u8, u64)> = Vec::new();
    for append in appends.collect::<Vec<_>>() {
        starts.push(append.await.unwrap());
    }
    for file in files {
        file.close().await.unwrap();
    }
    let whole = std::fs::read(fixture.path("log")).unwrap();
    assert_eq!(whole.len(), 13 + 200_000);
    for (n, start) in starts {
        let start = start as usize;
        assert!(whole[start..start + 1000].iter().all(|byte| *byte == n), "{n} at {start}");
    }
}

async fn options_that_make_no_sense_are_refused_before_anything_is_sent(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let none = OpenOptions::new().create(true);
    assert!(matches!(client.open("/file", none).await, Err(Error::Usage(_))));
    assert!(matches!(client.open("/file", READ.truncate(true)).await, Err(Error::Usage(_))));
    assert!(!fixture.path("file").exists());
}
