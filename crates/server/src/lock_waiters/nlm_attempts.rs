//! LOCK and SHARE calls that are being carried out. They wait for records and recalls, so a message that
//! gives the lock back can overtake them: it ends the attempt, which then takes nothing.

use std::collections::BTreeMap;

use proto::nfs4::Status;
use state::{Blocked, ByteRangeLock, Denied, FileId, LockOwner};

use super::queues::TooMany;
use super::{LockWaiters, NlmWaiter, Waiter, lock_outcome};

/// The calls that are being carried out, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    next: u64,
    running: BTreeMap<u64, Attempt>,
}

#[derive(Debug)]
struct Attempt {
    file: FileId,
    owner: LockOwner,
    /// `None` for a share reservation.
    lock: Option<ByteRangeLock>,
    is_ended: bool,
}

impl Attempts {
    fn end(&mut self, gone: impl Fn(&Attempt) -> bool) -> bool {
        let mut any = false;
        for attempt in self.running.values_mut().filter(|attempt| gone(attempt)) {
            attempt.is_ended = true;
            any = true;
        }
        any
    }

    /// Ends the LOCK calls of an owner that `gone` selects by range and kind; false when there is none.
    pub(super) fn end_locks(
        &mut self,
        file: FileId,
        owner: &LockOwner,
        gone: impl Fn(ByteRangeLock) -> bool,
    ) -> bool {
        self.end(|attempt| attempt.file == file && attempt.owner == *owner && attempt.lock.is_some_and(&gone))
    }

    /// Ends the calls of the owners that `gone` selects.
    pub(super) fn end_all(&mut self, gone: impl Fn(&LockOwner) -> bool) {
        self.end(|attempt| gone(&attempt.owner));
    }

    pub(super) fn owners(&self) -> impl Iterator<Item = &LockOwner> {
        self.running.values().map(|attempt| &attempt.owner)
    }

    fn has_ended(&self, number: u64) -> bool {
        self.running.get(&number).is_none_or(|attempt| attempt.is_ended)
    }
}

/// The reason why a request is not queued.
#[derive(Debug)]
pub(crate) enum WaitRefused {
    /// A message has ended the attempt.
    AttemptEnded,
    /// A bound of the queues is reached.
    TooManyWaiters,
}

/// A LOCK or SHARE call that is being carried out, until it is dropped.
pub(crate) struct NlmAttempt<'a> {
    waiters: &'a LockWaiters,
    number: u64,
    file: FileId,
    owner: LockOwner,
}

impl Drop for NlmAttempt<'_> {
    fn drop(&mut self) {
        self.waiters.waiters.queues().attempts.running.remove(&self.number);
    }
}

impl NlmAttempt<'_> {
    /// Takes the lock, unless a message has ended the attempt. A call that `waits` comes after a waiter
    /// that was called.
    ///
    /// # Errors
    /// The outer error holds the call, or fails it: DELAY for an attempt that has ended. The inner error is
    /// the conflicting lock.
    pub(crate) fn lock(&self, asked: ByteRangeLock, waits: bool) -> Result<Result<(), Denied>, Blocked> {
        let mut queues = self.waiters.waiters.queues();
        if queues.attempts.has_ended(self.number) {
            return Err(Blocked::Status(Status::Delay));
        }
        let (file, owner) = (self.file, &self.owner);
        if waits {
            let is_own = |waiter: &Waiter| waiter.is_request(owner, asked);
            if let Some(denied) =
                LockWaiters::promised(&mut queues, file, is_own, asked, self.waiters.core.now())
            {
                return Ok(Err(denied));
            }
        }
        let state = self.waiters.core.state();
        let locked = lock_outcome(state.nlm_lock(file, owner, asked, self.waiters.core.now()))?;
        Ok(locked.map(|_| LockWaiters::nlm_locked(&mut queues, file, owner, asked)))
    }

    /// Queues the request, unless a message has ended the attempt: the host must not be called about it then.
    ///
    /// # Errors
    /// The attempt has ended, or too many requests wait.
    pub(crate) fn wait(&self, waiter: NlmWaiter, asked: ByteRangeLock) -> Result<(), WaitRefused> {
        let mut queues = self.waiters.waiters.queues();
        if queues.attempts.has_ended(self.number) {
            return Err(WaitRefused::AttemptEnded);
        }
        self.waiters
            .wait_for_nlm_lock(&mut queues, self.file, waiter, asked)
            .map_err(|TooMany| WaitRefused::TooManyWaiters)
    }

    /// Takes a share reservation by `share`, unless a message has ended the attempt.
    ///
    /// # Errors
    /// Those of `share`; DELAY for an attempt that has ended.
    pub(crate) fn share<T>(&self, share: impl FnOnce() -> Result<T, Blocked>) -> Result<T, Blocked> {
        let queues = self.waiters.waiters.queues();
        if queues.attempts.has_ended(self.number) { Err(Blocked::Status(Status::Delay)) } else { share() }
    }
}

impl LockWaiters {
    /// Registers a call that is about to take a lock, or a share reservation without `lock`.
    pub(crate) fn begin_nlm_attempt(
        &self,
        file: FileId,
        owner: LockOwner,
        lock: Option<ByteRangeLock>,
    ) -> NlmAttempt<'_> {
        let mut queues = self.waiters.queues();
        let attempts = &mut queues.attempts;
        let number = attempts.next;
        attempts.next += 1;
        attempts.running.insert(number, Attempt { file, owner: owner.clone(), lock, is_ended: false });
        NlmAttempt { waiters: self, number, file, owner }
    }

    /// Gives back a share reservation by `unshare`, and ends the SHARE calls of the owner.
    pub(crate) fn nlm_unshare(&self, file: FileId, owner: &LockOwner, unshare: impl FnOnce()) {
        let mut queues = self.waiters.queues();
        queues.attempts.end(|of| of.file == file && of.owner == *owner && of.lock.is_none());
        unshare();
    }
}
