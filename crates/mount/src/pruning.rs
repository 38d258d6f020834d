//! A bound for what the mount remembers of objects.
//!
//! The kernel counts every object that it was told of, and forgets them only when the machine's memory runs
//! short. Each takes some hundred bytes here, and keeps what the client knows of it. So beyond a number of
//! objects the mount has the kernel drop names of files: it then forgets those that no program uses.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fuser::INodeNo;

use crate::tree::Tree;

/// How many more names than needed the kernel drops at a time, at most.
const NAMES_PER_ROUND: usize = 1024;

/// When names are dropped next.
#[derive(Debug)]
pub(crate) struct Pruning {
    inodes_max: usize,
    /// Beyond so many objects: where many cannot be dropped, every lookup would look for some that can.
    next: AtomicUsize,
    under_way: AtomicBool,
}

impl Pruning {
    pub(crate) fn new(inodes_max: usize) -> Self {
        Self { inodes_max, next: AtomicUsize::new(inodes_max), under_way: AtomicBool::new(false) }
    }

    fn round(&self) -> usize {
        (self.inodes_max / 4).clamp(1, NAMES_PER_ROUND)
    }
}

impl Tree {
    /// Has the kernel drop some names when it knows of too many objects. The names that it asks for again
    /// cost no request while the client remembers them.
    pub(crate) fn prune_soon(self: &Arc<Self>) {
        let pruning = &self.pruning;
        let count = self.inodes.count();
        if count <= pruning.next.load(Ordering::Relaxed) || pruning.under_way.swap(true, Ordering::Relaxed) {
            return;
        }
        let tree = Arc::clone(self);
        // The kernel may hold the lock of a directory for a request of ours.
        self.runtime.spawn_blocking(move || {
            tree.prune();
            // The kernel sends FORGET later.
            let next = tree.inodes.count().max(tree.pruning.inodes_max);
            tree.pruning.next.store(next + tree.pruning.round(), Ordering::Relaxed);
            tree.pruning.under_way.store(false, Ordering::Relaxed);
        });
    }

    fn prune(&self) {
        let Some(notifier) = self.notifier.get() else { return };
        let excess = self.inodes.count().saturating_sub(self.pruning.inodes_max);
        for (parent, name) in self.inodes.take_unused_names(excess + self.pruning.round()) {
            if let Err(error) = notifier.inval_entry(INodeNo(parent), OsStr::from_bytes(&name))
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::debug!(%error, "having the kernel drop a name");
            }
        }
    }
}
