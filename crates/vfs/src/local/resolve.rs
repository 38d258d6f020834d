//! From a handle to an object.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Statx;
use rustix::io::Errno;

use super::Export;
use super::object::{Descriptors, Object, Purpose};
use super::persistent::{Persistent, Proof};
use super::stat;
use super::sys;
use crate::seal::equal;
use crate::{Error, FileKind, Line, Name, Result};

/// The longest chain of hints that is followed.
const HINTS_MAX: usize = 4096;
/// An inode whose number is just being used again is looked at again after each of these, four seconds in
/// all: who makes the new inode may have to wait for a busy disk.
const LOOK_AGAIN_MS: [u64; 12] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

impl Export {
    /// The object when it is known already: no system call and no allocation.
    fn resolve_known(&self, handle: &[u8]) -> Option<Arc<Object>> {
        let object = self.cache.get(Persistent::peek_fileid(handle)?)?;
        // We made the handle we compare with, so equality authenticates.
        equal(object.handle.as_bytes(), handle).then_some(object)
    }

    /// The object, as far as no system call is needed; `None` where one is.
    ///
    /// # Errors
    /// `BadHandle` for a handle of another export: it must not wait for a file system that it does not name.
    pub(super) fn resolve_from_memory(&self, handle: &[u8]) -> Result<Option<Arc<Object>>> {
        if let Some(known) = self.resolve_known(handle) {
            return Ok(Some(known));
        }
        let id = Persistent::decode(self.seal.open(handle)?)?;
        Ok((id == self.root.id).then(|| self.root.clone()))
    }

    pub(super) async fn resolve(self: &Arc<Self>, line: Line<'_>, handle: &[u8]) -> Result<Arc<Object>> {
        let id = Persistent::decode(self.seal.open(handle)?)?;
        if self.index.is_none() {
            let (fd, stat) = match self.open_unless_new(&id)? {
                Some(opened) => opened,
                None => {
                    let export = self.clone();
                    self.wait_for(line, move || export.open_patiently(&id)).await?
                }
            };
            let fd = Arc::new(fd);
            if stat::kind(&stat) == FileKind::Directory {
                // We issued the handle when it was inside; it may have been moved out behind our back.
                self.check_inside(line, &fd).await?;
            }
            let descriptors = Descriptors { path: Some(fd), ..Descriptors::default() };
            return self.adopt(descriptors, &stat, None);
        }
        match self.open_hinted(&id) {
            Some(object) => Ok(object),
            None => self.search(line, id).await?.ok_or(Error::Stale),
        }
    }

    /// Opens an inode by its kernel handle; without the privilege, where the hints say it is.
    pub(super) fn open_persistent(&self, id: &Persistent) -> Result<(OwnedFd, Statx)> {
        let (fd, stat) = self.open_unless_new(id)?.ok_or(Error::TryAgain)?;
        if stat::kind(&stat) == FileKind::Directory {
            self.check_inside_now(fd.as_fd())?;
        }
        Ok((fd, stat))
    }

    /// As [`Export::open_persistent`], but waits until a new inode that gets the number is there.
    fn open_patiently(&self, id: &Persistent) -> Result<(OwnedFd, Statx)> {
        for delay_ms in LOOK_AGAIN_MS {
            std::thread::sleep(Duration::from_millis(delay_ms));
            if let Some(opened) = self.open_unless_new(id)? {
                return Ok(opened);
            }
        }
        Err(Error::TryAgain)
    }

    /// Opens an inode, wherever a directory is by now. Nothing where the kernel says that it has no memory,
    /// as it does of an inode number from the moment that a new inode gets it until that one is complete.
    fn open_unless_new(&self, id: &Persistent) -> Result<Option<(OwnedFd, Statx)>> {
        let (Proof::Fid(fid), None) = (&id.proof, &self.index) else { return Err(Error::Stale) };
        self.cache.check_room()?;
        self.acting.become_self()?;
        let mount = self.root.descriptor(Purpose::Read).ok_or(Error::Stale)?;
        let fd = match sys::open_by_handle(mount.as_fd(), fid) {
            Ok(fd) => fd,
            Err(Errno::NOMEM) => return Ok(None),
            Err(Errno::NOENT | Errno::STALE | Errno::INVAL) => return Err(Error::Stale),
            Err(errno) => return Err(errno.into()),
        };
        let stat = stat::stat(fd.as_fd())?;
        if stat.stx_ino != id.fileid || stat.stx_nlink == 0 {
            return Err(Error::Stale);
        }
        Ok(Some((fd, stat)))
    }

    /// Follows the hints from a known directory down to the inode. `None` when one of them is wrong.
    pub(super) fn open_hinted(&self, id: &Persistent) -> Option<Arc<Object>> {
        let index = self.index.as_ref()?;
        let mut chain = Vec::new();
        let mut at = id.fileid;
        let mut dir = loop {
            let hint = index.hint(at)?;
            chain.push((at, hint.name));
            if chain.len() > HINTS_MAX {
                return None;
            }
            at = hint.parent;
            if at == self.root.id.fileid {
                break self.root.clone();
            }
            if let Some(known) = self.cache.get(at).filter(|known| known.kind == FileKind::Directory) {
                break known;
            }
        };
        self.acting.become_self().ok()?;
        for (fileid, name) in chain.into_iter().rev() {
            let fd = dir.descriptor(Purpose::Path)?;
            let (object, stat) = self.open_child(fd.as_fd(), (&dir, Name::new(&name).ok()?)).ok()?;
            if stat.stx_ino != fileid {
                return None;
            }
            dir = object;
        }
        (dir.id == *id).then_some(dir)
    }
}
