//! From a handle to an object.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::Statx;
use rustix::io::Errno;

use super::Export;
use super::object::{Descriptors, Object, Purpose};
use super::persistent::{Persistent, Proof};
use super::stat;
use super::sys::{self, Fid};
use crate::seal::equal;
use crate::{Error, FileKind, Name, Result};

/// The longest chain of hints that is followed.
const HINTS_MAX: usize = 4096;
/// How often an inode is tried to be opened.
const OPEN_ATTEMPTS: usize = 8;

impl Export {
    /// The object when it is known already: no system call and no allocation.
    pub(super) fn resolve_known(&self, handle: &[u8]) -> Option<Arc<Object>> {
        let object = self.cache.get(Persistent::peek_fileid(handle)?)?;
        // We made the handle we compare with, so equality authenticates.
        equal(object.handle.as_bytes(), handle).then_some(object)
    }

    pub(super) async fn resolve(self: &Arc<Self>, handle: &[u8]) -> Result<Arc<Object>> {
        if let Some(known) = self.resolve_known(handle) {
            return Ok(known);
        }
        let id = Persistent::decode(self.seal.open(handle)?)?;
        if id == self.root.id {
            return Ok(self.root.clone());
        }
        if self.index.is_none() {
            let (fd, stat) = self.open_persistent(&id)?;
            let descriptors = Descriptors { path: Some(Arc::new(fd)), ..Descriptors::default() };
            return self.adopt(descriptors, &stat, None);
        }
        match self.open_hinted(&id) {
            Some(object) => Ok(object),
            None => self.search(id).await?.ok_or(Error::Stale),
        }
    }

    /// Opens an inode by its kernel handle; without the privilege, where the hints say it is.
    pub(super) fn open_persistent(&self, id: &Persistent) -> Result<(OwnedFd, Statx)> {
        let (Proof::Fid(fid), None) = (&id.proof, &self.index) else { return Err(Error::Stale) };
        self.cache.check_room()?;
        self.acting.become_self()?;
        let mount = self.root.descriptor(Purpose::Read).ok_or(Error::Stale)?;
        let fd = open_by_handle(mount.as_fd(), fid).map_err(|errno| match errno {
            Errno::NOENT | Errno::STALE | Errno::INVAL => Error::Stale,
            errno => errno.into(),
        })?;
        let stat = stat::stat(fd.as_fd())?;
        if stat.stx_ino != id.fileid || stat.stx_nlink == 0 {
            return Err(Error::Stale);
        }
        if stat::kind(&stat) == FileKind::Directory {
            // We issued the handle when it was inside; it may have been moved out behind our back.
            self.check_below_root(fd.as_fd())?;
        }
        Ok((fd, stat))
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

/// The kernel says `ENOMEM` also of an inode number that is just being used again.
fn open_by_handle(mount: BorrowedFd<'_>, fid: &Fid) -> rustix::io::Result<OwnedFd> {
    for _ in 1..OPEN_ATTEMPTS {
        match sys::open_by_handle(mount, fid) {
            Err(Errno::NOMEM) => std::thread::yield_now(),
            result => return result,
        }
    }
    sys::open_by_handle(mount, fid)
}
