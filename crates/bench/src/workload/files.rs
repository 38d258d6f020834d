//! The files that experiments work on: where they are, what is in them, and how they come to be.
//!
//! Owns names and contents. Sequential and random reads share one large file among all clients, as the
//! studies had it; every other workload gives each client files of its own, because they are about what one
//! client can keep to itself.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::{Access, Error, File, Mount, Pattern, WorkDirectory};
use crate::seeded::Seeded;

/// Files and directories that are made at the same time: enough that a server can share its syncs among them.
const PARALLEL: usize = 32;
/// Size of the writes that make large files.
const PIECE_BYTES: u64 = 1 << 20;
const PIECES_IN_FLIGHT: usize = 8;

/// The large file that all clients read.
pub(crate) fn shared(place: &WorkDirectory) -> String {
    format!("{}/shared", place.directory)
}

/// The large file that `client` writes.
pub(crate) fn large(place: &WorkDirectory, client: u32) -> String {
    format!("{}/large-{client}", place.directory)
}

/// The directory of the small files of `client`.
pub(crate) fn small_directory(place: &WorkDirectory, client: u32) -> String {
    format!("{}/client-{client}", place.directory)
}

/// A small file of `client`.
pub(crate) fn small(place: &WorkDirectory, client: u32, file: u64) -> String {
    format!("{}/file-{file}", small_directory(place, client))
}

/// What stands in a small file.
pub(crate) fn small_pattern(place: &WorkDirectory, client: u32, file: u64) -> Pattern {
    Pattern::new(place.seed, (u64::from(client) + 1) << 32 | file, 0)
}

/// What stands in the large file of a client before it is overwritten, or in the shared one (client 0).
pub(crate) fn large_pattern(place: &WorkDirectory, client: u32, generation: u64) -> Pattern {
    Pattern::new(place.seed, u64::from(client), generation)
}

/// Fails unless `data` is what stands at `offset` of `file`, whole.
pub(crate) fn check(
    pattern: Pattern,
    file: &File,
    offset: u64,
    data: &[u8],
    expected: u64,
) -> Result<(), Error> {
    if data.len() as u64 == expected && pattern.holds(offset, data) {
        return Ok(());
    }
    Err(Error::Content { path: file.path().to_owned(), offset })
}

/// Makes one large file.
pub(crate) async fn make_large(
    mount: &Arc<Mount>,
    path: &str,
    seed: u64,
    client: u32,
    file_bytes: u64,
) -> Result<(), Error> {
    make_file(mount, path, Pattern::new(seed, u64::from(client), 0), file_bytes).await
}

/// Makes one file of `file_bytes` bytes of `pattern`, in pieces.
pub(crate) async fn make_file(
    mount: &Mount,
    path: &str,
    pattern: Pattern,
    file_bytes: u64,
) -> Result<(), Error> {
    let file = mount.open(path, Access::Replace).await?;
    let mut pieces = JoinSet::new();
    let mut offset = 0;
    while offset < file_bytes {
        if pieces.len() == PIECES_IN_FLIGHT {
            one(&mut pieces).await?;
        }
        let length = PIECE_BYTES.min(file_bytes - offset);
        let file = file.clone();
        pieces.spawn(async move { file.write(offset, pattern.bytes(offset, length as usize)).await });
        offset += length;
    }
    all(&mut pieces).await?;
    file.sync().await?;
    file.close().await
}

/// Makes one large file for each client.
pub(crate) async fn make_large_each(
    mount: &Arc<Mount>,
    place: &WorkDirectory,
    file_bytes: u64,
) -> Result<(), Error> {
    for client in 0..place.clients {
        make_large(mount, &large(place, client), place.seed, client, file_bytes).await?;
    }
    Ok(())
}

/// Makes `files` small files for each client, in a directory for each.
pub(crate) async fn make_small(
    mount: &Arc<Mount>,
    place: &WorkDirectory,
    files: u64,
    file_bytes: u64,
) -> Result<(), Error> {
    let directories = (0..place.clients).map(|client| small_directory(place, client));
    make_directories(mount, directories).await?;
    let mut tasks = JoinSet::new();
    for client in 0..place.clients {
        for file in 0..files {
            if tasks.len() == PARALLEL {
                one(&mut tasks).await?;
            }
            let mount = mount.clone();
            let (path, pattern) = (small(place, client, file), small_pattern(place, client, file));
            tasks.spawn(async move {
                let file = mount.open(&path, Access::Replace).await?;
                file.write(0, pattern.bytes(0, file_bytes as usize)).await?;
                file.close().await
            });
        }
    }
    all(&mut tasks).await
}

/// Makes directories, many at a time.
pub(crate) async fn make_directories(
    mount: &Arc<Mount>,
    paths: impl IntoIterator<Item = String>,
) -> Result<(), Error> {
    let mut tasks = JoinSet::new();
    for path in paths {
        if tasks.len() == PARALLEL {
            one(&mut tasks).await?;
        }
        let mount = mount.clone();
        tasks.spawn(async move { mount.make_directory(&path).await });
    }
    all(&mut tasks).await
}

/// Waits for one task, if there is any.
pub(crate) async fn one(tasks: &mut JoinSet<Result<(), Error>>) -> Result<(), Error> {
    match tasks.join_next().await {
        Some(ended) => ended.map_err(|error| Error::Thread(error.to_string()))?,
        None => Ok(()),
    }
}

/// Waits for all tasks.
pub(crate) async fn all(tasks: &mut JoinSet<Result<(), Error>>) -> Result<(), Error> {
    while !tasks.is_empty() {
        one(tasks).await?;
    }
    Ok(())
}

/// Reads a piece that was written and fails unless it holds `pattern`.
pub(crate) async fn read_back(
    mount: &Mount,
    path: &str,
    pattern: Pattern,
    offset: u64,
    length: u64,
) -> Result<(), Error> {
    let file = mount.open(path, Access::Read).await?;
    let data = file.read(offset, length as usize).await?;
    check(pattern, &file, offset, &data, length)?;
    file.close().await
}

/// A multiple of `io_bytes` where a whole piece still fits into the file.
pub(crate) fn piece(random: &mut Seeded, file_bytes: u64, io_bytes: u64) -> u64 {
    random.below(file_bytes / io_bytes) * io_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_aligned_and_inside_the_file() {
        let mut random = Seeded::new(1, 1);
        for _ in 0..1000 {
            let offset = piece(&mut random, 10_000, 4096);
            assert!(offset == 0 || offset == 4096, "{offset}");
        }
    }
}
