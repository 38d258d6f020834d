//! Files that were removed behind the server's back while the cache has them open: the kernel frees their
//! space once nothing has them open any more.
//!
//! A sweep every second looks at a part of what is open, and closes what has no name, and what was not used
//! for a minute. When the disk is full, the request that found it so sweeps everything and tries once more.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use super::cache::{Cache, SHARDS};
use super::object::{Object, Purpose};
use super::pool::HOUSEKEEPING;
use super::{Export, Local, stat};
use crate::{Error, Result};

/// A sweep ends with the shard in which it has looked at this many objects: more wait for the next sweep.
const LOOKS_MAX: usize = 4096;
/// An object that was not used between two looks this far apart is closed.
const IDLE_SECONDS: u64 = 60;

/// When it was swept.
pub(super) struct Sweeps {
    begun: Instant,
    is_running: AtomicBool,
    /// The shard that is next.
    next: AtomicUsize,
    /// This round through the shards closes what is idle.
    is_for_idle: AtomicBool,
    /// Seconds since `begun`: of the last round that closed what is idle, and of the last sweep of a full
    /// disk.
    looked_for_idle: AtomicU64,
    freed: AtomicU64,
}

impl Default for Sweeps {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            is_running: AtomicBool::new(false),
            next: AtomicUsize::new(0),
            is_for_idle: AtomicBool::new(false),
            looked_for_idle: AtomicU64::new(0),
            freed: AtomicU64::new(0),
        }
    }
}

impl Sweeps {
    /// Seconds since the first second, which is number 1.
    fn now(&self) -> u64 {
        self.begun.elapsed().as_secs() + 1
    }
}

impl Local {
    /// Closes files that were removed on this machine and files that were not used for a while, on another
    /// thread.
    pub(super) fn begin_sweep(&self) {
        // A file system that hangs is swept when it answers again.
        if self.export.health.is_slow() || self.export.sweeps.is_running.swap(true, Relaxed) {
            return;
        }
        let export = Arc::clone(&self.export);
        self.export.pool.execute(HOUSEKEEPING, move || {
            export.sweep();
            export.sweeps.is_running.store(false, Relaxed);
        });
    }
}

impl Export {
    fn sweep(&self) {
        let sweeps = &self.sweeps;
        let first = sweeps.next.load(Relaxed);
        if first == 0 {
            let is_due = sweeps.now() >= sweeps.looked_for_idle.load(Relaxed) + IDLE_SECONDS;
            sweeps.is_for_idle.store(is_due, Relaxed);
            if is_due {
                sweeps.looked_for_idle.store(sweeps.now(), Relaxed);
            }
        }
        let (mut looks, mut next) = (0, first);
        while looks < LOOKS_MAX && next < SHARDS {
            looks += self.cache.sweep(next, sweeps.is_for_idle.load(Relaxed)).looks;
            next += 1;
        }
        sweeps.next.store(next % SHARDS, Relaxed);
    }

    /// Runs `operation`, and once more when the disk is full and files that were removed could be closed.
    pub(super) fn with_room<T>(&self, mut operation: impl FnMut() -> Result<T>) -> Result<T> {
        match operation() {
            Err(Error::NoSpace | Error::QuotaExceeded) if self.close_removed() => operation(),
            result => result,
        }
    }

    /// Closes all files that were removed and are not in use; true when there were any. Looks once a second
    /// at most.
    fn close_removed(&self) -> bool {
        let now = self.sweeps.now();
        if self.sweeps.freed.swap(now, Relaxed) == now {
            return false;
        }
        (0..SHARDS).map(|shard| self.cache.sweep(shard, false).removed).sum::<usize>() > 0
    }
}

/// The result of a sweep of a shard.
#[derive(Default)]
pub(super) struct Swept {
    looks: usize,
    /// Objects without a name that were closed.
    removed: usize,
}

impl Cache {
    /// Closes the objects of a shard that nothing holds and that have no name, or, `is_for_idle`, were not
    /// used since the last such sweep.
    fn sweep(&self, shard: usize, is_for_idle: bool) -> Swept {
        let objects = self.kept(shard);
        let mut swept = Swept { looks: objects.len(), removed: 0 };
        for object in objects {
            let is_nameless = is_nameless(&object);
            let is_idle = is_for_idle && !object.used.swap(false, Relaxed);
            let is_closed = (is_nameless || is_idle) && self.close_idle(object);
            swept.removed += usize::from(is_closed && is_nameless);
        }
        swept
    }
}

fn is_nameless(object: &Object) -> bool {
    let fd = object.descriptor(Purpose::Path);
    fd.is_some_and(|fd| stat::stat(fd.as_fd()).is_ok_and(|stat| stat.stx_nlink == 0))
}
