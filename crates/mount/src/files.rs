//! Files: opening, reading, writing, flushing, closing.

use std::sync::Arc;

use bytes::Bytes;
use client::{File, OpenOptions};
use fuser::{Errno, FileHandle, FopenFlags, OpenAccMode, OpenFlags, WriteFlags};
use rustix::fs::OFlags;

use crate::ends::{Changing, tell_longer_end};
use crate::errno::{self, Result};
use crate::handles::{OpenFile, Opening};
use crate::mapped::{Mappable, begin_page_read, change_pages, parts};
use crate::notices::drop_what_is_old;
use crate::tree::{Entry, Tree};
use crate::turns::Turn;

/// The flags that the kernel sends with a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteKind {
    /// It writes pages that it keeps.
    pub(crate) from_pages: bool,
    /// The program may not write and leave set-id bits.
    pub(crate) clears_set_id: bool,
}

impl Tree {
    pub(crate) async fn open(
        self: &Arc<Self>,
        number: u64,
        flags: OpenFlags,
        clears_set_id: bool,
    ) -> Result<(FileHandle, FopenFlags)> {
        let inode = self.inodes.get(number)?;
        // Counted before the server is asked: who removes the name meanwhile must know.
        let opening = Opening::begin(&self.background, &inode);
        let empties = OFlags::from_bits_retain(flags.0 as u32).contains(OFlags::TRUNC);
        if empties && clears_set_id {
            self.clear_set_id(&inode).await?;
        }
        let changing = empties.then(|| Changing::begin(&inode));
        let file = {
            let _gate = inode.removal_gate.read().await;
            inode.object.open(&options(flags)).await.map_err(errno::of)?
        };
        drop(changing);
        // The flag is about pages alone, and the kernel must not believe an old length either.
        drop_what_is_old(self, &inode).await.map_err(errno::of)?;
        inode.state.lock().give(inode.object.content());
        if empties {
            // That the kernel takes for the latest, whatever it is told before it has this answer.
            inode.state.lock().end.told(0);
        } else if access(flags).0 {
            tell_longer_end(self, &inode, &file).await.map_err(errno::of)?;
        }
        Ok(self.opened(file, flags, opening).await)
    }

    pub(crate) async fn create(
        &self,
        parent: u64,
        name: &[u8],
        mode: u32,
        flags: OpenFlags,
    ) -> Result<(Entry, FileHandle, FopenFlags)> {
        let parent = self.inodes.get(parent)?;
        let exclusive = OFlags::from_bits_retain(flags.0 as u32).contains(OFlags::EXCL);
        let options = options(flags).create(true).create_new(exclusive).mode(mode & 0o7777);
        let (object, file) = parent.object.create(name, &options).await.map_err(errno::of)?;
        let entry = self.changed_entry(&parent, name, &object).await?;
        let inode = self.inodes.find(object.key()).ok_or(Errno::ESTALE)?;
        let opening = Opening::begin(&self.background, &inode);
        let (handle, answer) = self.opened(file, flags, opening).await;
        // Nobody has looked whether those that it may have are old.
        Ok((entry, handle, answer.difference(FopenFlags::FOPEN_KEEP_CACHE)))
    }

    async fn opened(&self, file: File, flags: OpenFlags, opening: Opening) -> (FileHandle, FopenFlags) {
        let (readable, writable) = access(flags);
        let answer = self.pages.of(&opening.inode.object, writable);
        let direct = answer.contains(FopenFlags::FOPEN_DIRECT_IO);
        let mappable = match readable && writable {
            true => Some(Mappable::begin(&opening.inode).await),
            false => None,
        };
        let open = OpenFile {
            file,
            readable,
            writable,
            appends: appends(flags),
            direct,
            closing_gate: tokio::sync::RwLock::default(),
            _mappable: mappable,
            opening,
        };
        (self.files.insert(open), answer)
    }

    /// Reads for a program, or, with `for_pages`, what the kernel keeps in its cache.
    pub(crate) async fn read(
        &self,
        handle: FileHandle,
        (offset, size): (u64, u32),
        for_pages: bool,
    ) -> Result<Bytes> {
        let open = self.files.get(handle)?;
        if for_pages {
            begin_page_read(&open.opening.inode, offset..offset + u64::from(size)).await;
        }
        open.file.read_at(offset, size as usize).await.map_err(errno::of)
    }

    /// The turn of a write to the end of the file, which the kernel may be wrong about. Where it keeps what
    /// is written, that is to be where the kernel says.
    pub(crate) fn turn_to_append(
        &self,
        handle: FileHandle,
        (flags, how): (OpenFlags, WriteFlags),
    ) -> Option<Turn> {
        let open = self.files.get(handle).ok()?;
        let appended = open.direct && appends(flags) && !how.contains(WriteFlags::FUSE_WRITE_CACHE);
        appended.then(|| open.opening.inode.appends.queue())
    }

