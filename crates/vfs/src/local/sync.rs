//! Putting changes on disk, with one fsync for all who ask at the same time.
//!
//! Whoever asks while an fsync of the same object runs waits for the next one, since the running one may have
//! passed the change already; all who wait share it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use parking_lot::Mutex;
use rustix::fs::{fdatasync, fsync, syncfs};
use rustix::io::Errno;

use super::Export;
use super::journal::Order;
use super::object::{Object, Purpose};
use super::pool::{Answer, Task, channel};
use crate::Line;
use crate::seal::random;

/// How much to put on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// The data and what is needed to read it back (`fdatasync`).
    Data,
    /// Everything (`fsync`).
    All,
    /// That of all objects, which is asked of the root (`syncfs`).
    FileSystem,
}

/// Who waits for the next fsync of an object.
#[derive(Default)]
pub(super) struct SyncGroup(Mutex<State>);

#[derive(Default)]
struct State {
    running: bool,
    waiting: Vec<(Depth, Answer<()>)>,
}

impl SyncGroup {
    /// Waits among the others; true for who has to see to it that there is an fsync.
    fn join(&self, depth: Depth) -> (Task<()>, bool) {
        let (answer, task) = channel();
        let mut state = self.0.lock();
        state.waiting.push((depth, answer));
        (task, !std::mem::replace(&mut state.running, true))
    }

    /// True while somebody waits. Otherwise the next who comes has to see to it.
    fn go_on(&self) -> bool {
        let mut state = self.0.lock();
        state.running = !state.waiting.is_empty();
        state.running
    }

    fn take(&self) -> Vec<(Depth, Answer<()>)> {
        std::mem::take(&mut self.0.lock().waiting)
    }
}

/// Calls of `syncfs`, one after the other. The kernel tells a descriptor once that something could not be
/// written: those who have waited meanwhile learn it from here.
#[derive(Default)]
pub(super) struct WholeSyncs {
    turn: Mutex<()>,
    failures: AtomicU64,
}

impl Export {
    /// Puts `object` on disk; begins at once, whether the task is polled or not. Where the caller may wait,
    /// and no other sync of the object runs, that is over when this returns.
    pub(super) fn sync(self: &Arc<Self>, line: Line<'_>, object: &Arc<Object>, depth: Depth) -> Task<()> {
        let (object, depth) = self.synced_with(object, depth);
        let (task, starts) = object.syncs.join(depth);
        if starts {
            let here = self.wait_here(line, || self.sync_once(object));
            // Who came meanwhile has not the caller wait.
            if here.is_err() || object.syncs.go_on() {
                self.have_synced(line, object);
            }
        }
        task
    }

    /// Puts a change of the names or the attributes of `object` on disk, as [`Export::sync`] does.
    pub(super) fn sync_change(self: &Arc<Self>, line: Line<'_>, object: &Arc<Object>) -> Task<()> {
        let (object, depth) = self.changed_with(object);
        self.sync(line, object, depth)
    }

    /// As [`Export::sync_change`], for who has something else done at the same time: this is the pool's to
    /// wait for.
    pub(super) fn sync_change_beside(self: &Arc<Self>, line: Line<'_>, object: &Arc<Object>) -> Task<()> {
        let (object, depth) = self.changed_with(object);
        let (object, depth) = self.synced_with(object, depth);
        let (task, starts) = object.syncs.join(depth);
        if starts {
            self.have_synced(line, object);
        }
        task
    }

    fn changed_with<'a>(&'a self, object: &'a Arc<Object>) -> (&'a Arc<Object>, Depth) {
        match self.order {
            Order::AllAtOnce => (&self.root, Depth::FileSystem),
            _ => (object, Depth::All),
        }
    }

    fn synced_with<'a>(&'a self, object: &'a Arc<Object>, depth: Depth) -> (&'a Arc<Object>, Depth) {
        if object.is_bare() { (&self.root, Depth::FileSystem) } else { (object, depth) }
    }

    /// Has the pool sync until nobody waits.
    fn have_synced(self: &Arc<Self>, line: Line<'_>, object: &Arc<Object>) {
        let (export, object) = (self.clone(), object.clone());
        self.pool.execute(line.number, move || {
            while object.syncs.go_on() {
                export.sync_once(&object);
            }
        });
    }

    /// One fsync for all who wait.
    fn sync_once(&self, object: &Arc<Object>) {
        let waiting = object.syncs.take();
        let Some(depth) = waiting.iter().map(|(depth, _)| *depth).max() else { return };
        let result = self.sync_now(object, depth);
        if result.is_err() {
            self.renew_verifier();
        }
        for (_, answer) in waiting {
            answer.send(result.map_err(Into::into));
        }
    }

    fn sync_now(&self, object: &Arc<Object>, depth: Depth) -> rustix::io::Result<()> {
        if depth == Depth::FileSystem {
            return self.sync_everything();
        }
        match self.sync_alone(object, depth) {
            // One that we may not open, or a file system that syncs no directories.
            Err(Errno::INVAL) => self.sync_everything(),
            result => result,
        }
    }

    fn sync_alone(&self, object: &Arc<Object>, depth: Depth) -> rustix::io::Result<()> {
        let fd = self.sync_descriptor(object).ok_or(Errno::INVAL)?;
        let without_journal = self.order == Order::AllAtOnce;
        let _beside = without_journal.then(|| self.health.syncs.read());
        match depth {
            // Without a journal it leaves the length out.
            Depth::Data if !without_journal => fdatasync(fd.as_fd()),
            _ => fsync(fd.as_fd()),
        }
    }

    /// Puts the whole file system on disk.
    fn sync_everything(&self) -> rustix::io::Result<()> {
        let failures = self.whole_syncs.failures.load(SeqCst);
        let _turn = self.whole_syncs.turn.lock();
        let _alone = (self.order == Order::AllAtOnce).then(|| self.health.syncs.write());
        let result = self.sync_everything_now();
        if result.is_err() {
            self.whole_syncs.failures.fetch_add(1, SeqCst);
        } else if self.whole_syncs.failures.load(SeqCst) != failures {
            return Err(Errno::IO);
        }
        result
    }

    fn sync_everything_now(&self) -> rustix::io::Result<()> {
        let root = self.root.descriptor(Purpose::Read).ok_or(Errno::BADF)?;
        syncfs(root.as_fd())?;
        // ext4 without a journal writes blocks of directories and of inodes behind the flush of the disk's
        // own cache. This flushes it again.
        fsync(root.as_fd())
    }

    fn sync_descriptor(&self, object: &Arc<Object>) -> Option<Arc<OwnedFd>> {
        let open = object.descriptor(Purpose::Write).or_else(|| object.descriptor(Purpose::Read));
        open.or_else(|| self.data_descriptor(object, Purpose::Read).ok())
    }

    /// Makes clients send their unstable writes again: some may be lost (RFC 1813 §3.3.7).
    fn renew_verifier(&self) {
        let fresh = random().map_or_else(|_| self.verifier.load(Relaxed).wrapping_add(1), u64::from_ne_bytes);
        self.verifier.store(fresh, Relaxed);
    }
}
