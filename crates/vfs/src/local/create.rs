//! The three ways to create a file.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Statx, ftruncate, linkat};
use rustix::io::Errno;

use super::make::{AtNaming, Syncs};
use super::object::{Descriptors, Node, Object};
use super::open::{Location, open_contained, proc_path};
use super::{Export, stat};
use crate::{
    CreateMode, Created, Error, FileKind, Identity, Request, Result, SetAttributes, SetTime, Settling,
    Timestamp,
};

/// How often a name may vanish between being found and being opened before the caller has to try again.
const ATTEMPTS: usize = 8;

/// What a name led to.
struct Opened {
    object: Arc<Object>,
    stat: Statx,
    /// It is ours, so it must be put on disk.
    created: Option<AtNaming>,
}

impl Export {
    pub(super) async fn create(
        self: &Arc<Self>,
        request: Request<'_>,
        place: Location<'_>,
        mode: &CreateMode,
    ) -> Result<Created<Node>> {
        let (created, syncs) = self.create_and_sync(request, place, mode).await?;
        if let Some(syncs) = syncs {
            syncs.wait().await?;
        }
        Ok(created)
    }

    /// As [`Export::create`], for who waits for the disk later.
    pub(super) async fn begin_create(
        self: &Arc<Self>,
        request: Request<'_>,
        place: Location<'_>,
        mode: &CreateMode,
    ) -> Result<(Created<Node>, Settling)> {
        let (created, syncs) = self.create_and_sync(request, place, mode).await?;
        Ok((created, syncs.map_or(Settling::DONE, |syncs| Settling::when(syncs.wait()))))
    }

    async fn create_and_sync(
        self: &Arc<Self>,
        request: Request<'_>,
        place: Location<'_>,
        mode: &CreateMode,
    ) -> Result<(Created<Node>, Option<Syncs>)> {
        let opened = self.create_now(request.identity, place, mode)?;
        let mut attributes = self.attributes_of(&opened.object, &opened.stat);
        let mut syncs = None;
        if let Some(at_naming) = opened.created {
            syncs = self.begin_to_settle(request.line, &opened.object, at_naming, place.0);
        } else if let CreateMode::Unchecked(SetAttributes { size: Some(0), .. }) = mode {
            let cut = SetAttributes { size: Some(0), ..Default::default() };
            attributes = self.set_attributes(request, &opened.object, &cut).await?;
        }
        Ok((Created { node: Node(opened.object), attributes, created: opened.created.is_some() }, syncs))
    }

    fn create_now(&self, identity: &Identity, place: Location<'_>, mode: &CreateMode) -> Result<Opened> {
        let dir = self.dir_path(place.0)?;
        for _ in 0..ATTEMPTS {
            let made = if self.read_only {
                Err(Error::Exists)
            } else {
                self.with_room(|| self.create_new(identity, dir.as_fd(), place, mode))
            };
            let Err(Error::Exists) = made else { return made };
            self.acting.become_caller(identity)?;
            match self.child(dir.as_fd(), place) {
                Ok((object, stat)) => return open_existing(object, stat, mode),
                Err(Error::NotFound) => self.check_writable()?,
                Err(error) => return Err(error),
            }
        }
        Err(Error::TryAgain)
    }

