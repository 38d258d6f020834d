//! Opening things below the root, and turning descriptors into objects.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, Statx, openat, openat2};
use rustix::io::Errno;

use super::Export;
use super::object::{Descriptors, Object, Purpose};
use super::persistent::Persistent;
use super::stat;
use crate::{Attributes, Error, FileKind, Name, Result};

/// One component, never out of its directory, never through a link or onto another mount.
const CONTAINED: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// Where an object was found.
pub(super) type Location<'a> = (&'a Arc<Object>, Name<'a>);

/// Opens `name` in `dir` with the thread's ids.
pub(super) fn open_contained(
    dir: BorrowedFd<'_>,
    name: &[u8],
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    openat2(dir, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode, CONTAINED)
}

/// The path through which the inode of `fd` can be opened again.
pub(super) fn proc_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd))
}

impl Export {
    /// The descriptor for metadata; opens it again when the cache has closed it.
    pub(super) fn path(&self, object: &Arc<Object>) -> Result<Arc<OwnedFd>> {
        if let Some(fd) = object.descriptor(Purpose::Path) {
            return Ok(fd);
        }
        if self.index.is_some() {
            // A listing has glanced at it. What is open stays so here, and a hint was left.
            let found = self.open_hinted(&object.id).ok_or(Error::Stale)?;
            return found.descriptor(Purpose::Path).ok_or(Error::Stale);
        }
        let (fd, _) = self.open_persistent(&object.id)?;
        let fd = object.keep(Purpose::Path, Arc::new(fd), &self.cache.counts);
        self.cache.revive(object);
        Ok(fd)
    }

    /// The path descriptor of a directory.
    pub(super) fn dir_path(&self, object: &Arc<Object>) -> Result<Arc<OwnedFd>> {
        if object.kind == FileKind::Directory { self.path(object) } else { Err(Error::NotDirectory) }
    }

    /// The descriptor for reading or writing, opened by the server itself: whoever uses it must have been
    /// authorised.
    pub(super) fn data_descriptor(&self, object: &Arc<Object>, purpose: Purpose) -> Result<Arc<OwnedFd>> {
        if let Some(fd) = object.descriptor(purpose) {
            return Ok(fd);
        }
        let path = self.path(object)?;
        self.cache.check_room()?;
        self.acting.become_self()?;
        // Without O_NONBLOCK an open would wait for a local process to give up its lease.
        let flags = OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let flags = flags | if purpose == Purpose::Write { OFlags::RDWR } else { OFlags::RDONLY };
        let again = proc_path(path.as_fd());
        let opened = match openat(CWD, &again, flags, Mode::empty()) {
            // The file is ours, but its mode lets us write only.
            Err(Errno::ACCESS) if purpose == Purpose::Write => {
                openat(CWD, &again, flags.difference(OFlags::RDWR) | OFlags::WRONLY, Mode::empty())
            }
            result => result,
        };
        Ok(object.keep(purpose, Arc::new(opened?), &self.cache.counts))
    }

    /// The object called `name` in `dir`, with the thread's ids. One system call when it is known.
    pub(super) fn child(&self, dir_fd: BorrowedFd<'_>, place: Location<'_>) -> Result<(Arc<Object>, Statx)> {
        let (stat, known) = self.look(dir_fd, place.1)?;
        self.check_mount(&stat)?;
        match known.filter(|known| known.is_open()) {
            Some(known) => Ok((known, stat)),
            None => self.open_child(dir_fd, place),
        }
    }

    /// What is called `name`, and the object that is known of its number. While that has a descriptor open it
    /// is the same inode; else it may be an earlier one.
    pub(super) fn look(
        &self,
        dir_fd: BorrowedFd<'_>,
        name: Name<'_>,
    ) -> Result<(Statx, Option<Arc<Object>>)> {
        let before = self.cache.now();
        let stat = stat::stat_name(dir_fd, name)?;
        let known = self.known(&stat, before);
        Ok((stat, known))
    }

    /// The object known of an inode that was looked at after `before`.
    fn known(&self, stat: &Statx, before: u64) -> Option<Arc<Object>> {
        self.cache.get_older(stat.stx_ino, before).filter(|known| known.device == stat::device(stat))
    }

    /// As [`Export::child`] for one of many that nobody may ask for again: once the cache is half full it is
    /// not kept, so that a large directory does not push out what is in use.
    pub(super) fn passing_child(
        &self,
        dir_fd: BorrowedFd<'_>,
        place: Location<'_>,
    ) -> Result<(Arc<Object>, Statx)> {
        if !self.cache.is_half_full() {
            return self.child(dir_fd, place);
        }
        let (stat, known) = self.look(dir_fd, place.1)?;
        self.check_mount(&stat)?;
        if let Some(known) = known.filter(|known| known.is_open()) {
            return Ok((known, stat));
        }
        let (descriptors, stat) = self.open_name(dir_fd, place.1)?;
        let id = Self::id_of(&descriptors, &stat)?;
        Ok((Arc::new(self.object(id, descriptors, &stat, Some(place))), stat))
    }

