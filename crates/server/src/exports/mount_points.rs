//! The directories of exports that the roots of other exports cover (RFC 8881 §7.3).
//!
//! A server whose back ends may hang finds them itself, within a deadline, and gives them to
//! [`ExportSet::joined_at`](super::ExportSet::joined_at).

use std::collections::HashMap;

use vfs::{Error, FileSystem, Handle, Name, ObjectId, Request};

use super::{ExportId, ExportPath};

/// Entries of a directory that are read at a time.
const PAGE_ENTRIES: usize = 256;

/// A directory of an export that the root of another export covers.
#[derive(Debug, Clone, Copy)]
pub struct MountPoint {
    /// The directory that has it as an entry.
    pub(super) directory: ObjectId,
    /// The handle of `directory`.
    pub(super) handle: Handle,
    /// The file id of the entry.
    pub(super) fileid: u64,
}

impl MountPoint {
    /// Finds the mount point of the export `child` in `parent`, whose file system is `fs`. Waits for `fs`.
    ///
    /// # Errors
    /// [`NoPlace`] when the path of `child` leads to no directory of `parent`.
    pub async fn find<F: FileSystem>(
        fs: &F,
        parent: &ExportPath,
        child: &ExportPath,
    ) -> Result<Self, NoPlace> {
        let no_place = || NoPlace { path: child.clone(), parent: parent.clone() };
        let depth = parent.depth_above(child).ok_or_else(no_place)?;
        let names: Vec<_> = child.components().skip(depth).collect();
        let (last, way) = names.split_last().ok_or_else(no_place)?;
        let mut node = fs.root();
        for name in way {
            (node, _) = fs.lookup(Request::of_server(), &node, *name).await.map_err(|_| no_place())?;
        }
        let fileid = find_entry(fs, &node, *last).await.map_err(|_| no_place())?.ok_or_else(no_place)?;
        Ok(Self { directory: fs.object_id(&node), handle: fs.handle(&node), fileid })
    }
}

/// The mount points that are known, by outer and inner export.
#[derive(Debug, Default)]
pub struct MountPoints(HashMap<(ExportId, ExportId), MountPoint>);

impl MountPoints {
    /// Notes that `outer` has the root of `inner` at `at`.
    pub fn insert(&mut self, outer: ExportId, inner: ExportId, at: MountPoint) {
        self.0.insert((outer, inner), at);
    }

    /// Returns where `outer` has the root of `inner`, if that is known.
    pub fn get(&self, outer: ExportId, inner: ExportId) -> Option<&MountPoint> {
        self.0.get(&(outer, inner))
    }
}

/// An export has no directory to be seen in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the export {path} cannot be seen in {parent}, which has no directory for it")]
pub struct NoPlace {
    /// Where the export should be.
    pub path: ExportPath,
    /// The export that its path leads through.
    pub parent: ExportPath,
}

/// The file id of an entry, as its directory lists it: what is mounted on it does not count (RFC 8881
/// §5.8.2.23).
async fn find_entry<F: FileSystem>(fs: &F, dir: &F::Node, name: Name<'_>) -> Result<Option<u64>, Error> {
    let mut cookie = 0;
    loop {
        let page = fs.read_dir(Request::of_server(), dir, cookie, PAGE_ENTRIES, false).await?;
        if let Some(entry) = page.entries.iter().find(|entry| entry.name == name.as_bytes()) {
            return Ok(Some(entry.fileid));
        }
        match page.entries.last() {
            Some(last) if !page.eof => cookie = last.cookie,
            _ => return Ok(None),
        }
    }
}
