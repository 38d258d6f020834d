//! Clients that poll for a byte-range lock, told when it may be free: CB_NOTIFY_LOCK (RFC 8881 §9.6, §20.11).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{CallbackOperation, CbNotifyLockArgs, ClientId, FileHandle, StateOwner};
use state::{FileId, LockError, LockOwner, Now, Range};
use vfs::Handle;

use super::Recaller;

/// Waiters of one file that are told; the others find out by polling.
const WAITERS_PER_FILE_MAX: usize = 1024;
/// Waiters of all files.
const WAITERS_MAX: usize = 65_536;
/// How long a client may not have asked again before it is taken to have given up: the Linux client polls every 30 s.
const PATIENCE_MS: u64 = 60_000;

/// A lock-owner that asked for a range and was denied it.
#[derive(Debug, Clone)]
pub(crate) struct Waiter {
    /// Whose.
    pub(crate) client: ClientId,
    /// The lock-owner.
    pub(crate) owner: Bytes,
    /// How the client knows the file.
    pub(crate) handle: Handle,
    /// Where.
    pub(crate) range: Range,
    /// How.
    pub(crate) exclusive: bool,
    /// When it asked last.
    pub(crate) asked: Now,
}

impl Waiter {
    fn is(&self, client: ClientId, owner: &Bytes) -> bool {
        self.client == client && self.owner == *owner
    }

    fn lock_owner(&self) -> LockOwner {
        LockOwner::Nfs4 { client: self.client, owner: self.owner.clone() }
    }
}

/// In the order in which they came.
#[derive(Debug, Default)]
pub(super) struct LockWaiters {
    count: AtomicUsize,
    by_file: Mutex<BTreeMap<FileId, Vec<Waiter>>>,
}

impl LockWaiters {
    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    fn add(&self, file: FileId, waiter: Waiter) {
        let mut by_file = self.by_file.lock();
        let waiters = by_file.entry(file).or_default();
        if let Some(known) = waiters.iter_mut().find(|known| known.is(waiter.client, &waiter.owner)) {
            // Keeps its place.
            *known = waiter;
        } else if waiters.len() < WAITERS_PER_FILE_MAX && self.count.load(Ordering::Relaxed) < WAITERS_MAX {
            waiters.push(waiter);
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn retain(&self, file: FileId, mut keep: impl FnMut(&Waiter) -> bool) {
        let mut by_file = self.by_file.lock();
        let Some(waiters) = by_file.get_mut(&file) else { return };
        let before = waiters.len();
        waiters.retain(|waiter| keep(waiter));
        self.count.fetch_sub(before - waiters.len(), Ordering::Relaxed);
        if waiters.is_empty() {
            by_file.remove(&file);
        }
    }

    fn of(&self, file: FileId) -> Vec<Waiter> {
        self.by_file.lock().get(&file).cloned().unwrap_or_default()
    }

    fn files(&self) -> Vec<FileId> {
        self.by_file.lock().keys().copied().collect()
    }
}

impl Recaller {
    /// Notes who waits for a lock.
    pub(crate) fn wait_for_lock(&self, file: FileId, waiter: Waiter) {
        self.inner.lock_waiters.add(file, waiter);
        // What was in the way may have gone before the waiter was noted.
        self.locks_released(file);
    }

    /// True when anybody waits for a lock.
    pub(crate) fn has_lock_waiters(&self) -> bool {
        !self.inner.lock_waiters.is_empty()
    }

    /// A lock-owner has got a lock: it waits no more.
    pub(crate) fn waits_no_more(&self, file: FileId, client: ClientId, owner: &Bytes) {
        self.inner.lock_waiters.retain(file, |waiter| !waiter.is(client, owner));
    }

    /// Locks of a file may have gone: tells who waited longest, and whoever can have a lock beside it.
    pub(crate) fn locks_released(&self, file: FileId) {
        if !self.has_lock_waiters() {
            return;
        }
        let mut told: Vec<Waiter> = Vec::new();
        for waiter in self.inner.lock_waiters.of(file) {
            let in_the_way =
                |other: &Waiter| (waiter.exclusive || other.exclusive) && waiter.range.overlaps(&other.range);
            if !told.iter().any(in_the_way) && self.is_free_for(file, &waiter) {
                self.notify(waiter.clone());
                told.push(waiter);
            }
        }
    }

    /// Forgets who has given up, and tells all others whose lock is free by now: those told before may not want it.
    pub(super) fn notify_lock_waiters(&self, now: Now) {
        if !self.has_lock_waiters() {
            return;
        }
        for file in self.inner.lock_waiters.files() {
            self.inner.lock_waiters.retain(file, |waiter| now.since_ms(waiter.asked) < PATIENCE_MS);
            for waiter in self.inner.lock_waiters.of(file) {
                if self.is_free_for(file, &waiter) {
                    self.notify(waiter);
                }
            }
        }
    }

    fn is_free_for(&self, file: FileId, waiter: &Waiter) -> bool {
        let wanted = (waiter.range, waiter.exclusive);
        let tested = self.state().test_lock(file, &waiter.lock_owner(), wanted, self.now());
        // A silent client's lock is as good as free.
        !matches!(tested, Err(LockError::Denied(_)))
    }

    fn notify(&self, waiter: Waiter) {
        let recaller = self.clone();
        self.world().spawn(Box::pin(async move {
            let arguments = CbNotifyLockArgs {
                object: FileHandle(Bytes::copy_from_slice(waiter.handle.as_bytes())),
                owner: StateOwner { client: waiter.client, owner: waiter.owner },
            };
            // A hint: a client that does not get it polls (RFC 8881 §20.11.4).
            recaller.callback(waiter.client, CallbackOperation::NotifyLock, &arguments, Vec::new()).await;
        }));
    }
}
