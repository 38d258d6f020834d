//! An open file for plain threads, with a place in it that reading and writing moves.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::{Range, RangeBounds};

use bytes::Bytes;

use super::driver::Driver;
use super::waiting;
use crate::attributes::{Attributes, SetAttributes};
use crate::error::Result;
use crate::lock::{Conflict, LockKind};
use crate::xattr::XattrMode;

/// An open file. Dropped, it is closed and everything written is made stable, which is waited for; what goes
/// wrong with that only [`File::close`] and [`File::sync_all`] tell.
#[derive(Debug)]
pub struct File {
    inner: crate::File,
    driver: Driver,
    /// Writing goes to the end.
    append: bool,
    position: u64,
}

impl File {
    pub(super) fn new(inner: crate::File, driver: Driver, append: bool) -> Self {
        Self { inner, driver, append, position: 0 }
    }

    /// As [`crate::File::close`].
    ///
    /// # Errors
    /// As [`crate::File::close`].
    pub fn close(self) -> Result<()> {
        self.driver.wait(self.inner.clone().close())
    }

    /// As [`crate::File::copy_range`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn copy_range(&self, range: impl RangeBounds<u64>, target: &Self, target_offset: u64) -> Result<u64> {
        self.driver.wait(self.inner.copy_range(range, &target.inner, target_offset))
    }

    /// As [`crate::File::clone_range`].
    ///
    /// # Errors
    /// See [`crate::Error`].
    pub fn clone_range(&self, range: impl RangeBounds<u64>, target: &Self, target_offset: u64) -> Result<()> {
        self.driver.wait(self.inner.clone_range(range, &target.inner, target_offset))
    }

    waiting! {
        "crate::File"
        fn read_at(offset: u64, length: usize) -> Bytes;
        fn write_at(offset: u64, data: Bytes) -> ();
        fn append(data: Bytes) -> u64;
        fn sync_all() -> ();
        fn sync_data() -> ();
        fn set_len(size: u64) -> ();
        fn metadata() -> Attributes;
        fn set_metadata(set: SetAttributes) -> ();
        fn allocate(range: Range<u64>) -> ();
        fn deallocate(range: Range<u64>) -> ();
        fn seek_data(offset: u64) -> Option<u64>;
        fn seek_hole(offset: u64) -> Option<u64>;
        fn lock(range: impl RangeBounds<u64>, kind: LockKind) -> ();
        fn try_lock(range: impl RangeBounds<u64>, kind: LockKind) -> ();
        fn test_lock(range: impl RangeBounds<u64>, kind: LockKind) -> Option<Conflict>;
        fn unlock(range: impl RangeBounds<u64>) -> ();
        fn xattr(name: impl AsRef<[u8]>) -> Option<Bytes>;
        fn set_xattr(name: impl AsRef<[u8]>, value: Bytes, mode: XattrMode) -> ();
        fn list_xattrs() -> Vec<Bytes>;
        fn remove_xattr(name: impl AsRef<[u8]>) -> ();
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let data = self.read_at(self.position, buffer.len())?;
        buffer[..data.len()].copy_from_slice(&data);
        self.position += data.len() as u64;
        Ok(data.len())
    }
}

impl Write for File {
    /// Takes all of `data`; on a file that is open for appending it goes to the end.
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let copy = Bytes::copy_from_slice(data);
        let start = match self.append {
            true => Self::append(self, copy)?,
            false => {
                self.write_at(self.position, copy)?;
                self.position
            }
        };
        self.position = start + data.len() as u64;
        Ok(data.len())
    }

    /// Does nothing, as with [`std::fs::File`]: the client has the data, and reading shows them.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (base, distance) = match to {
            SeekFrom::Start(offset) => (offset, 0),
            SeekFrom::End(distance) => (self.metadata()?.size, distance),
            SeekFrom::Current(distance) => (self.position, distance),
        };
        self.position = base
            .checked_add_signed(distance)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a place before the beginning"))?;
        Ok(self.position)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let inner = self.inner.clone();
        self.driver.wait_if_possible(async move {
            if let Err(error) = inner.close().await {
                tracing::warn!(%error, "a file that was dropped without closing it");
            }
        });
    }
}
