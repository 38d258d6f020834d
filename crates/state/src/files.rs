//! Files by their keys, in shards that are locked one at a time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::client::{Client, StateKind};
use crate::file::FileState;
use crate::{FileId, Now};
use proto::nfs4::StateOther;

const SHARDS: usize = 64;

#[derive(Debug)]
pub(crate) struct Files {
    shards: Vec<Shard>,
    boot: u32,
    next: AtomicU64,
    pub(crate) grants: AtomicUsize,
    /// Moves on when a write delegation ends, before it can be seen that nobody holds it.
    pub(crate) write_delegations_ended: AtomicU64,
    /// Moves on when a file loses a name or its keeper.
    pub(crate) removals: AtomicU64,
    /// Files with a keeper.
    pub(crate) kept: AtomicUsize,
}

#[derive(Debug, Default)]
pub(crate) struct Shard {
    /// Boxed, for a node of the map has room for eleven.
    pub(crate) files: Mutex<BTreeMap<FileId, Box<FileState>>>,
    /// Changes under way by callers without an open: while there are any, nothing in the shard is granted.
    pub(crate) changing: AtomicUsize,
    /// Grants in the shard.
    pub(crate) granted: AtomicUsize,
}

impl Files {
    pub(crate) fn new(boot: u32) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            boot,
            next: AtomicU64::new(1),
            grants: AtomicUsize::new(0),
            write_delegations_ended: AtomicU64::new(0),
            removals: AtomicU64::new(0),
            kept: AtomicUsize::new(0),
        }
    }

    pub(crate) fn shard(&self, file: FileId) -> &Shard {
        let mixed = (file.0 ^ file.1.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.shards[(mixed >> 58) as usize % SHARDS]
    }

    pub(crate) fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter()
    }

    /// A new `other` part of a stateid: the incarnation and a number that is never used again.
    pub(crate) fn next_other(&self) -> StateOther {
        let mut other = [0; 12];
        other[..4].copy_from_slice(&self.boot.to_be_bytes());
        other[4..].copy_from_slice(&self.next.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        StateOther(other)
    }

    /// Works on a file; what is idle afterwards is forgotten, but for the memory of a recent recall. What
    /// kept a file that nobody has open any more goes after the lock.
    pub(crate) fn with<R>(&self, file: FileId, work: impl FnOnce(&mut FileState, &Shard) -> R) -> R {
        let shard = self.shard(file);
        let mut files = shard.files.lock();
        let state = files.entry(file).or_default();
        let result = work(state, shard);
        let unused = if state.has_holders() { None } else { state.keeper.take() };
        if unused.is_some() {
            self.kept.fetch_sub(1, Ordering::SeqCst);
            // Who has found the file before, and opens it now, must keep it anew.
            self.removals.fetch_add(1, Ordering::SeqCst);
        }
        if state.is_idle() && state.recalled.is_none() {
            files.remove(&file);
        }
        drop(files);
        drop(unused);
        result
    }

    /// Removes everything that a client holds: the shard of a file is locked for a piece at a time.
    pub(crate) fn discard_states(&self, client: &Client) {
        for (other, (file, kind)) in client.take_states() {
            while !self.discard_some(client, file, kind, &other) {}
        }
    }

    /// Removes a piece of some state; true when nothing of it is left.
    pub(crate) fn discard_some(
        &self,
        client: &Client,
        file: FileId,
        kind: StateKind,
        other: &StateOther,
    ) -> bool {
        self.with(file, |state, shard| match kind {
            StateKind::Open => {
                state.opens.remove(other);
                true
            }
            StateKind::Lock => {
                let before = state.locks.ranges().len();
                let is_done = state.locks.remove_some(other);
                client.change_ranges(before, state.locks.ranges().len());
                is_done
            }
            StateKind::Grant(_) => {
                self.drop_grant(state, shard, other);
                true
            }
        })
    }

    /// Forgets recalls that are longer ago than `pause_ms`.
    pub(crate) fn forget_recalls(&self, now: Now, pause_ms: u64) {
        for shard in &self.shards {
            shard.files.lock().retain(|_, state| {
                if state.recalled.is_some_and(|recalled| now.since_ms(recalled) > pause_ms) {
                    state.recalled = None;
                }
                !state.is_idle() || state.recalled.is_some()
            });
        }
    }
}
