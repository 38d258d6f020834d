//! Locks for hosts that wait for them through NLM.
//!
//! ```text
//!                  lock free: taken in its name          GRANTED answered, or it asks again
//!   waiting ───────────────────────────────▶ granting ───────────────────────────────────▶ it has the lock
//!      ▲ it asks again                          │ no answer in time        │ it answers that it does not want it
//!      └────────────── silent ◀──────────────────┘                          ▼
//!                                                                      forgotten
//! ```
//! Whoever does not answer loses what was taken for it to the next in the queue. What it held before, it keeps: the lock that it
//! waited for may have been more of what it had.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use proto::nlm4::{self, NetObject, Procedure, Response, TestArgs};
use rpc::{CallError, Refusal};
use state::{Blocked, FileId, HeldBefore, LockError, LockOwner, Range};

use super::Recaller;
use super::lock_waiters::{TooMany, Waiter, Who};
use crate::hosts::HostRoute;

/// How long one call may take.
const CALL: Duration = Duration::from_secs(3);
/// How long a lock is kept for a host that does not answer.
const KEPT_MS: u64 = 10_000;
/// Pause before GRANTED is sent again.
const RESEND: Duration = Duration::from_millis(500);
/// How long an answer may take that comes as a call of its own.
const MESSAGE: Duration = Duration::from_secs(3);

/// A process on a host that waits for a lock.
#[derive(Debug, Clone)]
pub(crate) struct NlmWaiter {
    owner: LockOwner,
    route: HostRoute,
    /// As the host knows the lock.
    lock: nlm4::Lock,
    phase: Phase,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Waiting,
    Granting { cookie: [u8; 8], before: HeldBefore },
    Silent,
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
        matches!(self.phase, Phase::Granting { .. })
    }

    pub(super) fn address(&self) -> IpAddr {
        self.route.address
    }

    fn is_granting(&self, wanted: &[u8]) -> bool {
        matches!(&self.phase, Phase::Granting { cookie, .. } if cookie == wanted)
    }
}

impl Waiter {
    fn nlm(&self) -> Option<&NlmWaiter> {
        match &self.who {
            Who::Nlm(waiter) => Some(waiter),
            Who::Nfs4 { .. } => None,
        }
    }

    fn nlm_mut(&mut self) -> Option<&mut NlmWaiter> {
        match &mut self.who {
            Who::Nlm(waiter) => Some(waiter),
            Who::Nfs4 { .. } => None,
        }
    }

    /// True for the request of this owner for this lock.
    fn is_request(&self, owner: &LockOwner, asked: (Range, bool)) -> bool {
        (self.range, self.exclusive) == asked && self.nlm().is_some_and(|waiter| waiter.owner == *owner)
    }
}

impl Recaller {
    /// Notes who waits for a lock, or that it has asked again.
    pub(crate) fn wait_for_nlm_lock(
        &self,
        file: FileId,
        waiter: NlmWaiter,
        asked: (Range, bool),
    ) -> Result<(), TooMany> {
        let owner = waiter.owner.clone();
        let (range, exclusive) = asked;
        let waiter = Waiter { who: Who::Nlm(waiter), range, exclusive, asked: self.now() };
        self.inner.lock_waiters.add(file, waiter, |known| known.is_request(&owner, asked))
    }

    /// An owner has been told that it has a lock: it waits no more, and an answer to GRANTED says nothing new.
    pub(crate) fn nlm_waits_no_more(&self, file: FileId, owner: &LockOwner, asked: (Range, bool)) {
        if self.has_lock_waiters() {
            self.inner.lock_waiters.remove(file, |waiter| waiter.is_request(owner, asked));
        }
    }

    /// Takes back a request to wait; false when there is none. What was taken for it is free again.
    pub(crate) fn nlm_cancel(&self, file: FileId, owner: &LockOwner, asked: (Range, bool)) -> bool {
        let removed = self.inner.lock_waiters.remove(file, |waiter| waiter.is_request(owner, asked));
        for waiter in &removed {
            self.give_up(file, waiter);
        }
        !removed.is_empty()
    }

    /// Unlocks for an owner, but for what is just being granted to it: its host knows nothing of that yet.
    pub(crate) fn nlm_unlock(
        &self,
        file: FileId,
        owner: &LockOwner,
        range: Range,
    ) -> Result<(), proto::nfs4::Status> {
        {
            let mut queues = self.inner.lock_waiters.queues();
            let granting = queues.of(file).iter().filter(|waiter| {
                waiter.range.overlaps(&range)
                    && waiter.nlm().is_some_and(|nlm| nlm.owner == *owner && nlm.is_being_granted())
            });
            let kept: Vec<_> = granting.map(|waiter| (waiter.range, waiter.exclusive)).collect();
            self.state().nlm_unlock(file, owner, range, &kept)?;
        }
        self.locks_released(file);
        Ok(())
    }

