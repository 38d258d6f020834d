//! A tree of source files: unpacked, listed, removed; each client has its own. Call by call, as tar, find and
//! rm do it, or with the client's operations on whole trees.

use std::io::Cursor;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::coop::consume_budget;

use super::composed::draw;
use super::{Access, Curve, Error, Mount, Pattern, Station, WorkDirectory, files, time};
use crate::experiment::TreeMethod;
use crate::experiment::composed::FileSize;
use crate::seeded::Seeded;

/// The parts of a run, in order.
pub(super) const PARTS: [&str; 3] = ["extract", "find", "remove"];

/// Sizes of source files: a few large ones among many small ones.
const SHAPE: f64 = 0.8;

/// The tree of one client.
pub(super) struct Tree {
    root: String,
    directories: u64,
    files: u64,
    mean: u64,
    seed: u64,
    client: u64,
}

impl Tree {
    pub(super) fn new(station: &Station, directories: u64, files: u64, file_bytes: u64) -> Self {
        Self {
            root: format!("{}/tree", above(&station.place, station.run, station.client)),
            directories,
            files,
            mean: file_bytes,
            seed: station.place.seed,
            client: u64::from(station.client),
        }
    }

    fn directory(number: u64) -> String {
        format!("d{number}")
    }

    /// The path of a file below the root.
    fn file(&self, number: u64) -> String {
        format!("{}/f{number}.c", Self::directory(number % self.directories))
    }

    fn content(&self, number: u64) -> Bytes {
        let size = FileSize::Gamma { mean: self.mean, shape: SHAPE };
        let size = draw::size(size, &mut Seeded::new(self.seed ^ self.client << 40, number));
        self.pattern(number).bytes(0, size as usize)
    }

    fn pattern(&self, number: u64) -> Pattern {
        Pattern::new(self.seed, (self.client + 1) << 40 | number, 2)
    }

    /// The archive of the tree.
    fn archive(&self) -> Result<Vec<u8>, Error> {
        let failed = |error: std::io::Error| Error::Thread(format!("cannot make an archive: {error}"));
        let mut archive = tar::Builder::new(Vec::new());
        for number in 0..self.directories {
            let mut header = header(0o755, 0);
            header.set_entry_type(tar::EntryType::Directory);
            archive.append_data(&mut header, Self::directory(number), std::io::empty()).map_err(failed)?;
        }
        for number in 0..self.files {
            let content = self.content(number);
            let mut header = header(0o644, content.len() as u64);
            archive.append_data(&mut header, self.file(number), &content[..]).map_err(failed)?;
        }
        archive.into_inner().map_err(failed)
    }
}

/// A header with every number in it that a reader may want.
fn header(mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

fn above(place: &WorkDirectory, run: u64, client: u32) -> String {
    format!("{}/run-{run}-{client}", place.directory)
}

/// A directory for each client.
pub(super) async fn prepare_run(mount: &Arc<Mount>, place: &WorkDirectory, run: u64) -> Result<(), Error> {
    files::make_directories(mount, (0..place.clients).map(|client| above(place, run, client))).await
}

/// Runs all three parts of one client.
pub(super) async fn run(station: &Station, tree: &Tree, way: TreeMethod) -> Result<Vec<Vec<Curve>>, Error> {
    let archive = if way == TreeMethod::Batch { tree.archive()? } else { Vec::new() };
    station.mount.visit(&above(&station.place, station.run, station.client)).await?;
    let mut parts = Vec::new();
    for part in 0..PARTS.len() {
        let (start, _) = station.begin_part(part, None).await;
        let mut curve = station.curve(start);
        match (part, way) {
            (0, TreeMethod::Calls) => extract(station, tree, &mut curve).await?,
            (0, TreeMethod::Batch) => {
                let items = station.mount.extract_tar(Cursor::new(archive.clone()), &tree.root).await?;
                curve.complete_together(time::now(), items);
            }
            (1, TreeMethod::Calls) => find(&station.mount, &tree.root, &mut curve).await?,
            (1, TreeMethod::Batch) => {
                let items = station.mount.list_tree(&tree.root).await?;
                curve.complete_together(time::now(), items);
            }
            (_, TreeMethod::Calls) => remove(&station.mount, &tree.root, &mut curve).await?,
            (_, TreeMethod::Batch) => {
                let items = station.mount.remove_tree(&tree.root).await?;
                curve.complete_together(time::now(), items);
            }
        }
        station.finish_part(part).await;
        if part == 0 {
            check_last(station, tree).await?;
        }
        parts.push(vec![curve]);
    }
    Ok(parts)
}

async fn extract(station: &Station, tree: &Tree, curve: &mut Curve) -> Result<(), Error> {
    let mount = &station.mount;
    mount.make_directory(&tree.root).await?;
    for number in 0..tree.directories {
        mount.make_directory(&format!("{}/{}", tree.root, Tree::directory(number))).await?;
        curve.complete(time::now(), 0);
    }
    for number in 0..tree.files {
        let content = tree.content(number);
        let bytes = content.len() as u64;
        let file = mount.open(&format!("{}/{}", tree.root, tree.file(number)), Access::Create).await?;
        file.write(0, content).await?;
        file.close().await?;
        curve.complete(time::now(), bytes);
        consume_budget().await;
    }
    Ok(())
}

async fn find(mount: &Mount, root: &str, curve: &mut Curve) -> Result<(), Error> {
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for (name, is_directory) in mount.list(&directory).await?.unwrap_or_default() {
            curve.complete(time::now(), 0);
            if is_directory {
                directories.push(format!("{directory}/{name}"));
            }
        }
    }
    Ok(())
}

async fn remove(mount: &Mount, root: &str, curve: &mut Curve) -> Result<(), Error> {
    let mut found = vec![root.to_owned()];
    let mut next = 0;
    while let Some(directory) = found.get(next).cloned() {
        next += 1;
        for (name, is_directory) in mount.list(&directory).await?.unwrap_or_default() {
            let path = format!("{directory}/{name}");
            if is_directory {
                found.push(path);
                continue;
            }
            mount.delete(&path).await?;
            curve.complete(time::now(), 0);
            consume_budget().await;
        }
    }
    for directory in found.iter().rev() {
        mount.remove_directory(directory).await?;
        curve.complete(time::now(), 0);
    }
    Ok(())
}

/// Reads the last file back with another client.
async fn check_last(station: &Station, tree: &Tree) -> Result<(), Error> {
    let number = tree.files - 1;
    let path = format!("{}/{}", tree.root, tree.file(number));
    let length = tree.content(number).len() as u64;
    files::read_back(&station.witness, &path, tree.pattern(number), 0, length).await
}
