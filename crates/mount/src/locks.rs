//! Locks of ranges and of whole files: those of `fcntl` belong to a process, those of `flock` to an open
//! file, and the kernel names either owner by a number. To the server each owner is an open file of its own.

use std::sync::Arc;
use std::time::Duration;

use client::{LockKind, OpenOptions};
use fuser::{Errno, FileHandle};

use crate::ends::{tell_end, tell_longer_end};
use crate::errno::{self, Result};
use crate::handles::OpenFile;
use crate::inodes::{Inode, LockFile};
use crate::notices::drop_what_is_old;
use crate::tree::Tree;

/// The types of locks as the kernel numbers them (fcntl(2)).
const READ: i32 = 0;
const WRITE: i32 = 1;
pub(crate) const UNLOCK: i32 = 2;

/// The last byte of a lock to the end of the file, as the kernel has it.
const END: u64 = i64::MAX as u64;
/// How often a process that waits for a lock is looked at: the kernel's word that it is to wait no longer
/// does not get here.
const LOOK: Duration = Duration::from_millis(100);

/// What is locked, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lock {
    pub(crate) owner: u64,
    pub(crate) first: u64,
    /// The last byte, not the one behind.
    pub(crate) last: u64,
    pub(crate) kind: i32,
}

/// A lock of somebody else, as the kernel is told of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Other {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) kind: i32,
}

impl Lock {
    fn end(&self) -> u64 {
        if self.last >= END { u64::MAX } else { self.last + 1 }
    }
}

impl Tree {
    /// A lock that stands in the way of `lock`, if there is any.
    pub(crate) async fn test_lock(&self, handle: FileHandle, lock: Lock) -> Result<Option<Other>> {
        let held = self.lock_file(handle, lock.owner).await?;
        let found = held.file.test_lock(lock.first..lock.end(), kind(lock.kind)?).await.map_err(errno::of)?;
        Ok(found.map(|conflict| Other {
            first: conflict.range.start,
            last: if conflict.range.end >= END { END } else { conflict.range.end - 1 },
            kind: if conflict.kind == LockKind::Shared { READ } else { WRITE },
        }))
    }

    /// Takes or gives up a lock; waits for it when `pid`, the process that wants it, is given.
    pub(crate) async fn set_lock(
        self: &Arc<Self>,
        handle: FileHandle,
        lock: Lock,
        pid: Option<u32>,
    ) -> Result<()> {
        let open = self.files.get(handle)?;
        let inode = &open.opening.inode;
        if lock.kind == UNLOCK {
            return self.unlock(inode, lock).await;
        }
        let held = loop {
            let held = self.lock_file(handle, lock.owner).await?;
            take(&held, lock, pid).await?;
            let current = inode.state.lock().lock_files.get(&lock.owner).map(Arc::clone);
            if current.is_some_and(|current| Arc::ptr_eq(&current, &held)) {
                break held;
            }
            // Another thread of the owner got it an open file that can be written, or closed the file.
            held.file.unlock(lock.first..lock.end()).await.map_err(errno::of)?;
        };
        // Whoever had it before may have written.
        drop_what_is_old(self, inode).await.map_err(errno::of)?;
        if open.readable {
            tell_longer_end(self, inode, &open.file).await.map_err(errno::of)?;
        }
        // Whoever dropped the pages meanwhile has not told it the end.
        if open.appends {
            tell_end(self, inode, &held.file).await.map_err(errno::of)?;
        }
        Ok(())
    }

    async fn unlock(&self, inode: &Inode, lock: Lock) -> Result<()> {
        if !inode.state.lock().lock_files.contains_key(&lock.owner) {
            return Ok(());
        }
        // Whoever has it next must find what was written under it, through whichever open file that was.
        let flushed = inode.object.sync().await;
        let _gate = inode.lock_files_gate.lock().await;
        let held = inode.state.lock().lock_files.get(&lock.owner).map(Arc::clone);
        let unlocked = match held {
            Some(held) => held.file.unlock(lock.first..lock.end()).await,
            None => Ok(()),
        };
        unlocked.and(flushed).map_err(errno::of)
    }

    /// Gives up a lock that nobody waited for to the end. The owner may have given up everything before it
    /// came, so that its open file has nobody to close it.
    pub(crate) fn take_back_soon(self: &Arc<Self>, inode: &Arc<Inode>, lock: Lock) {
        if lock.kind == UNLOCK {
            return;
        }
        let inode = Arc::clone(inode);
        self.background.spawn(async move {
            let _gate = inode.lock_files_gate.lock().await;
            let Some(held) = inode.state.lock().lock_files.get(&lock.owner).map(Arc::clone) else { return };
            let mut outcome = held.file.unlock(lock.first..lock.end()).await;
            if held.file.held_locks().is_empty() {
                inode.state.lock().lock_files.remove(&lock.owner);
                outcome = outcome.and(held.file.clone().close().await);
            }
            if let Err(error) = outcome {
                tracing::warn!(%error, "giving up a lock");
            }
        });
    }

    /// The owner gives up everything: a process that closes any descriptor of a file has no locks on it any
    /// more.
    pub(crate) async fn unlock_all(&self, inode: &Inode, owner: u64) -> Result<()> {
        if !inode.state.lock().lock_files.contains_key(&owner) {
            return Ok(());
        }
        let flushed = inode.object.sync().await;
        let _gate = inode.lock_files_gate.lock().await;
        let held = inode.state.lock().lock_files.remove(&owner);
        let closed = match held {
            Some(held) => held.file.clone().close().await,
            None => Ok(()),
        };
        closed.and(flushed).map_err(errno::of)
    }

