//! The data of files.

use bytes::Bytes;

use super::fixture::{Fixture, size};
use super::{Outcome, ensure, refused, same};
use crate::{Error, FileKind, FileSystem, ReadDone, Stability};

pub(super) async fn written_data_are_read_back<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    let content: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
    for (index, part) in content.chunks(70_001).enumerate() {
        same!(t.write(&file, index as u64 * 70_001, part).await?, part.len());
    }
    same!(t.fs.attributes(t.request, &file).await?.size, 300_000);
    let (all, done) = t.read(&file, 0, 1 << 20).await?;
    ensure!(all == content);
    same!(done, ReadDone { count: 300_000, eof: true });
    t.write(&file, 4_000, b"in the middle").await?;
    same!(t.read(&file, 3_999, 15).await?.0[1..14], b"in the middle"[..]);
    same!(t.fs.attributes(t.request, &file).await?.size, 300_000);
    Ok(())
}

pub(super) async fn read_appends_and_tells_the_end<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file_with("file", b"0123456789").await?;
    let mut out = b"head".to_vec();
    let done = t.fs.read(t.request, &file, 2, 3, &mut out).await?;
    same!((&out[..], done), (&b"head234"[..], ReadDone { count: 3, eof: false }));
    for (offset, count, expected, eof) in [
        (0, 10, 10, true),
        (0, 9, 9, false),
        (0, 11, 10, true),
        (9, 1, 1, true),
        (10, 1, 0, true),
        (11, 5, 0, true),
        (u64::MAX, 5, 0, true),
        (u64::MAX - 3, 100, 0, true),
        (0, 0, 0, false),
    ] {
        let (out, done) = t.read(&file, offset, count).await?;
        same!((offset, count, done), (offset, count, ReadDone { count: expected, eof }));
        same!(out.len(), expected);
    }
    Ok(())
}

pub(super) async fn holes_read_as_zeros<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    t.write(&file, 100_000, b"end").await?;
    t.write(&file, 10, b"start").await?;
    let (out, _) = t.read(&file, 0, 200_000).await?;
    same!(out.len(), 100_003);
    same!((&out[10..15], &out[100_000..]), (&b"start"[..], &b"end"[..]));
    same!(out.iter().filter(|byte| **byte != 0).count(), 8);
    Ok(())
}

pub(super) async fn far_offsets_work<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let far = (1 << 40) + 4095;
    let file = t.file(&t.root, "file").await?;
    same!(t.write(&file, far, b"far").await?, 3);
    let attributes = t.fs.attributes(t.request, &file).await?;
    same!(attributes.size, far + 3);
    ensure!(attributes.used < 1 << 30);
    same!(t.read(&file, far, 10).await?.0, b"far");
    Ok(())
}

pub(super) async fn offsets_beyond_the_largest_file_are_refused<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file_with("file", b"x").await?;
    for offset in [u64::MAX, u64::MAX - 1, 1 << 63, i64::MAX as u64] {
        refused!(t.write(&file, offset, b"xy").await, Error::FileTooBig | Error::Invalid);
    }
    for length in [u64::MAX, 1 << 63] {
        refused!(t.set(&file, &size(length)).await, Error::FileTooBig | Error::Invalid);
    }
    same!(t.fs.attributes(t.request, &file).await?.size, 1);
    Ok(())
}

pub(super) async fn an_empty_write_changes_nothing<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file_with("file", b"x").await?;
    let before = t.fs.attributes(t.request, &file).await?;
    same!(t.write(&file, 1000, b"").await?, 0);
    same!(t.fs.attributes(t.request, &file).await?, before);
    Ok(())
}

pub(super) async fn truncation_drops_and_extension_clears<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file_with("file", &[b'x'; 10_000]).await?;
    same!(t.set(&file, &size(5_000)).await?.size, 5_000);
    same!(t.set(&file, &size(10_000)).await?.size, 10_000);
    let (out, done) = t.read(&file, 0, 20_000).await?;
    same!(done, ReadDone { count: 10_000, eof: true });
    ensure!(out[..5_000].iter().all(|byte| *byte == b'x'));
    ensure!(out[5_000..].iter().all(|byte| *byte == 0));
    same!(t.set(&file, &size(0)).await?.size, 0);
    same!(t.read(&file, 0, 1).await?.1, ReadDone { count: 0, eof: true });
    Ok(())
}

pub(super) async fn only_files_have_data<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    for node in t.one_of_each().await? {
        match t.fs.attributes(t.request, &node).await?.kind {
            FileKind::Regular => {}
            FileKind::Directory => {
                refused!(t.read(&node, 0, 1).await, Error::IsDirectory);
                refused!(t.write(&node, 0, b"x").await, Error::IsDirectory);
                refused!(t.fs.commit(t.request, &node, 0, 0).await, Error::IsDirectory);
            }
            FileKind::Symlink => {
                refused!(t.read(&node, 0, 1).await, Error::IsSymlink);
                refused!(t.write(&node, 0, b"x").await, Error::IsSymlink);
                refused!(t.fs.commit(t.request, &node, 0, 0).await, Error::IsSymlink);
            }
            _ => {
                refused!(t.read(&node, 0, 1).await, Error::WrongType);
                refused!(t.write(&node, 0, b"x").await, Error::WrongType);
                refused!(t.fs.commit(t.request, &node, 0, 0).await, Error::WrongType);
            }
        }
    }
    Ok(())
}

pub(super) async fn stability_is_at_least_as_asked<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    for asked in [Stability::Unstable, Stability::DataSync, Stability::FileSync] {
        let written = t.fs.write(t.request, &file, 0, Bytes::from_static(b"data"), asked).await?;
        same!(written.count, 4);
        ensure!(written.stability >= asked);
    }
    Ok(())
}

pub(super) async fn commit_returns_the_verifier_of_writes<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file_with("file", b"data").await?;
    let verifier = t.fs.write_verifier();
    for (offset, count) in [(0, 0), (0, 4), (1000, 1000), (u64::MAX, 0)] {
        same!(t.fs.commit(t.request, &file, offset, count).await?.verifier, verifier);
    }
    Ok(())
}

pub(super) async fn a_write_moves_change_and_times<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file(&t.root, "file").await?;
    let mut seen = vec![t.fs.attributes(t.request, &file).await?];
    for _ in 0..50 {
        t.write(&file, 0, b"the same data").await?;
        let now = t.fs.attributes(t.request, &file).await?;
        ensure!(seen.iter().all(|before| before.change != now.change));
        ensure!(seen.iter().all(|before| before.modified <= now.modified));
        seen.push(now);
    }
    Ok(())
}
