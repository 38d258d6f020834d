//! Finds inodes by file id. Sharded, so that requests for different objects do not meet.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use parking_lot::RwLock;

use super::ROOT_FILEID;
use super::inode::Inode;

const SHARDS: usize = 16;

/// All inodes that have a name or are held.
pub(super) struct Table {
    shards: [RwLock<HashMap<u64, Slot>>; SHARDS],
    next_fileid: AtomicU64,
}

enum Slot {
    /// Has a name, so the table keeps it alive.
    Linked(Arc<Inode>),
    /// Lives as long as somebody holds it.
    Unlinked(Weak<Inode>),
}

impl Table {
    pub(super) fn new() -> Self {
        Self { shards: Default::default(), next_fileid: AtomicU64::new(ROOT_FILEID + 1) }
    }

    /// A file id that no object had before.
    pub(super) fn new_fileid(&self) -> u64 {
        self.next_fileid.fetch_add(1, Relaxed)
    }

    pub(super) fn get(&self, fileid: u64) -> Option<Arc<Inode>> {
        match self.shard(fileid).read().get(&fileid)? {
            Slot::Linked(inode) => Some(inode.clone()),
            Slot::Unlinked(inode) => inode.upgrade(),
        }
    }

    pub(super) fn insert(&self, inode: Arc<Inode>) {
        self.shard(inode.fileid).write().insert(inode.fileid, Slot::Linked(inode));
    }

    /// Lets go of an inode that has lost its last name.
    pub(super) fn unlink(&self, inode: &Arc<Inode>) {
        let slot = Slot::Unlinked(Arc::downgrade(inode));
        // `inode` keeps the value alive, so nothing is dropped under the lock.
        self.shard(inode.fileid).write().insert(inode.fileid, slot);
    }

    /// Forgets an inode that nobody holds any more.
    pub(super) fn forget(&self, fileid: u64) {
        self.shard(fileid).write().remove(&fileid);
    }

    fn shard(&self, fileid: u64) -> &RwLock<HashMap<u64, Slot>> {
        &self.shards[fileid as usize % SHARDS]
    }
}
