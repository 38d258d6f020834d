//! Putting changes on disk, with one fsync for all who ask at the same time.
//!
//! Whoever asks while an fsync of the same object runs waits for the next one, since the running one may have
//! passed the change already; all who wait share it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{fdatasync, fsync, syncfs};
use rustix::io::Errno;

use super::Export;
use super::object::{Object, Purpose};
use super::pool::{Answer, Task, channel};
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

/// Calls of `syncfs`, one after the other. The kernel tells a descriptor once that something could not be written: those who have
/// waited meanwhile learn it from here.
#[derive(Default)]
pub(super) struct WholeSyncs {
    turn: Mutex<()>,
    failures: AtomicU64,
}

impl Export {
    /// Puts `object` on disk; begins at once, whether the task is polled or not.
    pub(super) fn sync(self: &Arc<Self>, object: &Arc<Object>, depth: Depth) -> Task<()> {
        let (answer, task) = channel();
        self.sync_for(object, depth, answer);
        task
    }

    /// As [`Export::sync`], for who has a task already.
    pub(super) fn sync_for(self: &Arc<Self>, object: &Arc<Object>, depth: Depth, answer: Answer<()>) {
        let (object, depth) =
            if object.is_bare() { (&self.root, Depth::FileSystem) } else { (object, depth) };
        let start = {
            let mut state = object.syncs.0.lock();
            state.waiting.push((depth, answer));
            !std::mem::replace(&mut state.running, true)
        };
        if start {
            let (export, object) = (self.clone(), object.clone());
            self.syncs_running.fetch_add(1, Relaxed);
            self.pool.execute(move || {
                export.run_syncs(&object);
                export.syncs_running.fetch_sub(1, Relaxed);
            });
        }
    }

    /// One fsync after the other until nobody waits.
    fn run_syncs(&self, object: &Arc<Object>) {
        loop {
            let waiting = {
                let mut state = object.syncs.0.lock();
                let waiting = std::mem::take(&mut state.waiting);
                state.running = !waiting.is_empty();
                waiting
            };
            let Some(depth) = waiting.iter().map(|(depth, _)| *depth).max() else { return };
            let begun = Instant::now();
            let result = self.sync_now(object, depth);
            self.note_duration(begun.elapsed());
            if result.is_err() {
                self.renew_verifier();
            }
            for (_, answer) in waiting {
                answer.send(result.map_err(Into::into));
            }
        }
    }

    fn sync_now(&self, object: &Arc<Object>, depth: Depth) -> rustix::io::Result<()> {
        if depth == Depth::FileSystem {
            return self.sync_everything();
        }
        let result = match self.sync_descriptor(object) {
            Some(fd) if depth == Depth::Data => fdatasync(fd.as_fd()),
            Some(fd) => fsync(fd.as_fd()),
            None => Err(Errno::INVAL),
        };
        match result {
            // One that we may not open, or a file system that syncs no directories.
            Err(Errno::INVAL) => self.sync_everything(),
            result => result,
        }
    }

    /// Puts the whole file system on disk.
    pub(super) fn sync_everything(&self) -> rustix::io::Result<()> {
        let failures = self.whole_syncs.failures.load(SeqCst);
        let _turn = self.whole_syncs.turn.lock();
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
        // ext4 without a journal writes blocks of directories and of inodes behind the flush of the disk's own cache. This flushes
        // it again.
        fsync(root.as_fd())
    }

    /// The mean of the last few, about.
    fn note_duration(&self, duration: Duration) {
        let (before, now) = (self.sync_ns.load(Relaxed), duration.as_nanos() as u64);
        // Of two that end at once one may go uncounted.
        self.sync_ns.store(if before == 0 { now } else { before - before / 8 + now / 8 }, Relaxed);
    }

    fn sync_descriptor(&self, object: &Arc<Object>) -> Option<Arc<OwnedFd>> {
        let open = object.descriptor(Purpose::Write).or_else(|| object.descriptor(Purpose::Read));
        open.or_else(|| self.data_descriptor(object, Purpose::Read).ok())
    }

    /// Makes clients send their unstable writes again: some may be lost (RFC 1813 §3.3.7).
    pub(super) fn renew_verifier(&self) {
        let fresh = random().map_or_else(|_| self.verifier.load(Relaxed).wrapping_add(1), u64::from_ne_bytes);
        self.verifier.store(fresh, Relaxed);
    }
}
