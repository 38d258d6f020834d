//! Reading and setting attributes, and asking for access.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid, chmodat, chownat, fstatvfs,
    ftruncate, utimensat,
};
use rustix::io::Errno;

use super::names::LARGE_BYTES;
use super::object::{Object, Purpose};
use super::open::proc_path;
use super::{Durability, Export, stat, sys};
use crate::permissions::{self, EXECUTE, READ, WRITE};
use crate::{
    Access, Attributes, Error, FileKind, Identity, Request, Result, SetAttributes, SetTime, StatFs, Timestamp,
};

impl Export {
    pub(super) fn attributes(&self, object: &Arc<Object>) -> Result<Attributes> {
        let fd = self.path(object)?;
        let stat = stat::stat(fd.as_fd())?;
        Ok(self.attributes_of(object, &stat))
    }

    /// `None` where the look would make a change under way renew the times at its end.
    pub(super) fn settled_attributes(&self, object: &Arc<Object>) -> Result<Option<Attributes>> {
        let fd = self.path(object)?;
        let stat = stat::stat(fd.as_fd())?;
        // After the look: a change that has ended by now has its data in.
        let is_settled = self.changes.is_counted() || !object.writing.is_under_way();
        Ok(is_settled.then(|| self.attributes_of(object, &stat)))
    }

    pub(super) async fn set_attributes(
        self: &Arc<Self>,
        request: Request<'_>,
        object: &Arc<Object>,
        set: &SetAttributes,
    ) -> Result<Attributes> {
        let attributes = if set.size.is_some() && self.is_large(object)? {
            let (export, caller, object, set) =
                (self.clone(), request.identity.clone(), object.clone(), *set);
            self.wait_for(request.line, move || export.set_attributes_now(&caller, &object, &set)).await?
        } else {
            self.set_attributes_now(request.identity, object, set)?
        };
        if self.durability == Durability::Sync && *set != SetAttributes::default() {
            self.sync_change(request.line, object).await?;
        }
        Ok(attributes)
    }

    /// True when a truncation may take long.
    fn is_large(&self, object: &Arc<Object>) -> Result<bool> {
        let (_, size) = stat::owner_and_size(self.path(object)?.as_fd())?;
        Ok(size > LARGE_BYTES)
    }

    fn set_attributes_now(
        &self,
        identity: &Identity,
        object: &Arc<Object>,
        set: &SetAttributes,
    ) -> Result<Attributes> {
        self.check_writable()?;
        let fd = self.path(object)?;
        let before = self.attributes_of(object, &stat::stat(fd.as_fd())?);
        let set = self.without_idle_ids(&before, set);
        permissions::check_set(self.acting.effective(identity), &before, &set)?;
        let set = set.applicable(object.kind);
        self.check_set(identity, object, &fd, &before, &set)?;
        if set != SetAttributes::default() {
            self.apply(identity, object, &fd, &set)?;
            self.moved(object);
        }
        self.attributes(object)
    }

