//! Ranges of files: space for them, where their data are, and copying them on the server.

use client::Error;
use fuser::{Errno, FileHandle};

use crate::ends::Changing;
use crate::errno::{self, Result};
use crate::mapped::change_pages;
use crate::notices::drop_pages_soon;
use crate::tree::Tree;

/// Modes of fallocate(2).
const KEEP_SIZE: i32 = 1;
const PUNCH_HOLE: i32 = 2;
/// Where lseek(2) is to go.
const SEEK_DATA: i32 = 3;
const SEEK_HOLE: i32 = 4;
/// The most that is copied in one request of the kernel, in bytes: it asks for the rest.
const COPY_BYTES_MAX: u64 = 1 << 30;

impl Tree {
    pub(crate) async fn allocate(
        self: &std::sync::Arc<Self>,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
    ) -> Result<()> {
        let open = self.files.get(handle)?;
        let range = offset..offset.checked_add(length).ok_or(Errno::EFBIG)?;
        let _gate = open.closing_gate.read().await;
        let _changing = Changing::begin(&open.opening.inode);
        match mode {
            0 => open.file.allocate(range).await.map_err(errno::of),
            _ if mode == PUNCH_HOLE | KEEP_SIZE => {
                let work = async { open.file.deallocate(range.clone()).await.map_err(errno::of) };
                change_pages(self, &open.opening.inode, range.clone(), work).await?;
                drop_pages_soon(self, &open.opening.inode).await;
                Ok(())
            }
            // NFS has no space beyond the end of a file, and none that is moved.
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    pub(crate) async fn seek(&self, handle: FileHandle, offset: i64, whence: i32) -> Result<i64> {
        let open = self.files.get(handle)?;
        let offset = u64::try_from(offset).map_err(|_| Errno::ENXIO)?;
        let found = match whence {
            SEEK_DATA => open.file.seek_data(offset).await,
            SEEK_HOLE => open.file.seek_hole(offset).await,
            _ => return Err(Errno::EINVAL),
        };
        let place = match found {
            Ok(place) => place,
            // All of it is data then, which is a true answer.
            Err(Error::Unsupported { .. }) => {
                let size = open.file.metadata().await.map_err(errno::of)?.size;
                let place = if whence == SEEK_DATA { offset } else { size };
                (offset < size).then_some(place)
            }
            Err(error) => return Err(errno::of(error)),
        };
        place.and_then(|place| i64::try_from(place).ok()).ok_or(Errno::ENXIO)
    }

    pub(crate) async fn copy(
        self: &std::sync::Arc<Self>,
        (from, from_offset): (FileHandle, u64),
        (to, to_offset): (FileHandle, u64),
        length: u64,
    ) -> Result<u32> {
        let (from, to) = (self.files.get(from)?, self.files.get(to)?);
        let length = length.min(COPY_BYTES_MAX);
        let range = from_offset..from_offset.checked_add(length).ok_or(Errno::EINVAL)?;
        let target = to_offset..to_offset.checked_add(length).ok_or(Errno::EFBIG)?;
        let _gate = to.closing_gate.read().await;
        let inode = &to.opening.inode;
        // The kernel drops pages of the range afterwards without writing them back. It copies by reading
        // and writing then.
        if inode.state.lock().pages.are_mapped() {
            return Err(Errno::EOPNOTSUPP);
        }
        let _changing = Changing::begin(inode);
        let work = async { from.file.copy_range(range, &to.file, to_offset).await.map_err(errno::of) };
        let copied = change_pages(self, inode, target, work).await?;
        drop_pages_soon(self, &to.opening.inode).await;
        u32::try_from(copied).map_err(|_| Errno::EIO)
    }
}
