//! What is open, by the numbers that the kernel has for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use client::File;
use fuser::{Errno, FileHandle};
use parking_lot::Mutex;

use crate::errno::Result;
use crate::inodes::Inode;

/// An open file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: File,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The kernel writes at what it takes for the end.
    pub(crate) appends: bool,
    /// The kernel keeps no pages of what is read and written by it.
    pub(crate) direct: bool,
    /// Counts among the opens of its object until it is dropped.
    pub(crate) opening: Opening,
}

/// A file that is open, or about to be.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) inode: Arc<Inode>,
}

impl Opening {
    pub(crate) fn begin(inode: &Arc<Inode>) -> Self {
        inode.state.lock().opens += 1;
        Self { inode: Arc::clone(inode) }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.inode.state.lock().opens -= 1;
    }
}

/// Things by numbers.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    open: Mutex<HashMap<u64, Arc<T>>>,
    next: AtomicU64,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self { open: Mutex::default(), next: AtomicU64::new(1) }
    }
}

impl<T> Handles<T> {
    pub(crate) fn insert(&self, thing: T) -> FileHandle {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.lock().insert(number, Arc::new(thing));
        FileHandle(number)
    }

    pub(crate) fn get(&self, handle: FileHandle) -> Result<Arc<T>> {
        self.open.lock().get(&handle.0).cloned().ok_or(Errno::EBADF)
    }

    pub(crate) fn remove(&self, handle: FileHandle) -> Option<Arc<T>> {
        self.open.lock().remove(&handle.0)
    }
}
