//! Where inodes were last seen: hints for finding them again without the kernel's handles.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::object::Object;
use super::persistent::Persistent;
use super::pool::Answer;
use std::sync::Arc;

const SHARDS: usize = 16;
/// How many inodes are remembered as gone.
const GONE_MAX: usize = 65_536;
/// How long an inode that a walk did not find counts as gone. Bounds how often stale handles make us walk.
const GONE_FOR: Duration = Duration::from_secs(10);

/// Hints by file id, and who waits for a walk.
pub(super) struct Index {
    shards: [Mutex<HashMap<u64, Hint>>; SHARDS],
    shard_max: usize,
    gone: Mutex<HashMap<Persistent, Instant>>,
    pub(super) walks: Mutex<Walks>,
}

/// The directory and name under which an inode was last seen.
#[derive(Clone)]
pub(super) struct Hint {
    pub(super) parent: u64,
    pub(super) name: Box<[u8]>,
}

/// Who waits for the next walk.
#[derive(Default)]
pub(super) struct Walks {
    pub(super) running: bool,
    pub(super) waiting: Vec<(Persistent, Answer<Option<Arc<Object>>>)>,
}

impl Index {
    /// Remembers about `hints_max` inodes.
    pub(super) fn new(hints_max: usize) -> Self {
        Self {
            shards: Default::default(),
            shard_max: (hints_max / SHARDS).max(1),
            gone: Mutex::default(),
            walks: Mutex::default(),
        }
    }

    pub(super) fn hint(&self, fileid: u64) -> Option<Hint> {
        self.shard(fileid).lock().get(&fileid).cloned()
    }

    pub(super) fn note(&self, fileid: u64, parent: u64, name: &[u8]) {
        let mut hints = self.shard(fileid).lock();
        if let Some(hint) = hints.get_mut(&fileid) {
            if hint.parent != parent || *hint.name != *name {
                *hint = Hint { parent, name: name.into() };
            }
            return;
        }
        // Any hint may go: a walk finds the inode again.
        if hints.len() >= self.shard_max
            && let Some(other) = hints.keys().next().copied()
        {
            hints.remove(&other);
        }
        hints.insert(fileid, Hint { parent, name: name.into() });
    }

    pub(super) fn is_gone(&self, id: &Persistent) -> bool {
        self.gone.lock().get(id).is_some_and(|since| since.elapsed() < GONE_FOR)
    }

    /// Remembers that a walk did not find these.
    pub(super) fn note_gone(&self, ids: &HashSet<Persistent>) {
        let mut gone = self.gone.lock();
        if gone.len() + ids.len() > GONE_MAX {
            gone.clear();
        }
        let now = Instant::now();
        gone.extend(ids.iter().take(GONE_MAX).map(|id| (*id, now)));
    }

    fn shard(&self, fileid: u64) -> &Mutex<HashMap<u64, Hint>> {
        &self.shards[(fileid % SHARDS as u64) as usize]
    }
}