    /// Removes everything of a host: its locks, shares, and requests that wait.
    pub(crate) fn nlm_free_all(&self, host: &Bytes) {
        let is_its = |owner: &LockOwner| matches!(owner, LockOwner::Nlm { host: its, .. } if its == host);
        for file in self.inner.lock_waiters.files() {
            self.inner.lock_waiters.remove(file, |waiter| waiter.nlm().is_some_and(|nlm| is_its(&nlm.owner)));
        }
        self.state().nlm_free_all(host);
        self.notify_lock_waiters(self.now());
    }

    /// The hosts of which somebody waits, as the table of locks knows them.
    pub(crate) fn waiting_hosts(&self) -> Vec<Bytes> {
        let queues = self.inner.lock_waiters.queues();
        let owners = queues.by_file.values().flatten().filter_map(|waiter| Some(&waiter.nlm()?.owner));
        let mut hosts: Vec<_> = owners
            .filter_map(|owner| match owner {
                LockOwner::Nlm { host, .. } => Some(host.clone()),
                LockOwner::Nfs4 { .. } => None,
            })
            .collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// Takes a lock for who waits for it, and begins to tell it so; false when the lock is not free.
    pub(super) fn grant(&self, file: FileId, waiter: &Waiter) -> bool {
        let Some(nlm) = waiter.nlm() else { return false };
        let (owner, asked) = (nlm.owner.clone(), (waiter.range, waiter.exclusive));
        match self.begin_grant(file, &owner, asked) {
            Ok(begun) => begun,
            Err(Blocked::Status(_)) => false,
            // Others must act first: a recall, or the end of a silent client.
            Err(Blocked::By(_)) => {
                let recaller = self.clone();
                self.world().spawn(Box::pin(async move {
                    // Without success it is tried again with the next tick.
                    let _ = recaller.hold(|| recaller.begin_grant(file, &owner, asked)).await;
                }));
                true
            }
        }
    }

    fn begin_grant(&self, file: FileId, owner: &LockOwner, asked: (Range, bool)) -> Result<bool, Blocked> {
        let mut queues = self.inner.lock_waiters.queues();
        let Some(waiter) = queues.of(file).iter_mut().find(|waiter| waiter.is_request(owner, asked)) else {
            return Ok(false);
        };
        let Some(nlm) = waiter.nlm_mut().filter(|nlm| nlm.phase == Phase::Waiting) else { return Ok(false) };
        let before = match self.state().nlm_lock(file, owner, asked, self.now()) {
            Ok(before) => before,
            Err(LockError::Denied(_)) => return Ok(false),
            Err(LockError::Blocked(blocked)) => return Err(blocked),
        };
        let mut cookie = [0; 8];
        self.world().random(&mut cookie);
        nlm.phase = Phase::Granting { cookie, before };
        let (route, lock) = (nlm.route, nlm.lock.clone());
        drop(queues);
        let arguments = TestArgs { cookie: own_cookie(cookie), exclusive: asked.1, lock };
        let recaller = self.clone();
        self.world().spawn(Box::pin(async move {
            recaller.tell_granted(file, route, cookie, xdr::to_bytes(&arguments).to_vec()).await;
        }));
        Ok(true)
    }

    /// Sends GRANTED until it is answered or the time for it is over.
    async fn tell_granted(&self, file: FileId, route: HostRoute, cookie: [u8; 8], arguments: Vec<u8>) {
        let begun = self.now();
        while self.is_granting(file, &cookie) {
            let outcome = self.call_lock_manager(route, Procedure::Granted, arguments.clone()).await;
            let answer = outcome.map(xdr::from_bytes::<Response>);
            match answer {
                Ok(Ok(response)) => self.granted_answer(file, &cookie, response.status),
                // The host only speaks in messages: its answer comes as a call, see `granted_message`.
                Err(CallError::Refused(Refusal::ProcedureUnavailable)) => {
                    // What matters is the answer.
                    let _ = self.call_lock_manager(route, Procedure::GrantedMsg, arguments.clone()).await;
                    self.world().sleep(MESSAGE).await;
                }
                Ok(Err(error)) => {
                    tracing::debug!(%error, address = %route.address, "an answer to GRANTED cannot be decoded");
                }
                Err(error) => {
                    tracing::debug!(%error, address = %route.address, "GRANTED did not get through");
                }
            }
            if !self.is_granting(file, &cookie) {
                self.inner.hosts.has_answered(route.address);
                return;
            }
            if self.now().since_ms(begun) >= KEPT_MS {
                self.no_answer(file, route.address, &cookie);
                return;
            }
            self.world().sleep(RESEND).await;
        }
    }

    async fn call_lock_manager(
        &self,
        route: HostRoute,
        procedure: Procedure,
        arguments: Vec<u8>,
    ) -> Result<Bytes, CallError> {
        let number = (nlm4::PROGRAM, nlm4::VERSION, procedure.number());
        self.inner.hosts.caller().call(route, number, arguments, CALL).await
    }

    /// Sends the result of a message as a call (`NLM4_LOCK_RES` and its like). One that is lost is asked for again.
    pub(crate) fn send_result(&self, route: HostRoute, procedure: Procedure, arguments: Vec<u8>) {
        let recaller = self.clone();
        self.world().spawn(Box::pin(async move {
            if let Err(error) = recaller.call_lock_manager(route, procedure, arguments).await {
                tracing::debug!(%error, address = %route.address, "a result did not get through");
            }
        }));
    }

    /// The answer to GRANTED_MSG has come from a host.
    pub(crate) fn granted_message(&self, address: IpAddr, cookie: &[u8], status: nlm4::Status) {
        let is_its = |waiter: &Waiter| {
            waiter.nlm().is_some_and(|nlm| nlm.is_granting(cookie) && nlm.route.address == address)
        };
        let file = {
            let queues = self.inner.lock_waiters.queues();
            queues.by_file.iter().find(|(_, waiters)| waiters.iter().any(is_its)).map(|(file, _)| *file)
        };
        // Otherwise it is too late, or nobody asked.
        if let Some(file) = file {
            self.granted_answer(file, cookie, status);
        }
    }

    fn granted_answer(&self, file: FileId, cookie: &[u8], status: nlm4::Status) {
        if status == nlm4::Status::DeniedGracePeriod {
            // The host is taking back locks of its own: it is told again.
            return;
        }
        let removed = self
            .inner
            .lock_waiters
            .remove(file, |waiter| waiter.nlm().is_some_and(|nlm| nlm.is_granting(cookie)));
        if status != nlm4::Status::Granted {
            for waiter in &removed {
                self.give_up(file, waiter);
            }
        }
    }

    fn is_granting(&self, file: FileId, cookie: &[u8]) -> bool {
        let mut queues = self.inner.lock_waiters.queues();
        queues.of(file).iter().any(|waiter| waiter.nlm().is_some_and(|nlm| nlm.is_granting(cookie)))
    }

    /// A host does not answer: nothing is kept for any of its waiters until they ask again.
    fn no_answer(&self, file: FileId, address: IpAddr, cookie: &[u8]) {
        if self.inner.hosts.does_not_answer(address) {
            tracing::warn!(
                %address,
                "a host waits for locks and does not answer when it is given one; let its port mapper and lock manager be reached \
                 through its firewall"
            );
        }
        let mut given_back = None;
        {
            let mut queues = self.inner.lock_waiters.queues();
            for waiter in queues.by_file.values_mut().flatten() {
                let asked = (waiter.range, waiter.exclusive);
                let Some(nlm) = waiter.nlm_mut().filter(|nlm| nlm.route.address == address) else { continue };
                if nlm.is_granting(cookie) {
                    given_back =
                        Some((nlm.owner.clone(), asked, std::mem::replace(&mut nlm.phase, Phase::Silent)));
                } else if nlm.phase == Phase::Waiting {
                    nlm.phase = Phase::Silent;
                }
            }
            // While nobody else can look at the queues: a request that comes now must find the lock free.
            if let Some((owner, (range, _), Phase::Granting { before, .. })) = &given_back {
                self.state().nlm_undo(file, owner, *range, before);
            }
        }
        self.locks_released(file);
    }

    /// Gives back what was taken for a waiter that does not want it.
    fn give_up(&self, file: FileId, waiter: &Waiter) {
        if let Some(NlmWaiter { owner, phase: Phase::Granting { before, .. }, .. }) = waiter.nlm() {
            self.state().nlm_undo(file, owner, waiter.range, before);
            self.locks_released(file);
        }
    }
}

fn own_cookie(cookie: [u8; 8]) -> NetObject {
    NetObject(Bytes::copy_from_slice(&cookie))
}
