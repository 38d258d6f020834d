//! Holes, reserved space, copies and clones. A check ends where the back end does not have the operation.

use super::fixture::{Fixture, size};
use super::{Failure, Outcome, ensure, refused, same};
use crate::{Content, Error, FileSystem, Span, Support};

/// A whole number of any file system's blocks.
const PIECE: u64 = 1 << 16;

/// Ends the check where the operation is not offered; fails it where that is not what the capabilities say.
macro_rules! offered {
    ($support:expr, $result:expr) => {
        match ($support, $result) {
            (Support::Absent | Support::Unknown, Err(Error::NotSupported)) => return Ok(()),
            (Support::Absent, _) => {
                return Err(Failure::new(concat!("absent, and works: ", stringify!($result))));
            }
            (_, result) => result?,
        }
    };
}

/// A file with a piece of data, a hole of 15 pieces, a piece of data, and a hole of a piece at its end.
async fn sparse<F: FileSystem>(t: &Fixture<F>) -> crate::Result<F::Node> {
    let file = t.file_with("sparse", &[b'a'; PIECE as usize]).await?;
    t.write(&file, 16 * PIECE, &[b'b'; PIECE as usize]).await?;
    t.set(&file, &size(18 * PIECE)).await?;
    Ok(file)
}

pub(super) async fn data_and_holes_are_found<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = sparse(t).await?;
    for (offset, data, hole) in [
        (0, Some(0), PIECE),
        (100, Some(100), PIECE),
        (PIECE, Some(16 * PIECE), PIECE),
        (5 * PIECE + 1, Some(16 * PIECE), 5 * PIECE + 1),
        (16 * PIECE, Some(16 * PIECE), 17 * PIECE),
        (17 * PIECE, None, 17 * PIECE),
        (18 * PIECE - 1, None, 18 * PIECE - 1),
    ] {
        let found = offered!(t.can.holes, t.fs.seek(t.request, &file, offset, Content::Data).await);
        same!((offset, found), (offset, data));
        same!((offset, t.fs.seek(t.request, &file, offset, Content::Hole).await?), (offset, Some(hole)));
    }
    Ok(())
}

pub(super) async fn every_file_ends_with_a_hole<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let (file, empty) = (t.file_with("file", b"0123456789").await?, t.file(&t.root, "empty").await?);
    same!(offered!(t.can.holes, t.fs.seek(t.request, &file, 3, Content::Hole).await), Some(10));
    for what in [Content::Data, Content::Hole] {
        for offset in [10, 11, u64::MAX] {
            refused!(t.fs.seek(t.request, &file, offset, what).await, Error::BeyondEnd);
        }
        refused!(t.fs.seek(t.request, &empty, 0, what).await, Error::BeyondEnd);
    }
    Ok(())
}

pub(super) async fn reserved_space_reads_as_zeros_and_makes_longer<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file_with("file", b"0123456789").await?;
    let before = t.fs.attributes(t.request, &file).await?;
    offered!(t.can.allocate, t.fs.allocate(t.request, &file, 4, 4 * PIECE).await);
    let after = t.fs.attributes(t.request, &file).await?;
    same!(after.size, 4 * PIECE + 4);
    ensure!(after.used >= 4 * PIECE && after.change != before.change);
    let (out, _) = t.read(&file, 0, 8 * PIECE as usize).await?;
    same!((out.len() as u64, &out[..10]), (4 * PIECE + 4, &b"0123456789"[..]));
    ensure!(out[10..].iter().all(|byte| *byte == 0));
    t.fs.allocate(t.request, &file, 0, 10).await?;
    same!(t.fs.attributes(t.request, &file).await?.size, 4 * PIECE + 4);
    for (offset, length) in [(u64::MAX, 2), (1 << 63, 1), (1, u64::MAX)] {
        refused!(t.fs.allocate(t.request, &file, offset, length).await, Error::FileTooBig | Error::Invalid);
        refused!(t.fs.deallocate(t.request, &file, offset, length).await, Error::FileTooBig | Error::Invalid);
    }
    Ok(())
}

pub(super) async fn space_that_is_given_back_reads_as_zeros<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let mut content: Vec<u8> = (0..4 * PIECE).map(|at| (at % 251 + 1) as u8).collect();
    let file = t.file_with("file", &content).await?;
    let before = t.fs.attributes(t.request, &file).await?;
    let (from, to) = (PIECE - 10, 3 * PIECE + 7);
    offered!(t.can.allocate, t.fs.deallocate(t.request, &file, from, to - from).await);
    let after = t.fs.attributes(t.request, &file).await?;
    ensure!(after.size == before.size && after.change != before.change && after.used < before.used);
    content[from as usize..to as usize].fill(0);
    ensure!(t.read(&file, 0, content.len()).await?.0 == content);
    // A few bytes of one block, and a range beyond the end.
    t.fs.deallocate(t.request, &file, 5, 3).await?;
    t.fs.deallocate(t.request, &file, 4 * PIECE, PIECE).await?;
    content[5..8].fill(0);
    same!(t.fs.attributes(t.request, &file).await?.size, 4 * PIECE);
    ensure!(t.read(&file, 0, content.len()).await?.0 == content);
    Ok(())
}