    /// Writes for a program, or what the kernel has in its cache.
    pub(crate) async fn write(
        self: &Arc<Self>,
        handle: FileHandle,
        (offset, mut data): (u64, Bytes),
        turn_to_append: Option<Turn>,
        how: WriteKind,
    ) -> Result<u32> {
        let open = self.files.get(handle)?;
        if turn_to_append.is_none() {
            // As write(2) has it, what there is room for is written.
            let room = open.opening.inode.object.file_bytes_max().saturating_sub(offset);
            data.truncate(usize::try_from(room).unwrap_or(usize::MAX));
            if room == 0 {
                return Err(Errno::EFBIG);
            }
        }
        let length = u32::try_from(data.len()).map_err(|_| Errno::EINVAL)?;
        let _gate = open.closing_gate.read().await;
        if how.clears_set_id {
            self.clear_set_id(&open.opening.inode).await?;
        }
        let changing = Changing::begin(&open.opening.inode);
        match turn_to_append {
            Some(turn) => {
                let _turn = turn.await;
                self.append(&open, data).await?;
            }
            // The kernel holds its pages locked while it writes them.
            None if how.from_pages || !open.direct => {
                open.file.write_at(offset, data).await.map_err(errno::of)?;
            }
            None => self.write_directly(&open, offset, data).await?,
        }
        changing.wrote(offset + u64::from(length));
        Ok(length)
    }

    async fn write_directly(self: &Arc<Self>, open: &OpenFile, offset: u64, data: Bytes) -> Result<()> {
        let inode = &open.opening.inode;
        for part in parts(inode, offset..offset + data.len() as u64) {
            let piece = data.slice((part.start - offset) as usize..(part.end - offset) as usize);
            let work = async { open.file.write_at(part.start, piece).await.map_err(errno::of) };
            change_pages(self, inode, part.clone(), work).await?;
        }
        Ok(())
    }

    async fn append(self: &Arc<Self>, open: &OpenFile, data: Bytes) -> Result<()> {
        let inode = &open.opening.inode;
        // The end is not known before, but that it is not before this one.
        let mapped = inode.state.lock().pages.are_mapped();
        let end = if mapped { open.file.metadata().await.map_err(errno::of)?.size } else { 0 };
        let work = async { open.file.append(data).await.map_err(errno::of) };
        change_pages(self, inode, end..u64::MAX, work).await?;
        Ok(())
    }

    /// A program closes a file. Then its data are at the server, as others expect who open it next, and its
    /// locks are given up.
    pub(crate) async fn flush(&self, handle: FileHandle, owner: u64) -> Result<()> {
        let open = self.files.get(handle)?;
        let inode = &open.opening.inode;
        let flushed = match open.writable {
            true => inode.object.sync().await.map_err(errno::of),
            false => Ok(()),
        };
        self.unlock_all(inode, owner).await.and(flushed)
    }

    pub(crate) async fn sync(&self, handle: FileHandle) -> Result<()> {
        let open = self.files.get(handle)?;
        open.opening.inode.object.sync().await.map_err(errno::of)
    }

    /// Nobody has the file open any more; what goes wrong nobody hears.
    pub(crate) async fn release(&self, handle: FileHandle, owner: Option<u64>) {
        let Some(open) = self.files.remove(handle) else { return };
        let _gate = open.closing_gate.write().await;
        let inode = Arc::clone(&open.opening.inode);
        self.unlock_released(&inode, handle, owner).await;
        if let Err(error) = open.file.clone().close().await {
            tracing::warn!(%error, "closing a file");
        }
    }

    /// As [`Tree::release`], of a file whose open nobody waited for.
    pub(crate) fn release_soon(self: &Arc<Self>, handle: FileHandle) {
        let tree = Arc::clone(self);
        self.background.spawn(async move { tree.release(handle, None).await });
    }

    /// The tree is no longer mounted. What the kernel has closed last it may not have told.
    pub(crate) async fn release_all(&self) {
        for handle in self.files.numbers() {
            self.release(handle, None).await;
        }
        self.background.ended().await;
    }
}

/// The kernel's flag of a file that `execve` opens (`include/linux/fs.h`); no header for programs has it.
const FMODE_EXEC: u32 = 0x20;

fn appends(flags: OpenFlags) -> bool {
    OFlags::from_bits_retain(flags.0 as u32).contains(OFlags::APPEND)
}

/// Whether a file is opened for reading, and for writing.
fn access(flags: OpenFlags) -> (bool, bool) {
    (flags.acc_mode() != OpenAccMode::O_WRONLY, flags.acc_mode() != OpenAccMode::O_RDONLY)
}

fn options(flags: OpenFlags) -> OpenOptions {
    let (read, write) = access(flags);
    let flags = OFlags::from_bits_retain(flags.0 as u32);
    OpenOptions::new()
        .read(read)
        .write(write)
        .execute(flags.bits() & FMODE_EXEC != 0 && !write)
        .truncate(flags.contains(OFlags::TRUNC))
        .sync(flags.contains(OFlags::DSYNC))
}
