//! Making directories, symbolic links, pipes, sockets and devices.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, Statx, makedev, mkdirat, mknodat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::attributes::{set_mode, set_owner, set_times};
use super::object::{Node, Object};
use super::open::Location;
use super::pool::Task;
use super::{Durability, Export, stat};
use crate::permissions::{self, SET_GID};
use crate::{Attributes, Error, FileKind, Identity, Line, NodeKind, Request, Result, SetAttributes};

/// What to make.
#[derive(Debug, Clone, Copy)]
pub(super) enum NewObject<'a> {
    Directory,
    Symlink(&'a [u8]),
    Node(NodeKind),
}

/// How an object was when it got its new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtNaming {
    /// As it is now.
    Complete,
    /// Something of it was changed since.
    Incomplete,
}

/// A new object and its name on their way to the disk.
pub(super) struct Syncs {
    own: Option<Task<()>>,
    name: Task<()>,
}

impl Syncs {
    /// Waits until both are there.
    pub(super) async fn wait(self) -> Result<()> {
        if let Some(own) = self.own {
            own.await?;
        }
        self.name.await
    }
}

impl Export {
    pub(super) async fn make(
        self: &Arc<Self>,
        request: Request<'_>,
        place: Location<'_>,
        what: NewObject<'_>,
        set: &SetAttributes,
    ) -> Result<(Node, Attributes)> {
        let (object, attributes, at_naming) = self.make_now(request.identity, place, what, set)?;
        self.settle(request.line, &object, at_naming, place.0).await?;
        Ok((Node(object), attributes))
    }

    /// Puts an object and its new name in `dir` on disk.
    pub(super) async fn settle(
        self: &Arc<Self>,
        line: Line<'_>,
        object: &Arc<Object>,
        at_naming: AtNaming,
        dir: &Arc<Object>,
    ) -> Result<()> {
        match self.begin_to_settle(line, object, at_naming, dir) {
            Some(syncs) => syncs.wait().await,
            None => Ok(()),
        }
    }

    /// As [`Export::settle`], for who waits later; `None` when there is nothing to wait for.
    pub(super) fn begin_to_settle(
        self: &Arc<Self>,
        line: Line<'_>,
        object: &Arc<Object>,
        at_naming: AtNaming,
        dir: &Arc<Object>,
    ) -> Option<Syncs> {
        if self.durability == Durability::Async {
            return None;
        }
        let comes_with_name = self.order.brings(object.is_bare(), at_naming == AtNaming::Complete);
        // Both run at once.
        let own = (!comes_with_name).then(|| self.sync_change_beside(line, object));
        Some(Syncs { own, name: self.sync_change(line, dir) })
    }

