//! The search of the whole export for inodes that no hint leads to.
//!
//! One walk serves all who wait, fills the index on its way, and runs on the pool. It holds one directory
//! open at a time and remembers the paths of those it has still to see.

use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::Export;
use super::object::{Object, Purpose};
use super::open::open_contained;
use super::persistent::Persistent;
use super::pool::channel;
use crate::{Line, Name, Result};

/// The longest path that is followed, in bytes.
const PATH_BYTES_MAX: usize = 1 << 18;

type FoundObjects = HashMap<Persistent, Arc<Object>>;

/// What a walk looks for.
struct WalkTargets {
    ids: HashSet<Persistent>,
    /// Their file ids, and those of the ones found already.
    fileids: HashSet<u64>,
}

impl Export {
    /// The object of `id`, wherever it is; `None` when it is not in the export.
    pub(super) async fn search(
        self: &Arc<Self>,
        line: Line<'_>,
        id: Persistent,
    ) -> Result<Option<Arc<Object>>> {
        let Some(index) = &self.index else { return Ok(None) };
        if index.is_gone(&id) {
            return Ok(None);
        }
        let (answer, task) = channel();
        let start = {
            let mut walks = index.walks.lock();
            walks.waiting.push((id, answer));
            !std::mem::replace(&mut walks.running, true)
        };
        if start {
            let export = self.clone();
            self.pool.execute(line.number, move || export.run_walks());
        }
        task.await
    }

    /// One walk after the other until nobody waits.
    fn run_walks(&self) {
        let Some(index) = &self.index else { return };
        loop {
            let waiting = {
                let mut walks = index.walks.lock();
                let waiting = std::mem::take(&mut walks.waiting);
                walks.running = !waiting.is_empty();
                waiting
            };
            if waiting.is_empty() {
                return;
            }
            let mut wanted = WalkTargets {
                ids: waiting.iter().map(|(id, _)| *id).collect(),
                fileids: waiting.iter().map(|(id, _)| id.fileid).collect(),
            };
            let found = self.walk(&mut wanted);
            if found.is_ok() {
                index.note_gone(&wanted.ids);
            }
            for (id, answer) in waiting {
                answer.send(match &found {
                    Ok(found) => Ok(found.get(&id).cloned()),
                    Err(errno) => Err((*errno).into()),
                });
            }
        }
    }

    /// Looks for `wanted` and takes from it what it finds. Looks twice when names moved meanwhile, since a
    /// walk can miss what moves from before it to behind it.
    fn walk(&self, wanted: &mut WalkTargets) -> rustix::io::Result<FoundObjects> {
        let mut found = FoundObjects::new();
        for _ in 0..2 {
            let renames = self.renames();
            self.walk_once(wanted, &mut found)?;
            if wanted.ids.is_empty() || self.renames() == renames {
                break;
            }
        }
        Ok(found)
    }

    fn walk_once(&self, wanted: &mut WalkTargets, found: &mut FoundObjects) -> rustix::io::Result<()> {
        self.acting.become_self().map_err(|_| Errno::PERM)?;
        let root = self.root.descriptor(Purpose::Read).ok_or(Errno::BADF)?;
        let mut pending = vec![Vec::new()];
        while let Some(path) = pending.pop() {
            if wanted.ids.is_empty() {
                return Ok(());
            }
            // Gone since, closed to us, or a mount: nothing of the export that we could reach.
            let Ok((dir, object)) = self.open_path(root.as_fd(), &path) else { continue };
            self.scan(&dir, &object, &path, &mut pending, wanted, found)?;
        }
        Ok(())
    }

    /// Opens a directory by its path below the root, one component at a time.
    fn open_path(&self, root: BorrowedFd<'_>, path: &[u8]) -> Result<(OwnedFd, Arc<Object>)> {
        let mut object = self.root.clone();
        for component in path.split(|byte| *byte == b'/').filter(|component| !component.is_empty()) {
            let fd = self.dir_path(&object)?;
            let (child, _) = self.child(fd.as_fd(), (&object, Name::new(component)?))?;
            object = child;
        }
        let fd = match object.descriptor(Purpose::Path) {
            Some(fd) if object.id != self.root.id => {
                open_contained(fd.as_fd(), b".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?
            }
            _ => open_contained(root, b".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?,
        };
        Ok((fd, object))
    }

    /// Notes every entry of one directory, opens the wanted ones and queues the directories.
    fn scan(
        &self,
        dir: &OwnedFd,
        object: &Arc<Object>,
        path: &[u8],
        pending: &mut Vec<Vec<u8>>,
        wanted: &mut WalkTargets,
        found: &mut FoundObjects,
    ) -> rustix::io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
        let mut entries = RawDir::new(dir, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(Errno::NOENT) => break,
                Err(errno) => return Err(errno),
            };
            let Ok(name) = Name::new(entry.file_name().to_bytes()) else { continue };
            if let Some(index) = &self.index {
                index.note(entry.ino(), object.id.fileid, name.as_bytes());
            }
            if wanted.fileids.contains(&entry.ino())
                && let Ok((child, _)) = self.open_child(dir.as_fd(), (object, name))
                && wanted.ids.remove(&child.id)
            {
                found.insert(child.id, child);
            }
            let may_be_dir = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            if may_be_dir && path.len() + name.as_bytes().len() < PATH_BYTES_MAX {
                pending.push([path, name.as_bytes()].join(&b'/'));
            }
        }
        Ok(())
    }
}
