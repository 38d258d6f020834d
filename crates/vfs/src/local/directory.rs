//! Finding names and listing directories.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, openat, readlinkat, seek};
use rustix::io::Errno;

use super::object::{Descriptors, Node, Object, Purpose};
use super::open::{Place, open_contained};
use super::{Export, stat, sys};
use crate::permissions::READ;
use crate::{Attributes, DirEntry, DirPage, Error, FileKind, Identity, Name, Result};

/// The most of a directory that is read at a time, in bytes.
const BUFFER_BYTES_MAX: usize = 32 * 1024;
/// The least: room for the longest name.
const BUFFER_BYTES_MIN: usize = 1024;
/// Objects of a page that are looked up in place.
const OBJECTS_IN_PLACE_MAX: usize = 16;
/// What an entry is expected to take, in bytes.
const ENTRY_BYTES: usize = 48;

impl Export {
    pub(super) fn lookup(&self, who: &Identity, place: Place<'_>) -> Result<(Arc<Object>, Attributes)> {
        let dir = self.dir_path(place.0)?;
        self.acting.become_caller(who)?;
        let (object, stat) = self.child(dir.as_fd(), place)?;
        let attributes = self.attributes_of(&object, &stat);
        Ok((object, attributes))
    }

    pub(super) fn lookup_parent(&self, who: &Identity, dir: &Arc<Object>) -> Result<Arc<Object>> {
        let fd = self.dir_path(dir)?;
        self.acting.become_caller(who)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let up = openat(&fd, c"..", flags, Mode::empty())?;
        if dir.id == self.root.id {
            return Err(Error::NotFound);
        }
        let stat = stat::stat(up.as_fd())?;
        // A directory that was moved out behind our back has a parent that is none of the callers' business.
        self.check_below_root(up.as_fd())?;
        self.adopt(Descriptors { path: Some(Arc::new(up)), ..Descriptors::default() }, &stat, None)
    }

    pub(super) fn read_link(&self, object: &Arc<Object>) -> Result<Bytes> {
        if object.kind != FileKind::Symlink {
            return Err(Error::Invalid);
        }
        let fd = self.path(object)?;
        Ok(readlinkat(&fd, c"", Vec::new())?.into_bytes().into())
    }

    /// One buffer of the directory at a time, and the objects of many entries on the pool: each may wait for the disk.
    pub(super) async fn read_dir(
        self: &Arc<Self>,
        who: &Identity,
        dir: &Arc<Object>,
        cookie: u64,
        entries_max: usize,
        objects: bool,
    ) -> Result<DirPage<Node>> {
        let page = self.list_for(who, dir, cookie, entries_max)?;
        if !objects {
            return Ok(page);
        }
        if self.all_in_memory || page.entries.len() <= OBJECTS_IN_PLACE_MAX {
            return self.with_objects(who, dir, page);
        }
        let (export, who, dir) = (self.clone(), who.clone(), dir.clone());
        self.pool.run(move || export.with_objects(&who, &dir, page)).await
    }

    fn list_for(
        &self,
        who: &Identity,
        dir: &Arc<Object>,
        cookie: u64,
        entries_max: usize,
    ) -> Result<DirPage<Node>> {
        let path = self.dir_path(dir)?;
        self.acting.become_caller(who)?;
        sys::check_access(path.as_fd(), READ)?;
        let fd = self.data_descriptor(dir, Purpose::Read)?;
        if let Some(_stream) = dir.stream.try_lock() {
            return self.list(fd.as_fd(), dir, cookie, entries_max);
        }
        // Somebody else is reading: a descriptor has one position.
        self.acting.become_self()?;
        let own = open_contained(path.as_fd(), b".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        self.list(own.as_fd(), dir, cookie, entries_max)
    }

    fn with_objects(
        &self,
        who: &Identity,
        dir: &Arc<Object>,
        mut page: DirPage<Node>,
    ) -> Result<DirPage<Node>> {
        let path = self.dir_path(dir)?;
        self.acting.become_caller(who)?;
        for entry in &mut page.entries {
            entry.object = self.entry_object(path.as_fd(), dir, &entry.name);
        }
        Ok(page)
    }

    fn list(
        &self,
        fd: BorrowedFd<'_>,
        dir: &Arc<Object>,
        cookie: u64,
        entries_max: usize,
    ) -> Result<DirPage<Node>> {
        seek(fd, SeekFrom::Start(cookie)).map_err(|errno| match errno {
            Errno::INVAL | Errno::OVERFLOW => Error::BadCookie,
            errno => errno.into(),
        })?;
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES_MAX];
        // Entries that are not asked for would be read once more by the next call.
        let bytes = entries_max.saturating_mul(ENTRY_BYTES).clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX);
        let mut listing = RawDir::new(fd, &mut buffer[..bytes]);
        let mut entries = Vec::new();
        while let Some(entry) = listing.next() {
            let entry = match entry {
                // A removed directory has no entries any more.
                Err(Errno::NOENT) => break,
                entry => entry?,
            };
            if entries.len() >= entries_max {
                return Ok(DirPage { entries, eof: false });
            }
            let name = entry.file_name().to_bytes();
            // What is above the root is none of the callers' business.
            let above = name == b".." && dir.id == self.root.id;
            entries.push(DirEntry {
                name: Bytes::copy_from_slice(name),
                fileid: if above { self.root.id.fileid } else { entry.ino() },
                cookie: entry.next_entry_cookie(),
                object: None,
            });
        }
        Ok(DirPage { entries, eof: true })
    }

    /// Node and attributes of an entry; `None` for `..`, for what has gone since, and where the caller may not look.
    fn entry_object(&self, fd: BorrowedFd<'_>, dir: &Arc<Object>, name: &[u8]) -> Option<(Node, Attributes)> {
        if name == b"." {
            return Some((Node(dir.clone()), self.attributes(dir).ok()?));
        }
        let (object, stat) = self.passing_child(fd, (dir, Name::new(name).ok()?)).ok()?;
        let attributes = self.attributes_of(&object, &stat);
        Some((Node(object), attributes))
    }
}
