//! Grants locks to hosts that wait for them through NLM.
//!
//! ```text
//!                  lock free: taken in its name          GRANTED accepted, or LOCK again
//!   waiting ───────────────────────────────▶ granting ───────────────────────────────────▶ held
//!      ▲ LOCK again                             │ no answer in time        │ GRANTED denied, CANCEL, UNLOCK
//!      └────────────── silent ◀─────────────────┘                          ▼
//!                                                                      forgotten
//! ```
//! A host that does not answer loses the lock to the next waiter. The owner keeps what it held before: the
//! lock that it waited for may include a range that it already held.
//!
//! GRANTED and its answer cross other messages of the owner. Each of them proves that the host knows the
//! outcome, so it ends the grant: UNLOCK and CANCEL free the lock, LOCK confirms it. `docs/locking.md` has
//! the table.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use proto::nlm4::{self, NetObject, TestArgs};
use state::{Blocked, ByteRangeLock, FileId, HeldBefore, LockError, LockOwner, Range};

use super::queues::TooMany;
use super::{LockWaiters, Queues, Requester, Waiter};
use crate::hosts::HostRoute;

/// A process on a host that waits for a lock.
#[derive(Debug, Clone)]
pub(crate) struct NlmWaiter {
    pub(super) owner: LockOwner,
    pub(super) route: HostRoute,
    /// As the host knows the lock.
    lock: nlm4::Lock,
    pub(super) phase: Phase,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    Waiting,
    Granting(Grant),
    Silent,
}

/// A lock that is taken while GRANTED is sent to its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grant {
    cookie: [u8; 8],
    pub(super) before: HeldBefore,
    /// Copies of GRANTED that the host may have processed.
    pub(super) copies: u32,
}

impl NlmWaiter {
    /// One that waits.
    pub(crate) fn new(owner: LockOwner, route: HostRoute, lock: nlm4::Lock) -> Self {
        Self { owner, route, lock, phase: Phase::Waiting }
    }

    pub(super) fn is_silent(&self) -> bool {
        self.phase == Phase::Silent
    }

    pub(super) fn is_being_granted(&self) -> bool {
        self.grant().is_some()
    }

    pub(super) fn address(&self) -> IpAddr {
        self.route.address
    }

    pub(super) fn grant(&self) -> Option<&Grant> {
        match &self.phase {
            Phase::Granting(grant) => Some(grant),
            Phase::Waiting | Phase::Silent => None,
        }
    }

    pub(super) fn grant_mut(&mut self) -> Option<&mut Grant> {
        match &mut self.phase {
            Phase::Granting(grant) => Some(grant),
            Phase::Waiting | Phase::Silent => None,
        }
    }

    pub(super) fn is_granting(&self, cookie: &[u8]) -> bool {
        self.grant().is_some_and(|grant| grant.cookie == cookie)
    }
}

impl Waiter {
    pub(super) fn nlm(&self) -> Option<&NlmWaiter> {
        match &self.requester {
            Requester::Nlm(waiter) => Some(waiter),
            Requester::Nfs4 { .. } => None,
        }
    }

    pub(super) fn nlm_mut(&mut self) -> Option<&mut NlmWaiter> {
        match &mut self.requester {
            Requester::Nlm(waiter) => Some(waiter),
            Requester::Nfs4 { .. } => None,
        }
    }

    /// True for the request of this owner for this lock.
    pub(super) fn is_request(&self, owner: &LockOwner, asked: ByteRangeLock) -> bool {
        self.lock() == asked && self.nlm().is_some_and(|waiter| waiter.owner == *owner)
    }
}

impl LockWaiters {
    /// Queues a request that waits for a lock, or notes that it has asked again.
    pub(super) fn wait_for_nlm_lock(
        &self,
        queues: &mut Queues,
        file: FileId,
        waiter: NlmWaiter,
        asked: ByteRangeLock,
    ) -> Result<(), TooMany> {
        let owner = waiter.owner.clone();
        let ByteRangeLock { range, exclusive } = asked;
        let waiter = Waiter {
            requester: Requester::Nlm(waiter),
            range,
            exclusive,
            asked: self.core.now(),
            called: None,
        };
        queues.add(file, waiter, |known| known.is_request(&owner, asked))
    }

    /// Ends the wait of an owner whose LOCK has taken the lock: an answer to GRANTED changes nothing from
    /// now on.
    pub(super) fn nlm_locked(queues: &mut Queues, file: FileId, owner: &LockOwner, asked: ByteRangeLock) {
        queues.remove(file, |waiter| waiter.is_request(owner, asked));
        queues.note(file, owner, asked.range, |before| before.lock(asked.range, asked.exclusive));
    }

    /// Ends a request that waits or is being carried out; false when there is none. A lock that was taken
    /// for it is free again.
    pub(crate) fn nlm_cancel(
        self: &Arc<Self>,
        file: FileId,
        owner: &LockOwner,
        asked: ByteRangeLock,
    ) -> bool {
        let is_ended = {
            let mut queues = self.waiters.queues();
            let was_running = queues.attempts.end_locks(file, owner, |of| of == asked);
            let removed = queues.remove(file, |waiter| waiter.is_request(owner, asked));
            removed.iter().for_each(|waiter| self.undo(&mut queues, file, waiter));
            was_running || !removed.is_empty()
        };
        if is_ended {
            self.locks_released(file);
        }
        is_ended
    }