    /// Opens the object called `name` in `dir`, known or not.
    pub(super) fn open_child(
        &self,
        dir_fd: BorrowedFd<'_>,
        place: Location<'_>,
    ) -> Result<(Arc<Object>, Statx)> {
        let (descriptors, stat) = self.open_name(dir_fd, place.1)?;
        Ok((self.adopt(descriptors, &stat, Some(place))?, stat))
    }

    fn open_name(&self, dir_fd: BorrowedFd<'_>, name: Name<'_>) -> Result<(Descriptors, Statx)> {
        self.cache.check_room()?;
        let fd = open_contained(dir_fd, name.as_bytes(), OFlags::PATH, Mode::empty());
        let fd = fd.map_err(|errno| match errno {
            // What is mounted inside the export is not part of it.
            Errno::XDEV => Error::AccessDenied,
            errno => errno.into(),
        })?;
        let stat = stat::stat(fd.as_fd())?;
        Ok((Descriptors { path: Some(Arc::new(fd)), ..Descriptors::default() }, stat))
    }

    /// Makes an object of open descriptors, of which `path` must be one.
    pub(super) fn adopt(
        &self,
        descriptors: Descriptors,
        stat: &Statx,
        place: Option<Location<'_>>,
    ) -> Result<Arc<Object>> {
        let object = self.object(Self::id_of(&descriptors, stat)?, descriptors, stat, place);
        Ok(if object.id == self.root.id { self.root.clone() } else { self.cache.insert(object) })
    }

    fn id_of(descriptors: &Descriptors, stat: &Statx) -> Result<Persistent> {
        Persistent::of(descriptors.path.as_ref().expect("made with a path descriptor"), stat)
    }

    pub(super) fn object(
        &self,
        id: Persistent,
        descriptors: Descriptors,
        stat: &Statx,
        place: Option<Location<'_>>,
    ) -> Object {
        if let (Some(index), Some((dir, name))) = (&self.index, place) {
            index.note(id.fileid, dir.id.fileid, name.as_bytes());
        }
        let (handle, object_id) = id.names(&self.seal);
        let (kind, device) = (stat::kind(stat), stat::device(stat));
        Object::new(id, handle, object_id, kind, device, descriptors, &self.cache.counts)
    }

    /// Refuses what is on another mount.
    pub(super) fn check_mount(&self, stat: &Statx) -> Result<()> {
        let known = stat.stx_mask & rustix::fs::StatxFlags::MNT_ID.bits() != 0;
        if known && stat.stx_mnt_id != self.mount_id { Err(Error::AccessDenied) } else { Ok(()) }
    }

    /// What `stat`, looked at just now, says about `object`.
    pub(super) fn attributes_of(&self, object: &Object, stat: &Statx) -> Attributes {
        object.writing.note_look();
        let change = self.changes.value(object.id.fileid, stat::change_ns(stat));
        stat::attributes(stat, self.fsid, change)
    }

    /// Notes that `object` was changed through us. To be called after the change.
    pub(super) fn moved(&self, object: &Object) {
        self.changes.moved(object.id.fileid);
    }

    /// What `ENOENT` means when `dir` was given: the directory itself may be gone.
    pub(super) fn explain(&self, dir: BorrowedFd<'_>, errno: Errno) -> Error {
        match errno {
            Errno::NOENT if stat::stat(dir).is_ok_and(|stat| stat.stx_nlink == 0) => Error::Stale,
            errno => errno.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{Local, LocalOptions};

    #[test]
    fn a_number_that_was_seen_before_an_object_was_made_is_not_taken_for_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        let local = Local::open(dir.path(), &LocalOptions::default()).unwrap();
        let (export, name) = (&local.export, Name::new(b"file").unwrap());
        let root = export.root.descriptor(Purpose::Path).unwrap();
        let before = export.cache.now();
        let (made, stat) = export.child(root.as_fd(), (&export.root, name)).unwrap();
        assert!(made.is_open());
        // Between the look and now the inode may have gone, and another have got its number.
        assert!(export.known(&stat, before).is_none());
        let known = export.known(&stat, export.cache.now()).unwrap();
        assert!(Arc::ptr_eq(&known, &made));
        let (again, _) = export.child(root.as_fd(), (&export.root, name)).unwrap();
        assert!(Arc::ptr_eq(&again, &made));
    }
}