pub(super) async fn copied_data_are_read_back<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let content: Vec<u8> = (0..3 * PIECE + 100).map(|at| (at % 249) as u8).collect();
    let (source, target) = (t.file_with("source", &content).await?, t.file_with("target", b"before").await?);
    let before = t.fs.attributes(t.request, &target).await?;
    let span = Span { from: 50, to: 4, count: 2 * PIECE };
    let copied = offered!(t.can.copy, t.fs.copy(t.request, &source, &target, span).await);
    same!(copied.count as u64, 2 * PIECE);
    ensure!(t.fs.attributes(t.request, &target).await?.change != before.change);
    let (out, done) = t.read(&target, 0, 3 * PIECE as usize).await?;
    ensure!(done.eof && out.len() as u64 == 4 + 2 * PIECE);
    ensure!(out[..4] == *b"befo" && out[4..] == content[50..50 + 2 * PIECE as usize]);
    // The source ends.
    let span = Span { from: 3 * PIECE, to: PIECE * 5, count: PIECE };
    same!(t.fs.copy(t.request, &source, &target, span).await?.count, 100);
    same!(t.read(&target, 5 * PIECE, 1000).await?.0, content[3 * PIECE as usize..]);
    let (dir, none) = (t.dir(&t.root, "dir").await?, Span { from: 0, to: 0, count: 1 });
    refused!(t.fs.copy(t.request, &dir, &target, none).await, Error::IsDirectory);
    refused!(t.fs.copy(t.request, &source, &dir, none).await, Error::IsDirectory);
    Ok(())
}

pub(super) async fn a_clone_holds_what_its_source_held<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let content: Vec<u8> = (0..3 * PIECE + 100).map(|at| (at % 249) as u8).collect();
    let (source, target) = (t.file_with("source", &content).await?, t.file_with("target", b"before").await?);
    let before = t.fs.attributes(t.request, &target).await?;
    let span = Span { from: PIECE, to: PIECE, count: 2 * PIECE + 100 };
    offered!(t.can.clone, t.fs.clone_range(t.request, &source, &target, span).await);
    ensure!(t.fs.attributes(t.request, &target).await?.change != before.change);
    t.write(&source, PIECE, b"since").await?;
    let (out, done) = t.read(&target, 0, 4 * PIECE as usize).await?;
    ensure!(done.eof && out.len() == content.len() && out[..6] == *b"before");
    ensure!(out[6..PIECE as usize].iter().all(|byte| *byte == 0));
    ensure!(out[PIECE as usize..] == content[PIECE as usize..]);
    t.write(&target, 2 * PIECE, b"target").await?;
    same!(t.read(&source, 2 * PIECE, 6).await?.0, content[2 * PIECE as usize..2 * PIECE as usize + 6]);
    for wrong in [
        Span { from: PIECE, to: 0, count: 3 * PIECE },
        Span { from: 1, to: 0, count: PIECE },
        Span { from: 0, to: 1, count: PIECE },
        Span { from: 0, to: 0, count: 10 },
    ] {
        refused!(t.fs.clone_range(t.request, &source, &target, wrong).await, Error::Invalid);
    }
    let overlapping = Span { from: 0, to: PIECE, count: 2 * PIECE };
    refused!(t.fs.clone_range(t.request, &source, &source, overlapping).await, Error::Invalid);
    let within = Span { from: 0, to: 8 * PIECE, count: PIECE };
    t.fs.clone_range(t.request, &source, &source, within).await?;
    ensure!(t.read(&source, 8 * PIECE, PIECE as usize).await?.0 == content[..PIECE as usize]);
    Ok(())
}

pub(super) async fn only_files_have_space<F: FileSystem>(t: &Fixture<F>) -> Outcome {
    let file = t.file_with("data", b"data").await?;
    for node in t.one_of_each().await?.into_iter().skip(1) {
        for outcome in [
            t.fs.seek(t.request, &node, 0, Content::Data).await.map(|_| ()),
            t.fs.allocate(t.request, &node, 0, 1).await,
            t.fs.deallocate(t.request, &node, 0, 1).await,
            t.fs.clone_range(t.request, &file, &node, Span { from: 0, to: 0, count: 4 }).await,
        ] {
            refused!(outcome, Error::IsDirectory | Error::IsSymlink | Error::WrongType | Error::NotSupported);
        }
    }
    Ok(())
}
