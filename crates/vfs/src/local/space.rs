//! Holes: finding, filling and making them.

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::{Errno, retry_on_intr};

use super::data::check_kind;
use super::object::{Object, Purpose};
use super::{Durability, Export, stat};
use crate::permissions::READ;
use crate::{Content, Error, Request, Result};

/// How much is reserved before others have their turn at a thread, in bytes: to reserve takes time by the
/// size, to give back does not.
const PIECE_BYTES: u64 = 64 << 20;

impl Export {
    pub(super) async fn seek(
        self: &Arc<Self>,
        request: Request<'_>,
        object: &Arc<Object>,
        offset: u64,
        what: Content,
    ) -> Result<Option<u64>> {
        check_kind(object)?;
        let path = self.path(object)?;
        let (owner, size) = stat::owner_and_size(path.as_fd())?;
        self.authorise(request.identity, object, &path, owner, READ)?;
        if offset >= size {
            return Err(Error::BeyondEnd);
        }
        // The position of the descriptor is nobody's: data is read and written at offsets.
        let fd = self.read_descriptor(object)?;
        let find = move || match (seek(&fd, position(offset, what)), what) {
            (Ok(found), _) => Ok(Some(found)),
            // Nothing but a hole is left.
            (Err(Errno::NXIO), Content::Data) => Ok(None),
            // Cut off since: the hole is where the file ends now.
            (Err(Errno::NXIO), Content::Hole) => Err(Error::BeyondEnd),
            (Err(errno), _) => Err(errno.into()),
        };
        // The map of the file's blocks may have to be read from the disk.
        if self.all_in_memory { find() } else { self.wait_for(request.line, find).await }
    }

    pub(super) async fn allocate(
        self: &Arc<Self>,
        request: Request<'_>,
        object: &Arc<Object>,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        self.change_space(request, object, offset, length, FallocateFlags::empty(), PIECE_BYTES).await
    }

    pub(super) async fn deallocate(
        self: &Arc<Self>,
        request: Request<'_>,
        object: &Arc<Object>,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        self.change_space(request, object, offset, length, flags, u64::MAX).await
    }

    async fn change_space(
        self: &Arc<Self>,
        request: Request<'_>,
        object: &Arc<Object>,
        offset: u64,
        length: u64,
        flags: FallocateFlags,
        piece_bytes: u64,
    ) -> Result<()> {
        check_kind(object)?;
        self.check_writable()?;
        self.check_may_write(request.identity, object)?;
        if offset.checked_add(length).is_none_or(|end| end > self.limits.file_bytes_max) {
            return Err(Error::FileTooBig);
        }
        if flags.is_empty() {
            self.with_room(|| self.check_room(object, length))?;
        }
        let fd = self.data_descriptor(object, Purpose::Write)?;
        let mut done = 0;
        while done < length {
            let (at, count) = (offset + done, (length - done).min(piece_bytes));
            let (export, caller, changed, fd) =
                (Arc::clone(self), request.identity.clone(), Arc::clone(object), Arc::clone(&fd));
            let change = move || {
                // As the caller, so that set-id bits go, and quotas and reserved blocks are heeded.
                export.acting.become_caller(&caller)?;
                let allocate = || Ok(retry_on_intr(|| fallocate(&fd, flags, at, count))?);
                export.change_data(&changed, || export.with_room(allocate))
            };
            self.wait_for(request.line, change).await?;
            done += count;
        }
        match self.durability {
            Durability::Sync => self.sync_change(request.line, object).await,
            Durability::Async => Ok(()),
        }
    }
}

impl Export {
    /// Refuses what cannot be reserved, before the kernel fills the disk on the way to finding out.
    fn check_room(&self, object: &Arc<Object>, length: u64) -> Result<()> {
        let used = self.attributes(object)?.used;
        let space = self.stat_fs()?;
        let is_known = space.total_bytes > 0;
        let fits = length.saturating_sub(used) <= space.available_bytes;
        if is_known && !fits { Err(Error::NoSpace) } else { Ok(()) }
    }
}

fn position(offset: u64, what: Content) -> SeekFrom {
    match what {
        Content::Data => SeekFrom::Data(offset),
        Content::Hole => SeekFrom::Hole(offset),
    }
}