    /// An open file is released: all its locks are given up. The kernel names the owner of those of
    /// `flock`; it names none for those that belong to an open file (`F_OFD_SETLK`).
    pub(crate) async fn unlock_released(&self, inode: &Inode, handle: FileHandle, owner: Option<u64>) {
        let owners: Vec<u64> = {
            let state = inode.state.lock();
            let of_handle = state.lock_files.iter().filter(|(_, held)| held.handle == handle);
            of_handle.map(|(owner, _)| *owner).chain(owner).collect()
        };
        for owner in owners {
            if let Err(error) = self.unlock_all(inode, owner).await {
                tracing::warn!(?error, "giving up a lock");
            }
        }
    }

    /// The open file that stands for an owner of locks. One that can only be read is made anew for an owner
    /// who may write: NFSv4 grants exclusive locks to those alone.
    async fn lock_file(&self, handle: FileHandle, owner: u64) -> Result<Arc<LockFile>> {
        let open = self.files.get(handle)?;
        let inode = &open.opening.inode;
        let _gate = inode.lock_files_gate.lock().await;
        let before = inode.state.lock().lock_files.get(&owner).map(Arc::clone);
        if let Some(before) = &before
            && (before.writable || !open.writable)
        {
            return Ok(Arc::clone(before));
        }
        let held = Arc::new(open_for_locks(&open, handle).await?);
        inode.state.lock().lock_files.insert(owner, Arc::clone(&held));
        let Some(before) = before else { return Ok(held) };
        // From here on who is granted one with the file before sees that it is no longer the one.
        if let Err(error) = hand_over(&before, &held).await {
            inode.state.lock().lock_files.insert(owner, before);
            return Err(error);
        }
        // It is closed when the last thread that asks for a lock with it is done.
        before.file.unlock(..).await.map_err(errno::of)?;
        Ok(held)
    }
}

/// An open file for locks. Shared ones need one that can be read, which a file that is only written may be.
async fn open_for_locks(open: &OpenFile, handle: FileHandle) -> Result<LockFile> {
    let object = &open.opening.inode.object;
    let options = OpenOptions::new().read(true).write(open.writable);
    let writable = open.writable;
    match object.open(&options).await {
        Err(error) if !open.readable && error.raw_os_error() == Errno::EACCES.code() => {
            let file = object.open(&options.read(false)).await.map_err(errno::of)?;
            Ok(LockFile { file, writable, handle })
        }
        outcome => Ok(LockFile { file: outcome.map_err(errno::of)?, writable, handle }),
    }
}

/// Takes for `next` what `before` holds: it can only be read, so its locks are shared, and nobody comes
/// between.
async fn hand_over(before: &LockFile, next: &LockFile) -> Result<()> {
    for (range, kind) in before.file.held_locks() {
        next.file.try_lock(range, kind).await.map_err(errno::of)?;
    }
    Ok(())
}

/// Takes a lock; waits for it when `pid`, the process that wants it, is given.
async fn take(held: &LockFile, lock: Lock, pid: Option<u32>) -> Result<()> {
    let (range, kind) = (lock.first..lock.end(), kind(lock.kind)?);
    let Some(pid) = pid else { return held.file.try_lock(range, kind).await.map_err(errno::of) };
    tokio::select! {
        granted = held.file.lock(range, kind) => granted.map_err(errno::of),
        () = interrupted(pid) => Err(Errno::EINTR),
    }
}

fn kind(kind: i32) -> Result<LockKind> {
    match kind {
        READ => Ok(LockKind::Shared),
        WRITE => Ok(LockKind::Exclusive),
        _ => Err(Errno::EINVAL),
    }
}

/// Ends when a signal waits for the thread of that number, or it is gone.
async fn interrupted(thread: u32) {
    loop {
        tokio::time::sleep(LOOK).await;
        match std::fs::read_to_string(format!("/proc/{thread}/status")) {
            Ok(status) if !signal_waits(&status) => {}
            _ => return,
        }
    }
}

/// Whether a signal that is neither blocked nor ignored waits, by what `/proc` says of a thread.
fn signal_waits(status: &str) -> bool {
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
    };
    (set("SigPnd") | set("ShdPnd")) & !set("SigBlk") & !set("SigIgn") != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_signal_that_would_be_delivered_interrupts() {
        let status = |pending: &str, shared: &str, blocked: &str, ignored: &str| {
            signal_waits(&format!(
                "Name:\tx\nSigPnd:\t{pending}\nShdPnd:\t{shared}\nSigBlk:\t{blocked}\nSigIgn:\t{ignored}\n"
            ))
        };
        assert!(!status("0000000000000000", "0", "0", "0"));
        assert!(status("0000000000000100", "0", "0", "0"), "SIGKILL for the thread");
        assert!(status("0", "0000000000000002", "0", "0"), "SIGINT for the process");
        assert!(!status("0", "2", "2", "0") && !status("0", "2", "0", "2"));
    }

    #[test]
    fn a_lock_to_the_end_of_the_file_has_no_end() {
        let lock = |last| Lock { owner: 1, first: 5, last, kind: READ };
        assert_eq!((lock(9).end(), lock(END).end(), lock(u64::MAX).end()), (10, u64::MAX, u64::MAX));
    }
}