    fn create_new(
        &self,
        identity: &Identity,
        dir: BorrowedFd<'_>,
        place: Location<'_>,
        mode: &CreateMode,
    ) -> Result<Opened> {
        self.cache.check_room()?;
        let set = initial(mode);
        let bits = set.mode.unwrap_or(0o600) & 0o7777;
        if set.size.is_some_and(|size| size > self.limits.file_bytes_max) {
            return Err(Error::FileTooBig);
        }
        self.acting.become_caller(identity)?;
        if let CreateMode::Exclusive { .. } = mode
            && let Some(opened) =
                self.create_whole(identity, dir, place, &SetAttributes { mode: Some(bits), ..set })?
        {
            return Ok(opened);
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOCTTY;
        let fd = open_contained(dir, place.1.as_bytes(), flags, Mode::from_raw_mode(bits));
        let fd = Arc::new(fd.map_err(|errno| self.explain(dir, errno))?);
        self.moved(place.0);
        let set = SetAttributes { mode: Some(bits), ..set };
        let made = stat::stat(fd.as_fd()).map_err(Error::from).and_then(|stat| {
            if let Some(size) = set.size.filter(|size| *size > 0) {
                ftruncate(&fd, size)?;
            }
            let (stat, at_naming) = self.dress(identity, dir, &fd, &stat, &set)?;
            self.opened(fd, stat, at_naming, place)
        });
        if made.is_err() {
            self.take_back(identity, dir, place, AtFlags::empty());
        }
        made
    }

    /// Makes a file that has its attributes, and with them the verifier, before it has a name: a server that
    /// is killed in between leaves no file that a retry would take for somebody else's. `None` where the file
    /// system has no files without names.
    fn create_whole(
        &self,
        identity: &Identity,
        dir: BorrowedFd<'_>,
        place: Location<'_>,
        set: &SetAttributes,
    ) -> Result<Option<Opened>> {
        let bits = Mode::from_raw_mode(set.mode.unwrap_or(0o600));
        let fd = match open_contained(dir, b".", OFlags::TMPFILE | OFlags::RDWR, bits) {
            Ok(fd) => Arc::new(fd),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => return Ok(None),
            Err(errno) => return Err(self.explain(dir, errno)),
        };
        if let Some(size) = set.size.filter(|size| *size > 0) {
            ftruncate(&fd, size)?;
        }
        self.dress(identity, dir, &fd, &stat::stat(fd.as_fd())?, set)?;
        let linked = linkat(CWD, proc_path(fd.as_fd()), dir, place.1.as_bytes(), AtFlags::SYMLINK_FOLLOW);
        linked.map_err(|errno| self.explain(dir, errno))?;
        self.moved(place.0);
        let stat = stat::stat(fd.as_fd()).map_err(Error::from);
        let made = stat.and_then(|stat| self.opened(fd, stat, AtNaming::Complete, place));
        if made.is_err() {
            self.take_back(identity, dir, place, AtFlags::empty());
        }
        made.map(Some)
    }

    /// A new file. One descriptor serves all purposes: it may write even where the mode does not let it be
    /// opened again.
    fn opened(
        &self,
        fd: Arc<OwnedFd>,
        stat: Statx,
        at_naming: AtNaming,
        place: Location<'_>,
    ) -> Result<Opened> {
        let descriptors = Descriptors { path: Some(fd.clone()), read: Some(fd.clone()), write: Some(fd) };
        Ok(Opened { object: self.adopt(descriptors, &stat, Some(place))?, stat, created: Some(at_naming) })
    }
}

fn open_existing(object: Arc<Object>, stat: Statx, mode: &CreateMode) -> Result<Opened> {
    match mode {
        CreateMode::Guarded(_) => Err(Error::Exists),
        CreateMode::Exclusive { verifier, .. } => {
            if object.kind == FileKind::Regular && has_verifier(&stat, verifier) {
                // The same request again: it may not have come as far as the disk.
                Ok(Opened { object, stat, created: Some(AtNaming::Incomplete) })
            } else {
                Err(Error::Exists)
            }
        }
        CreateMode::Unchecked(_) => match object.kind {
            FileKind::Regular => Ok(Opened { object, stat, created: None }),
            FileKind::Directory => Err(Error::IsDirectory),
            FileKind::Symlink => Err(Error::IsSymlink),
            _ => Err(Error::WrongType),
        },
    }
}

/// The attributes that a new file gets; an exclusive one keeps its verifier in the times.
fn initial(mode: &CreateMode) -> SetAttributes {
    match mode {
        CreateMode::Unchecked(set) | CreateMode::Guarded(set) => *set,
        CreateMode::Exclusive { verifier, attributes } => {
            let [accessed, modified] = verifier_times(verifier);
            let to = |seconds| Some(SetTime::To(Timestamp { seconds, nanoseconds: 0 }));
            SetAttributes { accessed: to(accessed), modified: to(modified), ..*attributes }
        }
    }
}

/// 31 bits of each half of the verifier, as seconds that every file system and protocol can carry.
fn verifier_times(verifier: &[u8; 8]) -> [i64; 2] {
    let whole = u64::from_be_bytes(*verifier);
    [whole >> 32, whole].map(|half| (half & 0x7fff_ffff) as i64)
}

fn has_verifier(stat: &Statx, verifier: &[u8; 8]) -> bool {
    let times = [stat.stx_atime, stat.stx_mtime];
    times.map(|time| time.tv_sec) == verifier_times(verifier) && times.iter().all(|time| time.tv_nsec == 0)
}
