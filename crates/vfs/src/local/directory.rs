//! Finding names and listing directories.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, openat, readlinkat, seek};
use rustix::io::Errno;

use super::glance::Moment;
use super::object::{Descriptors, Node, Object, Purpose};
use super::open::{Location, open_contained};
use super::placement::{AsArgument, IntoOwned};
use super::pool::Task;
use super::{Export, stat, sys};
use crate::permissions::READ;
use crate::{Attributes, DirEntry, DirPage, Error, FileKind, Identity, Name, Request, Result};

/// The most of a directory that is read at a time, in bytes. Nobody else has the core until the kernel has
/// read them.
const BUFFER_BYTES_MAX: usize = 4 * 1024;
/// The least: room for the longest name.
const BUFFER_BYTES_MIN: usize = entry_bytes(Name::MAX);
/// Objects of a page that are looked up in place.
const OBJECTS_IN_PLACE_MAX: usize = 16;
/// Objects of a page that two threads share, each half of them.
const OBJECTS_SHARED_MIN: usize = 64;

/// Objects that are looked up before other threads get their turn: who lists has time, who waits for one
/// answer has not.
const TURN_OBJECTS: usize = 16;

/// The entries of a page that another thread looks for the objects of.
type Rest = Option<Task<Vec<DirEntry<Node>>>>;

/// What an entry with a name of so many bytes takes of a buffer (`struct linux_dirent64`).
const fn entry_bytes(name_bytes: usize) -> usize {
    (8 + 8 + 2 + 1 + name_bytes + 1).next_multiple_of(8)
}

impl Export {
    pub(super) fn lookup(
        &self,
        identity: &Identity,
        place: Location<'_>,
    ) -> Result<(Arc<Object>, Attributes)> {
        let dir = self.dir_path(place.0)?;
        self.acting.become_caller(identity)?;
        let (object, stat) = self.child(dir.as_fd(), place)?;
        let attributes = self.attributes_of(&object, &stat);
        Ok((object, attributes))
    }

    pub(super) async fn lookup_parent(
        self: &Arc<Self>,
        request: Request<'_>,
        dir: &Arc<Object>,
    ) -> Result<Arc<Object>> {
        let fd = self.dir_path(dir)?;
        self.acting.become_caller(request.identity)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let up = openat(&fd, c"..", flags, Mode::empty())?;
        if dir.id == self.root.id {
            return Err(Error::NotFound);
        }
        let stat = stat::stat(up.as_fd())?;
        let up = Arc::new(up);
        // A directory that was moved out behind our back has a parent that is none of the callers' business.
        self.check_inside(request.line, &up).await?;
        self.adopt(Descriptors { path: Some(up), ..Descriptors::default() }, &stat, None)
    }

    pub(super) fn read_link(&self, object: &Arc<Object>) -> Result<Bytes> {
        if object.kind != FileKind::Symlink {
            return Err(Error::Invalid);
        }
        let fd = self.path(object)?;
        Ok(readlinkat(&fd, c"", Vec::new())?.into_bytes().into())
    }

    /// One buffer of the directory at a time. The first is read here, as most directories have no more; what
    /// follows, and the objects of many entries, are the pool's: each may wait for the disk, and all take
    /// longer than others should be kept waiting.
    pub(super) async fn read_dir(
        self: &Arc<Self>,
        request: Request<'_>,
        dir: &Arc<Object>,
        cookie: u64,
        entries_max: usize,
        objects: bool,
    ) -> Result<DirPage<Node>> {
        let mut first = None;
        if cookie == 0 || self.all_in_memory {
            let page = self.list_for(request.identity, dir, cookie, entries_max)?;
            if !objects {
                return Ok(page);
            }
            if self.all_in_memory || page.entries.len() <= OBJECTS_IN_PLACE_MAX {
                return Ok(DirPage {
                    entries: self.with_objects(request.identity, dir, page.entries)?,
                    ..page
                });
            }
            first = Some(page);
        }
        let (export, kept, dir) = (self.clone(), request.into_owned(), dir.clone());
        let (mut page, rest) = self
            .pool
            .run(request.line.number, move || {
                let request = kept.as_argument();
                let page = match first {
                    Some(page) => page,
                    None => export.list_for(request.identity, &dir, cookie, entries_max)?,
                };
                if objects { export.share_objects(request, &dir, page) } else { Ok((page, None)) }
            })
            .await?;
        if let Some(rest) = rest {
            page.entries.extend(rest.await?);
        }
        Ok(page)
    }

