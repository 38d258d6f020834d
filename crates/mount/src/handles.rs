//! What is open, by the numbers that the kernel has for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use client::File;
use fuser::{Errno, FileHandle};
use parking_lot::Mutex;

use crate::background::Background;
use crate::errno::Result;
use crate::hidden::remove_hidden;
use crate::inodes::Inode;
use crate::mapped::Mappable;

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
    /// Held by all who change the file by it, alone by who closes it: what goes on for somebody who was
    /// killed is done by then.
    pub(crate) closing_gate: tokio::sync::RwLock<()>,
    /// Set where programs may map it to store into it.
    pub(crate) _mappable: Option<Mappable>,
    /// Counts among the opens of its object until it is dropped.
    pub(crate) opening: Opening,
}

/// A part in a file that is open, or about to be. Whose part is the last removes the name by which the file
/// was kept.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) inode: Arc<Inode>,
    background: Arc<Background>,
}

impl Opening {
    pub(crate) fn begin(background: &Arc<Background>, inode: &Arc<Inode>) -> Self {
        inode.state.lock().opens += 1;
        Self { inode: Arc::clone(inode), background: Arc::clone(background) }
    }

    /// A part in a file that others have open and that has a name of its users. `None` otherwise.
    pub(crate) fn join(background: &Arc<Background>, inode: &Arc<Inode>) -> Option<Self> {
        let mut state = inode.state.lock();
        if state.opens == 0 || state.hidden.is_some() {
            return None;
        }
        state.opens += 1;
        Some(Self { inode: Arc::clone(inode), background: Arc::clone(background) })
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let left = {
            let mut state = self.inode.state.lock();
            state.opens -= 1;
            state.opens == 0 && state.hidden.is_some()
        };
        if left {
            let inode = Arc::clone(&self.inode);
            self.background.spawn(async move { remove_hidden(&inode).await });
        }
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

    /// All that are open.
    pub(crate) fn numbers(&self) -> Vec<FileHandle> {
        self.open.lock().keys().copied().map(FileHandle).collect()
    }

    pub(crate) fn remove(&self, handle: FileHandle) -> Option<Arc<T>> {
        self.open.lock().remove(&handle.0)
    }
}