    /// Unlocks a range for an owner, and ends what the owner cannot want any more: its LOCK calls and
    /// grants within the range, and requests that wait for exactly this range.
    ///
    /// UNLOCK can overtake the answer to GRANTED, so a grant is unlocked like a lock. A request that waits
    /// for another range stays: another thread of the process may wait for it.
    pub(crate) fn nlm_unlock(
        self: &Arc<Self>,
        file: FileId,
        owner: &LockOwner,
        range: Range,
    ) -> Result<(), proto::nfs4::Status> {
        {
            let mut queues = self.waiters.queues();
            self.core.state().nlm_unlock(file, owner, range)?;
            queues.attempts.end_locks(file, owner, |of| range.contains(&of.range));
            queues.remove(file, |waiter| {
                let of = waiter.range;
                waiter.nlm().is_some_and(|nlm| {
                    nlm.owner == *owner && (of == range || nlm.is_being_granted() && range.contains(&of))
                })
            });
            queues.note(file, owner, range, |before| before.unlock(range));
        }
        self.locks_released(file);
        Ok(())
    }

    /// Removes everything of a host: its locks and shares, the requests that wait, and the calls that are
    /// being carried out.
    pub(crate) fn nlm_free_all(self: &Arc<Self>, host: &Bytes) {
        let is_its = |owner: &LockOwner| matches!(owner, LockOwner::Nlm { host: its, .. } if its == host);
        {
            let mut queues = self.waiters.queues();
            queues.attempts.end_all(is_its);
            for file in queues.files() {
                queues.remove(file, |waiter| waiter.nlm().is_some_and(|nlm| is_its(&nlm.owner)));
            }
        }
        self.core.state().nlm_free_all(host);
        self.notify_lock_waiters(self.core.now());
    }

    /// The hosts, as the table of locks names them, that wait for a lock or have a call under way.
    pub(crate) fn waiting_hosts(&self) -> Vec<Bytes> {
        let queues = self.waiters.queues();
        let owners = queues.by_file.values().flatten().filter_map(|waiter| Some(&waiter.nlm()?.owner));
        let mut hosts: Vec<_> = owners
            .chain(queues.attempts.owners())
            .filter_map(|owner| match owner {
                LockOwner::Nlm { host, .. } => Some(host.clone()),
                LockOwner::Nfs4 { .. } => None,
            })
            .collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// Takes a lock for a waiter and starts to call its host; false when the lock is not free.
    pub(super) fn grant(self: &Arc<Self>, file: FileId, waiter: &Waiter) -> bool {
        let Some(nlm) = waiter.nlm() else { return false };
        let (owner, asked) = (nlm.owner.clone(), waiter.lock());
        match self.begin_grant(file, &owner, asked) {
            Ok(begun) => begun,
            Err(Blocked::Status(_)) => false,
            // Others must act first: a recall, or the end of a silent client.
            Err(Blocked::By(_)) => {
                let service = Arc::clone(self);
                self.core.world().spawn(Box::pin(async move {
                    // Without success it is tried again with the next tick.
                    let _ = service.delegations.hold(|| service.begin_grant(file, &owner, asked)).await;
                }));
                true
            }
        }
    }

    fn begin_grant(
        self: &Arc<Self>,
        file: FileId,
        owner: &LockOwner,
        asked: ByteRangeLock,
    ) -> Result<bool, Blocked> {
        let mut queues = self.waiters.queues();
        let Some(waiter) = queues.of(file).iter().find(|waiter| waiter.is_request(owner, asked)) else {
            return Ok(false);
        };
        if waiter.nlm().is_none_or(|nlm| nlm.phase != Phase::Waiting) {
            return Ok(false);
        }
        let before = match self.core.state().nlm_lock(file, owner, asked, self.core.now()) {
            Ok(before) => before,
            Err(LockError::Denied(_)) => return Ok(false),
            Err(LockError::Blocked(blocked)) => return Err(blocked),
        };
        let mut cookie = [0; 8];
        self.core.world().random(&mut cookie);
        // Other grants of the owner first, without this one.
        queues.note(file, owner, asked.range, |known| known.lock(asked.range, asked.exclusive));
        let waiter = queues.of(file).iter_mut().find(|waiter| waiter.is_request(owner, asked));
        let Some(nlm) = waiter.and_then(Waiter::nlm_mut) else { return Ok(false) };
        nlm.phase = Phase::Granting(Grant { cookie, before, copies: 0 });
        let (route, lock) = (nlm.route, nlm.lock.clone());
        drop(queues);
        let arguments = TestArgs { cookie: own_cookie(cookie), exclusive: asked.exclusive, lock };
        let service = Arc::clone(self);
        self.core.world().spawn(Box::pin(async move {
            service.tell_granted(file, route, cookie, xdr::to_bytes(&arguments).to_vec()).await;
        }));
        Ok(true)
    }

    /// Frees the lock of a grant, once its waiter is out of the queues or silent.
    pub(super) fn undo(&self, queues: &mut Queues, file: FileId, waiter: &Waiter) {
        if let Some((nlm, grant)) = waiter.nlm().and_then(|nlm| Some((nlm, nlm.grant()?))) {
            self.core.state().nlm_undo(file, &nlm.owner, waiter.range, &grant.before);
            queues.note(file, &nlm.owner, waiter.range, |before| before.undo(waiter.range, &grant.before));
        }
    }
}

impl Queues {
    /// Notes a change of what an owner holds of a range in its other grants that can still be undone.
    fn note(&mut self, file: FileId, owner: &LockOwner, range: Range, change: impl Fn(&mut HeldBefore)) {
        for waiter in self.of(file).iter_mut().filter(|waiter| waiter.range.overlaps(&range)) {
            let nlm = waiter.nlm_mut().filter(|nlm| nlm.owner == *owner);
            if let Some(grant) = nlm.and_then(NlmWaiter::grant_mut) {
                change(&mut grant.before);
            }
        }
    }
}

fn own_cookie(cookie: [u8; 8]) -> NetObject {
    NetObject(Bytes::copy_from_slice(&cookie))
}