    /// Finds the objects of a page, half of them on another thread if they are many.
    fn share_objects(
        self: &Arc<Self>,
        request: Request<'_>,
        dir: &Arc<Object>,
        page: DirPage<Node>,
    ) -> Result<(DirPage<Node>, Rest)> {
        let DirPage { mut entries, eof } = page;
        let rest = (entries.len() >= OBJECTS_SHARED_MIN).then(|| {
            let rest = entries.split_off(entries.len() / 2);
            let (export, caller, dir) = (self.clone(), request.identity.clone(), dir.clone());
            self.pool.run(request.line.number, move || export.with_objects(&caller, &dir, rest))
        });
        Ok((DirPage { entries: self.with_objects(request.identity, dir, entries)?, eof }, rest))
    }

    fn list_for(
        &self,
        identity: &Identity,
        dir: &Arc<Object>,
        cookie: u64,
        entries_max: usize,
    ) -> Result<DirPage<Node>> {
        let path = self.dir_path(dir)?;
        self.acting.become_caller(identity)?;
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
        identity: &Identity,
        dir: &Arc<Object>,
        mut entries: Vec<DirEntry<Node>>,
    ) -> Result<Vec<DirEntry<Node>>> {
        let path = self.dir_path(dir)?;
        self.acting.become_caller(identity)?;
        let since = Moment::now();
        for (place, entry) in entries.iter_mut().enumerate() {
            if place % TURN_OBJECTS == TURN_OBJECTS - 1 {
                std::thread::yield_now();
            }
            entry.object = self.entry_object(path.as_fd(), dir, entry, since);
        }
        Ok(entries)
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
        let (mut entries, mut used_bytes) = (Vec::new(), 0_usize);
        loop {
            // Entries that are not asked for would be read once more by the next call, which would have to
            // seek back to them.
            let usual_bytes = used_bytes.checked_div(entries.len()).unwrap_or(entry_bytes(1));
            let bytes = (entries_max - entries.len()).saturating_mul(usual_bytes);
            let bytes = bytes.clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX);
            let before = entries.len();
            if before > 0 {
                std::thread::yield_now();
            }
            let mut listing = RawDir::new(fd, &mut buffer[..bytes]);
            while let Some(entry) = listing.next() {
                let entry = match entry {
                    // A removed directory has no entries any more.
                    Err(Errno::NOENT) => return Ok(DirPage { entries, eof: true }),
                    entry => entry?,
                };
                if entries.len() >= entries_max {
                    return Ok(DirPage { entries, eof: false });
                }
                let name = entry.file_name().to_bytes();
                used_bytes += entry_bytes(name.len());
                // What is above the root is none of the callers' business.
                let above = name == b".." && dir.id == self.root.id;
                entries.push(DirEntry {
                    name: Bytes::copy_from_slice(name),
                    fileid: if above { self.root.id.fileid } else { entry.ino() },
                    cookie: entry.next_entry_cookie(),
                    object: None,
                });
                if listing.is_buffer_empty() {
                    break;
                }
            }
            // When there are as many as were asked for, the next call finds out whether there are more.
            let eof = entries.len() == before;
            if eof || entries.len() >= entries_max {
                return Ok(DirPage { entries, eof });
            }
        }
    }

    /// Node and attributes of an entry; `None` for `..`, for what has gone since, and where the caller may
    /// not look.
    fn entry_object(
        &self,
        fd: BorrowedFd<'_>,
        dir: &Arc<Object>,
        entry: &DirEntry<Node>,
        since: Moment,
    ) -> Option<(Node, Attributes)> {
        if &entry.name[..] == b"." {
            return Some((Node(dir.clone()), self.attributes(dir).ok()?));
        }
        let place = (dir, Name::new(&entry.name).ok()?);
        // One look is enough at what is open, and two are at most of the rest.
        let is_known = self.cache.get(entry.fileid).is_some();
        let glanced = if is_known { None } else { self.glance(fd, place, since) };
        let (object, stat) = match glanced {
            Some(found) => found,
            None => self.passing_child(fd, place).ok()?,
        };
        let attributes = self.attributes_of(&object, &stat);
        Some((Node(object), attributes))
    }
}
