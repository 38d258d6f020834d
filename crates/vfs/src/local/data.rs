//! Reading and writing the data of files.
//!
//! Descriptors for data are opened by the server and shared by all callers, so every operation is authorised
//! for its caller.

use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::io::{Errno, ReadWriteFlags, pwritev2};

use super::object::{Object, Purpose, Verified};
use super::sync::Depth;
use super::{Durability, Export, stat, sys};
use crate::permissions::{EXECUTE, READ, WRITE};
use crate::{Error, FileKind, Identity, ReadDone, Request, Result, Stability, Written};

impl Export {
    pub(super) async fn read(
        self: &Arc<Self>,
        request: Request<'_>,
        object: &Arc<Object>,
        offset: u64,
        count: usize,
        out: &mut Vec<u8>,
    ) -> Result<ReadDone> {
        check_kind(object)?;
        let path = self.path(object)?;
        let (owner, size) = stat::owner_and_size(path.as_fd())?;
        self.authorise(request.identity, object, &path, owner, READ)?;
        let left = size.saturating_sub(offset);
        let count = left.min(count as u64) as usize;
        if count == 0 {
            return Ok(ReadDone { count: 0, eof: left == 0 });
        }
        let fd = self.read_descriptor(object)?;
        let mut got = self.read_in_place(&fd, out, count, offset)?;
        if got < count {
            // The rest is not in memory.
            let (from, missing) = (offset + got as u64, count - got);
            let rest = self.wait_for(request.line, move || read_all(&fd, missing, from)).await?;
            out.extend_from_slice(&rest);
            got += rest.len();
        }
        // Less than the size promised means that somebody has cut the file since.
        Ok(ReadDone { count: got, eof: got < count || left == count as u64 })
    }

    pub(super) async fn write(
        self: &Arc<Self>,
        request: Request<'_>,
        object: &Arc<Object>,
        offset: u64,
        data: &[u8],
        stability: Stability,
    ) -> Result<Written> {
        let count = self.write_now(request.identity, object, offset, data)?;
        if self.durability == Durability::Sync && count > 0 {
            match stability {
                Stability::Unstable => {}
                Stability::DataSync => self.sync(request.line, object, Depth::Data).await?,
                Stability::FileSync => self.sync(request.line, object, Depth::All).await?,
            }
        }
        Ok(Written { count, stability })
    }

    pub(super) async fn commit(self: &Arc<Self>, request: Request<'_>, object: &Arc<Object>) -> Result<()> {
        check_kind(object)?;
        self.check_may_write(request.identity, object)?;
        match self.durability {
            Durability::Sync => self.sync(request.line, object, Depth::All).await,
            Durability::Async => Ok(()),
        }
    }

    /// Checks that `who` may read or write the data. `owner`, the file's, always may, and permission to
    /// execute includes reading, as in [`permissions::allows_data`](crate::permissions::allows_data).
    ///
    /// An answer is remembered until the file changes: its time of the last change covers access control
    /// lists as well as the mode. Where times are coarse, only once the next change is sure to show.
    pub(super) fn authorise(
        &self,
        identity: &Identity,
        object: &Arc<Object>,
        fd: &OwnedFd,
        owner: u32,
        mode: u32,
    ) -> Result<()> {
        let identity = self.acting.effective(identity);
        if identity.uid == 0 || identity.uid == owner {
            return Ok(());
        }
        let change_ns = stat::change_ns(&stat::stat(fd.as_fd())?);
        let mut verified = object.verified.lock();
        if let Some(known) = &*verified
            && known.change_ns == change_ns
            && known.mode & mode == mode
            && known.identity == *identity
        {
            return Ok(());
        }
        self.acting.become_caller(identity)?;
        match sys::check_access(fd.as_fd(), mode) {
            Err(Errno::ACCESS) if mode == READ => sys::check_access(fd.as_fd(), EXECUTE)?,
            checked => checked?,
        }
        *verified =
            self.changes.is_past(change_ns).then(|| Verified { identity: identity.clone(), change_ns, mode });
        Ok(())
    }

    pub(super) fn check_may_write(&self, identity: &Identity, object: &Arc<Object>) -> Result<()> {
        let path = self.path(object)?;
        let (owner, _) = stat::owner_and_size(path.as_fd())?;
        self.authorise(identity, object, &path, owner, WRITE)
    }

    /// Appends what is in memory, up to the first page that is not.
    fn read_in_place(&self, fd: &OwnedFd, out: &mut Vec<u8>, count: usize, offset: u64) -> Result<usize> {
        match sys::read_at(fd.as_fd(), out, count, offset, !self.all_in_memory) {
            // Waiting needed, or a file system that cannot tell.
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::INTR) => Ok(0),
            result => Ok(result?),
        }
    }

    fn write_now(
        &self,
        identity: &Identity,
        object: &Arc<Object>,
        offset: u64,
        data: &[u8],
    ) -> Result<usize> {
        check_kind(object)?;
        self.check_writable()?;
        self.check_may_write(identity, object)?;
        if data.is_empty() {
            return Ok(0);
        }
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > i64::MAX as u64) {
            return Err(Error::FileTooBig);
        }
        let fd = self.data_descriptor(object, Purpose::Write)?;
        // As the caller, so that set-id bits go, and quotas and reserved blocks are heeded.
        self.acting.become_caller(identity)?;
        self.change_data(object, || {
            let mut done = self.with_room(|| write_all(&fd, data, offset))?;
            if done < data.len() {
                // The disk may have become full in the middle.
                let rest = self.with_room(|| write_all(&fd, &data[done..], offset + done as u64));
                done += rest.unwrap_or(0);
            }
            Ok(done)
        })
    }

    /// A descriptor that reads: one open for writing as well will do.
    pub(super) fn read_descriptor(&self, object: &Arc<Object>) -> Result<Arc<OwnedFd>> {
        match object.descriptor(Purpose::Read) {
            Some(fd) => Ok(fd),
            None => self.data_descriptor(object, Purpose::Read),
        }
    }
}

pub(super) fn check_kind(object: &Object) -> Result<()> {
    match object.kind {
        FileKind::Regular => Ok(()),
        FileKind::Directory => Err(Error::IsDirectory),
        FileKind::Symlink => Err(Error::IsSymlink),
        _ => Err(Error::WrongType),
    }
}

/// Reads until `count` or the end of the file.
fn read_all(fd: &OwnedFd, count: usize, offset: u64) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(count);
    while out.len() < count {
        let missing = count - out.len();
        match sys::read_at(fd.as_fd(), &mut out, missing, offset + (count - missing) as u64, false) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(out)
}

/// Writes until all is written or something is in the way; an error only when nothing was.
fn write_all(fd: &OwnedFd, data: &[u8], offset: u64) -> Result<usize> {
    let mut done = 0;
    while done < data.len() {
        let part = [IoSlice::new(&data[done..])];
        match pwritev2(fd, &part, offset + done as u64, ReadWriteFlags::empty()) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(errno) if done == 0 => return Err(errno.into()),
            Err(_) => break,
        }
    }
    Ok(done)
}
