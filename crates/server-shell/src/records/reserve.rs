//! A file for the store whose space is allocated before it is used, so that a full disk does not stop small
//! changes.
//!
//! All of the file is allocated, and room beyond its end for it to double once, at least 4 MiB: others on
//! the file system cannot take that. On ext4, XFS and tmpfs a write into allocated space does not fail for
//! lack of space. btrfs writes each block elsewhere, so there the reserve helps only for what the file has
//! not written yet. Where a file system cannot allocate beforehand, nothing is reserved.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

const RESERVE_BYTES_MIN: u64 = 4 << 20;
const RESERVE_BYTES_MAX: u64 = 64 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct ReservedFile {
    backend: FileBackend,
    reserve: Arc<Reserve>,
}

/// The room of a file.
#[derive(Debug)]
pub(super) struct Reserve {
    file: File,
    /// There is less room beyond the end than there should be.
    is_short: AtomicBool,
}

impl ReservedFile {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let reserve = Reserve { file: file.try_clone()?, is_short: AtomicBool::new(true) };
        let backend = FileBackend::new(file).map_err(|error| match error {
            DatabaseError::Storage(redb::StorageError::Io(error)) => error,
            other => io::Error::other(other),
        })?;
        Ok(Self { backend, reserve: Arc::new(reserve) })
    }

    pub(super) fn reserve(&self) -> Arc<Reserve> {
        Arc::clone(&self.reserve)
    }
}

impl Reserve {
    /// Reserves room again after there was none.
    pub(super) fn refill(&self) {
        if self.is_short.load(Relaxed)
            && let Ok(metadata) = self.file.metadata()
        {
            self.fill(metadata.len());
        }
    }

    /// Reserves room for a file of `len` bytes to grow.
    fn fill(&self, len: u64) {
        let wanted = len + len.clamp(RESERVE_BYTES_MIN, RESERVE_BYTES_MAX);
        let is_short = match fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, wanted) {
            Ok(()) | Err(Errno::OPNOTSUPP) => false,
            Err(error) => {
                tracing::debug!(%error, "no room is reserved for the records");
                true
            }
        };
        self.is_short.store(is_short, Relaxed);
    }

    /// Allocates the first `len` bytes.
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.fill(len);
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, len) {
            Ok(()) | Err(Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

type Result<T, E = io::Error> = std::result::Result<T, E>;

impl StorageBackend for ReservedFile {
    fn len(&self) -> Result<u64> {
        self.backend.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.backend.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        if len > self.backend.len()? {
            self.reserve.allocate(len)?;
            return self.backend.set_len(len);
        }
        // The truncation frees the reserved blocks.
        self.backend.set_len(len)?;
        self.reserve.fill(len);
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        self.backend.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.backend.write(offset, data)
    }

    fn close(&self) -> Result<()> {
        self.backend.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.backend.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.backend.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.backend.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.backend.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.backend.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.backend.query_lock_range(start, end)
    }
}
