//! Putting changes on disk, with one fsync for all who ask at the same time.
//!
//! Whoever asks while an fsync of the same object runs waits for the next one, since the running one may have
//! passed the change already; all who wait share it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;
use rustix::fs::{fdatasync, fsync, syncfs};
use rustix::io::Errno;

use super::Export;
use super::object::{Object, Purpose};
use super::pool::{Answer, Task, channel};
use crate::FileKind;
use crate::seal::random;

/// How much to put on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// The data and what is needed to read it back (`fdatasync`).
    Data,
    /// Everything (`fsync`).
    All,
}

/// Who waits for the next fsync of an object.
#[derive(Default)]
pub(super) struct SyncGroup(Mutex<State>);

#[derive(Default)]
struct State {
    running: bool,
    waiting: Vec<(Depth, Answer<()>)>,
}

impl Export {
    /// Puts `object` on disk; begins at once, whether the task is polled or not.
    pub(super) fn sync(self: &Arc<Self>, object: &Arc<Object>, depth: Depth) -> Task<()> {
        let (answer, task) = channel();
        let start = {
            let mut state = object.syncs.0.lock();
            state.waiting.push((depth, answer));
            !std::mem::replace(&mut state.running, true)
        };
        if start {
            let (export, object) = (self.clone(), object.clone());
            self.pool.execute(move || export.run_syncs(&object));
        }
        task
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
            let result = self.sync_now(object, depth);
            if result.is_err() {
                self.renew_verifier();
            }
            for (_, answer) in waiting {
                answer.send(result.map_err(Into::into));
            }
        }
    }

    fn sync_now(&self, object: &Arc<Object>, depth: Depth) -> rustix::io::Result<()> {
        let result = match self.sync_descriptor(object) {
            Some(fd) if depth == Depth::Data => fdatasync(fd.as_fd()),
            Some(fd) => fsync(fd.as_fd()),
            None => Err(Errno::INVAL),
        };
        match result {
            // Neither file nor directory, one that we may not open, or a file system that syncs no directories:
            // the whole file system then.
            Err(Errno::INVAL) => {
                self.root.descriptor(Purpose::Read).map_or(Err(Errno::BADF), |root| syncfs(root.as_fd()))
            }
            result => result,
        }
    }

    fn sync_descriptor(&self, object: &Arc<Object>) -> Option<Arc<OwnedFd>> {
        if !matches!(object.kind, FileKind::Regular | FileKind::Directory) {
            return None;
        }
        let open = object.descriptor(Purpose::Write).or_else(|| object.descriptor(Purpose::Read));
        open.or_else(|| self.data_descriptor(object, Purpose::Read).ok())
    }

    /// Makes clients send their unstable writes again: some may be lost (RFC 1813 §3.3.7).
    fn renew_verifier(&self) {
        let fresh = random().map_or_else(|_| self.verifier.load(Relaxed).wrapping_add(1), u64::from_ne_bytes);
        self.verifier.store(fresh, Relaxed);
    }
}
