//! Waiters for byte-range locks, of both protocols in one order. An NFSv4 client polls, and CB_NOTIFY_LOCK
//! tells it that its lock may be free (RFC 8881 §9.6, §20.11). A host that locks through NLM is granted the
//! lock and called with GRANTED: see `nlm_grants`.

mod nlm_attempts;
mod nlm_granted;
mod nlm_grants;
mod queues;

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{CallbackOperation, CbNotifyLockArgs, ClientId, FileHandle, StateOwner};
use state::{Blocked, ByteRangeLock, Denied, FileId, LockError, LockOwner, Now};
use vfs::Handle;

pub(crate) use nlm_attempts::WaitRefused;
pub(crate) use nlm_grants::NlmWaiter;
use queues::{Queues, WaiterQueues};
pub(crate) use queues::{Requester, Waiter};

use crate::callbacks::Callbacks;
use crate::delegations::Delegations;
use crate::service_core::ServiceCore;

/// How long other requests that would wait are denied the lock of a waiter that was called.
const PROMISED_MS: u64 = 500;
/// How long a polling waiter stays without another request: Linux polls every 30 s.
const PATIENCE_MS: u64 = 60_000;

/// Queues the requests for locks that are held, and notifies or grants when a lock is free.
pub(crate) struct LockWaiters {
    core: ServiceCore,
    callbacks: Arc<Callbacks>,
    delegations: Arc<Delegations>,
    waiters: WaiterQueues,
}

/// Separates a denial, which is a result, from conflicts that end when other clients return state.
pub(crate) fn lock_outcome<T>(locked: Result<T, LockError>) -> Result<Result<T, Denied>, Blocked> {
    match locked {
        Ok(done) => Ok(Ok(done)),
        Err(LockError::Denied(denied)) => Ok(Err(denied)),
        Err(LockError::Blocked(blocked)) => Err(blocked),
    }
}

impl LockWaiters {
    pub(crate) fn new(core: ServiceCore, callbacks: Arc<Callbacks>, delegations: Arc<Delegations>) -> Self {
        Self { core, callbacks, delegations, waiters: WaiterQueues::new() }
    }

    /// Queues an NFSv4 lock-owner that waits for a lock.
    pub(crate) fn wait_for_lock(self: &Arc<Self>, file: FileId, waiter: Waiter) {
        if let Requester::Nfs4 { client, owner, .. } = &waiter.requester {
            let (client, owner) = (*client, owner.clone());
            // An owner beyond the bound polls as well.
            let _ = self.waiters.queues().add(file, waiter, |known| known.is(client, &owner));
        }
        // The conflicting lock may have been released before the waiter was queued.
        self.locks_released(file);
    }

    /// The lock that another waiter, in front of this owner, was called for a moment ago. A LOCK that can
    /// wait is denied it: its client would take the lock again and again while the reply of the called
    /// client is on its way.
    fn promised(
        queues: &mut Queues,
        file: FileId,
        is_own: impl Fn(&Waiter) -> bool,
        asked: ByteRangeLock,
        now: Now,
    ) -> Option<Denied> {
        let in_front = queues.of(file).iter().take_while(|waiter| !is_own(waiter));
        let promised = in_front.filter(|waiter| {
            waiter.called.is_some_and(|called| now.since_ms(called) < PROMISED_MS)
                && (waiter.exclusive || asked.exclusive)
                && waiter.range.overlaps(&asked.range)
        });
        promised.filter_map(Waiter::as_denied).next()
    }

    /// As [`LockWaiters::promised`], for an NFSv4 lock-owner.
    pub(crate) fn promised_to_other(
        &self,
        file: FileId,
        client: ClientId,
        owner: &Bytes,
        asked: ByteRangeLock,
    ) -> Option<Denied> {
        if !self.has_waiters() {
            return None;
        }
        let mut queues = self.waiters.queues();
        Self::promised(&mut queues, file, |waiter| waiter.is(client, owner), asked, self.core.now())
    }

    /// True when an owner waits for a lock.
    pub(crate) fn has_waiters(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Ends the wait of a lock-owner that has got its lock.
    pub(crate) fn waits_no_more(&self, file: FileId, client: ClientId, owner: &Bytes) {
        self.waiters.remove(file, |waiter| waiter.is(client, owner));
    }

    /// Notifies, after locks of a file may have been released, the first waiter and each one whose lock is
    /// compatible with those before it.
    pub(crate) fn locks_released(self: &Arc<Self>, file: FileId) {
        if !self.has_waiters() {
            return;
        }
        let mut notified: Vec<Waiter> = Vec::new();
        for waiter in self.waiters.of(file) {
            if notified.iter().all(|other| other.goes_with(&waiter)) && self.offer(file, &waiter) {
                notified.push(waiter);
            }
        }
    }

    /// Removes the waiters that have given up, and notifies all others whose lock is free: those notified
    /// before may not want it.
    pub(crate) fn notify_lock_waiters(self: &Arc<Self>, now: Now) {
        if !self.has_waiters() {
            return;
        }
        for file in self.waiters.files() {
            let has_given_up =
                |waiter: &mut Waiter| waiter.polls() && now.since_ms(waiter.asked) >= PATIENCE_MS;
            self.waiters.remove(file, has_given_up);
            for waiter in self.waiters.of(file) {
                self.offer(file, &waiter);
            }
        }
    }

    /// Notifies a waiter that its lock is free, or grants it; false when it is not free.
    fn offer(self: &Arc<Self>, file: FileId, waiter: &Waiter) -> bool {
        match &waiter.requester {
            Requester::Nlm(_) => self.grant(file, waiter),
            Requester::Nfs4 { client, owner, handle } => {
                let lock_owner = LockOwner::Nfs4 { client: *client, owner: owner.clone() };
                let tested = self.core.state().test_lock(file, &lock_owner, waiter.lock(), self.core.now());
                // A lock of a client whose lease is over counts as free.
                let is_free = !matches!(tested, Err(LockError::Denied(_)));
                if is_free {
                    self.note_call(file, *client, owner);
                    self.notify(*client, owner.clone(), handle);
                }
                is_free
            }
        }
    }

    fn note_call(&self, file: FileId, client: ClientId, owner: &Bytes) {
        let mut queues = self.waiters.queues();
        if let Some(waiter) = queues.of(file).iter_mut().find(|waiter| waiter.is(client, owner)) {
            waiter.called.get_or_insert(self.core.now());
        }
    }

    fn notify(self: &Arc<Self>, client: ClientId, owner: Bytes, handle: &Handle) {
        let service = Arc::clone(self);
        let object = FileHandle(Bytes::copy_from_slice(handle.as_bytes()));
        self.core.world().spawn(Box::pin(async move {
            let arguments = CbNotifyLockArgs { object, owner: StateOwner { client, owner } };
            // A hint: a client that does not get it polls (RFC 8881 §20.11.4).
            service.callbacks.callback(client, CallbackOperation::NotifyLock, &arguments, Vec::new()).await;
        }));
    }
}