    fn make_now(
        &self,
        identity: &Identity,
        place: Location<'_>,
        what: NewObject<'_>,
        set: &SetAttributes,
    ) -> Result<(Arc<Object>, Attributes, AtNaming)> {
        let dir = self.dir_path(place.0)?;
        self.check_writable()?;
        self.cache.check_room()?;
        let mode =
            set.mode.unwrap_or(if matches!(what, NewObject::Directory) { 0o700 } else { 0o600 }) & 0o7777;
        self.acting.become_caller(identity)?;
        self.with_room(|| make_bare(dir.as_fd(), place, what, mode)).map_err(|error| match error {
            Error::NotFound => self.explain(dir.as_fd(), Errno::NOENT),
            error => error,
        })?;
        self.moved(place.0);
        // The mode of a symbolic link has no meaning, and only files have a length to set.
        let mode = (!matches!(what, NewObject::Symlink(_))).then_some(mode);
        let set = SetAttributes { mode, size: None, ..*set };
        let made = self.open_child(dir.as_fd(), place).and_then(|(object, stat)| {
            let fd = self.path(&object)?;
            let (stat, at_naming) = self.dress(identity, dir.as_fd(), &fd, &stat, &set)?;
            let attributes = self.attributes_of(&object, &stat);
            Ok((object, attributes, at_naming))
        });
        if made.is_err() {
            let flags =
                if matches!(what, NewObject::Directory) { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            self.take_back(identity, dir.as_fd(), place, flags);
        }
        made
    }

    /// Removes what was made and could not be given its attributes. With the caller's ids, since others may
    /// have put something else in its place.
    pub(super) fn take_back(
        &self,
        identity: &Identity,
        dir: BorrowedFd<'_>,
        place: Location<'_>,
        flags: AtFlags,
    ) {
        if self.acting.become_caller(identity).is_ok() {
            // Nothing more can be done when this fails; the caller learns of the first failure.
            let _ = unlinkat(dir, place.1.as_bytes(), flags);
            self.moved(place.0);
        }
    }

    /// Gives a new object its owner, mode and times, with the caller's ids, and returns how it is then, and
    /// whether that is how it was.
    pub(super) fn dress(
        &self,
        identity: &Identity,
        dir: BorrowedFd<'_>,
        fd: &OwnedFd,
        stat: &Statx,
        set: &SetAttributes,
    ) -> Result<(Statx, AtNaming)> {
        let new = stat::attributes(stat, self.fsid, 0);
        let set = self.without_idle_ids(&new, set);
        permissions::check_set(self.acting.effective(identity), &new, &set)?;
        let owner = SetAttributes { uid: set.uid, gid: set.gid, ..Default::default() };
        let changes_owner = owner != SetAttributes::default();
        let changes_times = set.accessed.is_some() || set.modified.is_some();
        let first_mode = set.mode.filter(|mode| self.mode_differs(dir, &new, *mode, changes_owner));
        if !changes_owner && !changes_times && first_mode.is_none() && set.size.is_none_or(|size| size == 0) {
            return Ok((*stat, AtNaming::Complete));
        }
        self.acting.become_caller(identity)?;
        set_owner(fd, &owner)?;
        if let Some(mode) = first_mode {
            self.set_first_mode(identity, fd, &new, set.gid, mode)?;
        }
        if changes_times {
            set_times(fd, &set)?;
        }
        Ok((stat::stat(fd.as_fd())?, AtNaming::Incomplete))
    }

    /// Sets the mode of a new object. A directory keeps the set-group-id bit that it inherited, which the
    /// kernel takes from a caller outside the group; so the server sets it, if the object is the caller's
    /// own.
    fn set_first_mode(
        &self,
        identity: &Identity,
        fd: &OwnedFd,
        new: &Attributes,
        gid: Option<u32>,
        mode: u32,
    ) -> Result<()> {
        let effective = self.acting.effective(identity);
        let inherited = if new.kind == FileKind::Directory { new.mode & SET_GID } else { 0 };
        let mode = permissions::settable_mode(effective, gid.unwrap_or(new.gid), mode) | inherited;
        if inherited != 0 && new.uid == effective.uid {
            self.acting.become_self()?;
        }
        set_mode(fd, mode)?;
        self.acting.become_caller(identity)
    }

    /// True when a new object must still be given its mode. What a default access control list took away
    /// stays away; what the umask took, or a change of owner, does not.
    fn mode_differs(&self, dir: BorrowedFd<'_>, new: &Attributes, mode: u32, changes_owner: bool) -> bool {
        let missing = mode & !new.mode;
        if missing & 0o7000 != 0 || (changes_owner && mode & 0o6000 != 0) {
            return true;
        }
        missing & self.umask != 0 && !has_default_acl(dir)
    }
}

fn make_bare(dir: BorrowedFd<'_>, place: Location<'_>, what: NewObject<'_>, mode: u32) -> Result<()> {
    let name = place.1.as_bytes();
    let bits = Mode::from_raw_mode(mode);
    match what {
        NewObject::Directory => mkdirat(dir, name, bits)?,
        NewObject::Symlink(target) => {
            if target.is_empty() || target.contains(&0) {
                return Err(Error::Invalid);
            }
            symlinkat(target, dir, name)?;
        }
        NewObject::Node(kind) => {
            let (file_type, device) = match kind {
                NodeKind::Fifo => (FileType::Fifo, 0),
                NodeKind::Socket => (FileType::Socket, 0),
                NodeKind::Block(major, minor) => (FileType::BlockDevice, makedev(major, minor)),
                NodeKind::Character(major, minor) => (FileType::CharacterDevice, makedev(major, minor)),
            };
            mknodat(dir, name, file_type, bits, device)?;
        }
    }
    Ok(())
}

fn has_default_acl(dir: BorrowedFd<'_>) -> bool {
    let path = super::open::proc_path(dir);
    rustix::fs::getxattr_query(path, c"system.posix_acl_default").is_ok()
}
