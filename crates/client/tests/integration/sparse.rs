//! Space of files: reserved, given back, and found.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

use client::{Error, Version};

use crate::fixture::{Fixture, READ, WRITE, in_every_version, pattern};

in_every_version! {
    a_range_is_reserved_and_given_back
    data_and_holes_are_found
    dirty_data_do_not_return_in_a_hole
}

const BLOCK: u64 = 64 << 10;

async fn a_range_is_reserved_and_given_back(version: Version) {
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    if version < Version::V4_2 {
        let before = client.tap().snapshot();
        for error in [
            file.allocate(0..1).await.unwrap_err(),
            file.deallocate(0..1).await.unwrap_err(),
            file.seek_data(0).await.unwrap_err(),
            file.seek_hole(0).await.unwrap_err(),
            file.clone_range(.., &file, 10).await.unwrap_err(),
        ] {
            assert!(matches!(error, Error::Unsupported { .. }) && error.kind() == ErrorKind::Unsupported);
        }
        assert_eq!(client.tap().snapshot().since(&before).requests_total(), 0);
        return;
    }
    file.allocate(0..16 * BLOCK).await.unwrap();
    assert_eq!(file.metadata().await.unwrap().size, 16 * BLOCK);
    let blocks = || std::fs::metadata(fixture.path("file")).unwrap().blocks() * 512;
    assert!(blocks() >= 16 * BLOCK);
    assert_eq!(file.read_at(5, 10).await.unwrap(), vec![0; 10]);
    file.deallocate(0..8 * BLOCK).await.unwrap();
    assert!(blocks() < 16 * BLOCK);
    assert_eq!(file.metadata().await.unwrap().size, 16 * BLOCK);
    assert!(matches!(file.allocate(5..5).await, Err(Error::Usage(_))));
    let reader = client.open("/file", READ).await.unwrap();
    assert!(matches!(reader.deallocate(0..1).await, Err(Error::Usage(_))));
}

async fn data_and_holes_are_found(version: Version) {
    if version < Version::V4_2 {
        return;
    }
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    assert_eq!((file.seek_data(0).await.unwrap(), file.seek_hole(0).await.unwrap()), (None, None));
    file.write_at(4 * BLOCK, pattern(BLOCK as usize)).await.unwrap();
    file.set_len(8 * BLOCK).await.unwrap();
    assert_eq!(file.seek_data(0).await.unwrap(), Some(4 * BLOCK));
    assert_eq!(file.seek_hole(0).await.unwrap(), Some(0));
    assert_eq!(file.seek_hole(4 * BLOCK).await.unwrap(), Some(5 * BLOCK));
    assert_eq!(file.seek_data(5 * BLOCK).await.unwrap(), None);
    assert_eq!(file.seek_hole(8 * BLOCK).await.unwrap(), None);
    // Data that only the client has are found too, and the end is a hole.
    file.write_at(8 * BLOCK, "end".into()).await.unwrap();
    assert_eq!(file.seek_data(5 * BLOCK).await.unwrap(), Some(8 * BLOCK));
    assert_eq!(file.seek_hole(8 * BLOCK).await.unwrap(), Some(8 * BLOCK + 3));
}

async fn dirty_data_do_not_return_in_a_hole(version: Version) {
    if version < Version::V4_2 {
        return;
    }
    let fixture = Fixture::new().await;
    let client = fixture.client(version).await;
    let file = client.open("/file", WRITE.create(true)).await.unwrap();
    let data = pattern(4 * BLOCK as usize);
    file.write_at(0, data.clone()).await.unwrap();
    file.deallocate(BLOCK..2 * BLOCK).await.unwrap();
    let block = BLOCK as usize;
    let expected = [&data[..block], &vec![0; block], &data[2 * block..]].concat();
    assert!(file.read_at(0, 4 * block).await.unwrap() == expected);
    file.close().await.unwrap();
    assert!(std::fs::read(fixture.path("file")).unwrap() == expected);
}