    pub(super) fn access(&self, identity: &Identity, object: &Arc<Object>, wanted: Access) -> Result<Access> {
        let fd = self.path(object)?;
        self.acting.become_caller(identity)?;
        let mut has = 0;
        for bit in [READ, WRITE, EXECUTE] {
            match sys::check_access(fd.as_fd(), bit) {
                Ok(()) => has |= bit,
                Err(Errno::ACCESS | Errno::ROFS | Errno::PERM | Errno::TXTBSY) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        if self.read_only {
            has &= !WRITE;
        }
        Ok(permissions::granted(object.kind, wanted, |bits| has & bits == bits))
    }

    pub(super) fn stat_fs(&self) -> Result<StatFs> {
        let fd = self.path(&self.root)?;
        let stat = fstatvfs(fd.as_fd())?;
        Ok(StatFs {
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            free_bytes: stat.f_bfree.saturating_mul(stat.f_frsize),
            available_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
            total_files: stat.f_files,
            free_files: stat.f_ffree,
            available_files: stat.f_favail,
        })
    }

    /// `set` without ids that are so already, where they are not the caller's to set: a client that runs as
    /// root sets the owner of what it copies, and the user of the process may not even set its own.
    pub(super) fn without_idle_ids(&self, object: &Attributes, set: &SetAttributes) -> SetAttributes {
        match &self.acting {
            super::Acting::Callers(_) => *set,
            super::Acting::Process(_) => SetAttributes {
                uid: set.uid.filter(|uid| *uid != object.uid),
                gid: set.gid.filter(|gid| *gid != object.gid),
                ..*set
            },
        }
    }

    /// Everything that we can know to refuse, before anything is changed.
    fn check_set(
        &self,
        identity: &Identity,
        object: &Arc<Object>,
        fd: &OwnedFd,
        now: &Attributes,
        set: &SetAttributes,
    ) -> Result<()> {
        if let Some(size) = set.size {
            match object.kind {
                FileKind::Regular => {}
                FileKind::Directory => return Err(Error::IsDirectory),
                _ => return Err(Error::Invalid),
            }
            if size > self.limits.file_bytes_max {
                return Err(Error::FileTooBig);
            }
        }
        let to_now = [set.accessed, set.modified].contains(&Some(SetTime::Now));
        if set.size.is_some() || to_now {
            self.authorise(identity, object, fd, now.uid, WRITE)?;
        }
        Ok(())
    }

    fn apply(
        &self,
        identity: &Identity,
        object: &Arc<Object>,
        fd: &Arc<OwnedFd>,
        set: &SetAttributes,
    ) -> Result<()> {
        if let Some(size) = set.size {
            let data = self.data_descriptor(object, Purpose::Write)?;
            self.acting.become_caller(identity)?;
            self.change_data(object, || Ok(ftruncate(&*data, size)?))?;
        }
        self.acting.become_caller(identity)?;
        set_owner(fd, set)?;
        if let Some(mode) = set.mode {
            let over_present = |stat: rustix::fs::Statx| set.mode_over(stat.stx_mode.into());
            let masked = set.mode_mask.map(|_| stat::stat(fd.as_fd())).transpose()?.and_then(over_present);
            set_mode(fd, masked.unwrap_or(mode))?;
        }
        if set.accessed.is_some() || set.modified.is_some() {
            let given = |time| matches!(time, Some(SetTime::To(_)));
            if !given(set.accessed) && !given(set.modified) {
                // A writer may set them to now, which we have checked; the kernel wants the owner for only
                // one.
                self.acting.become_self()?;
            }
            set_times(fd, set)?;
        }
        Ok(())
    }
}

/// Sets owner and group with the thread's ids, which must not be `u32::MAX`.
pub(super) fn set_owner(fd: &OwnedFd, set: &SetAttributes) -> Result<()> {
    if set.uid.is_none() && set.gid.is_none() {
        return Ok(());
    }
    let (uid, gid) = (set.uid.map(Uid::from_raw), set.gid.map(Gid::from_raw));
    Ok(chownat(fd, c"", uid, gid, AtFlags::EMPTY_PATH)?)
}

/// Sets the mode with the thread's ids.
pub(super) fn set_mode(fd: &OwnedFd, mode: u32) -> Result<()> {
    let mode = Mode::from_raw_mode(mode & 0o7777);
    Ok(chmodat(CWD, proc_path(fd.as_fd()), mode, AtFlags::empty())?)
}

/// Sets the times with the thread's ids.
pub(super) fn set_times(fd: &OwnedFd, set: &SetAttributes) -> Result<()> {
    let times = Timestamps { last_access: timespec(set.accessed), last_modification: timespec(set.modified) };
    Ok(utimensat(fd, c"", &times, AtFlags::EMPTY_PATH)?)
}

fn timespec(set: Option<SetTime>) -> Timespec {
    match set {
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        Some(SetTime::Now) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Some(SetTime::To(Timestamp { seconds, nanoseconds })) => {
            Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() }
        }
    }
}
