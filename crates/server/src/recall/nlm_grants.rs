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
use std::time::Duration;

use bytes::Bytes;
use proto::nlm4::{self, NetObject, Procedure, Response, TestArgs};
use rpc::{CallError, Refusal};
use state::{Blocked, FileId, HeldBefore, LockError, LockOwner, Range};

use super::Recaller;
use super::lock_waiters::{Queues, TooMany, Waiter, Who};
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
    Granting(Grant),
    Silent,
}

/// A lock that is taken while GRANTED is sent to its host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    cookie: [u8; 8],
    before: HeldBefore,
    /// Copies of GRANTED that the host may have processed.
    copies: u32,
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

    fn grant(&self) -> Option<&Grant> {
        match &self.phase {
            Phase::Granting(grant) => Some(grant),
            Phase::Waiting | Phase::Silent => None,
        }
    }

    fn grant_mut(&mut self) -> Option<&mut Grant> {
        match &mut self.phase {
            Phase::Granting(grant) => Some(grant),
            Phase::Waiting | Phase::Silent => None,
        }
    }

    fn is_granting(&self, cookie: &[u8]) -> bool {
        self.grant().is_some_and(|grant| grant.cookie == cookie)
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
    pub(super) fn is_request(&self, owner: &LockOwner, asked: (Range, bool)) -> bool {
        (self.range, self.exclusive) == asked && self.nlm().is_some_and(|waiter| waiter.owner == *owner)
    }
}

impl Recaller {
    /// Notes who waits for a lock, or that it has asked again.
    pub(super) fn wait_for_nlm_lock(
        &self,
        queues: &mut Queues,
        file: FileId,
        waiter: NlmWaiter,
        asked: (Range, bool),
    ) -> Result<(), TooMany> {
        let owner = waiter.owner.clone();
        let (range, exclusive) = asked;
        let waiter = Waiter { who: Who::Nlm(waiter), range, exclusive, asked: self.now(), called: None };
        queues.add(file, waiter, |known| known.is_request(&owner, asked))
    }

    /// Ends the wait of an owner whose LOCK has taken the lock: an answer to GRANTED changes nothing from
    /// now on.
    pub(super) fn nlm_locked(queues: &mut Queues, file: FileId, owner: &LockOwner, asked: (Range, bool)) {
        queues.remove(file, |waiter| waiter.is_request(owner, asked));
        queues.note(file, owner, asked.0, |before| before.lock(asked.0, asked.1));
    }

    /// Ends a request that waits or is being carried out; false when there is none. A lock that was taken
    /// for it is free again.
    pub(crate) fn nlm_cancel(&self, file: FileId, owner: &LockOwner, asked: (Range, bool)) -> bool {
        let is_ended = {
            let mut queues = self.inner.lock_waiters.queues();
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
        &self,
        file: FileId,
        owner: &LockOwner,
        range: Range,
    ) -> Result<(), proto::nfs4::Status> {
        {
            let mut queues = self.inner.lock_waiters.queues();
            self.state().nlm_unlock(file, owner, range)?;
            queues.attempts.end_locks(file, owner, |(of, _)| range.contains(&of));
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
    pub(crate) fn nlm_free_all(&self, host: &Bytes) {
        let is_its = |owner: &LockOwner| matches!(owner, LockOwner::Nlm { host: its, .. } if its == host);
        {
            let mut queues = self.inner.lock_waiters.queues();
            queues.attempts.end_all(is_its);
            for file in queues.files() {
                queues.remove(file, |waiter| waiter.nlm().is_some_and(|nlm| is_its(&nlm.owner)));
            }
        }
        self.state().nlm_free_all(host);
        self.notify_lock_waiters(self.now());
    }

    /// The hosts, as the table of locks names them, that wait for a lock or have a call under way.
    pub(crate) fn waiting_hosts(&self) -> Vec<Bytes> {
        let queues = self.inner.lock_waiters.queues();
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
        let Some(waiter) = queues.of(file).iter().find(|waiter| waiter.is_request(owner, asked)) else {
            return Ok(false);
        };
        if waiter.nlm().is_none_or(|nlm| nlm.phase != Phase::Waiting) {
            return Ok(false);
        }
        let before = match self.state().nlm_lock(file, owner, asked, self.now()) {
            Ok(before) => before,
            Err(LockError::Denied(_)) => return Ok(false),
            Err(LockError::Blocked(blocked)) => return Err(blocked),
        };
        let mut cookie = [0; 8];
        self.world().random(&mut cookie);
        // Other grants of the owner first, without this one.
        queues.note(file, owner, asked.0, |known| known.lock(asked.0, asked.1));
        let waiter = queues.of(file).iter_mut().find(|waiter| waiter.is_request(owner, asked));
        let Some(nlm) = waiter.and_then(Waiter::nlm_mut) else { return Ok(false) };
        nlm.phase = Phase::Granting(Grant { cookie, before, copies: 0 });
        let (route, lock) = (nlm.route, nlm.lock.clone());
        drop(queues);
        let arguments = TestArgs { cookie: own_cookie(cookie), exclusive: asked.1, lock };
        let recaller = self.clone();
        self.world().spawn(Box::pin(async move {
            recaller.tell_granted(file, route, cookie, xdr::to_bytes(&arguments).to_vec()).await;
        }));
        Ok(true)
    }

    /// Sends GRANTED until the grant ends: by its answer, by a message of the owner, or after `KEPT_MS`
    /// without an answer.
    async fn tell_granted(&self, file: FileId, route: HostRoute, cookie: [u8; 8], arguments: Vec<u8>) {
        let begun = self.now();
        while self.count_copy(file, &cookie) {
            let outcome = self.call_lock_manager(route, Procedure::Granted, arguments.clone()).await;
            let answer = outcome.map(xdr::from_bytes::<Response>);
            match answer {
                Ok(Ok(response)) => self.granted_answer(file, &cookie, response.status),
                // The host only speaks in messages: its answer comes as a call, see `granted_message`.
                Err(CallError::Refused(Refusal::ProcedureUnavailable)) if self.is_granting(file, &cookie) => {
                    // What matters is the answer.
                    let _ = self.call_lock_manager(route, Procedure::GrantedMsg, arguments.clone()).await;
                    self.world().sleep(MESSAGE).await;
                }
                Ok(Err(error)) => {
                    let address = route.address;
                    tracing::debug!(%error, %address, "an answer to GRANTED cannot be decoded");
                }
                Err(error) => {
                    if error.was_not_sent() {
                        self.uncount_copy(file, &cookie);
                    }
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

    /// Counts a copy of GRANTED that is about to be sent; false when the grant has ended.
    fn count_copy(&self, file: FileId, cookie: &[u8]) -> bool {
        self.change_grant(file, cookie, |grant| grant.copies += 1)
    }

    /// Takes back the count of a copy that was not sent.
    fn uncount_copy(&self, file: FileId, cookie: &[u8]) {
        self.change_grant(file, cookie, |grant| grant.copies = grant.copies.saturating_sub(1));
    }

    fn change_grant(&self, file: FileId, cookie: &[u8], change: impl FnOnce(&mut Grant)) -> bool {
        let mut queues = self.inner.lock_waiters.queues();
        let mut waiters = queues.of(file).iter_mut().filter_map(Waiter::nlm_mut);
        let Some(waiter) = waiters.find(|waiter| waiter.is_granting(cookie)) else { return false };
        waiter.grant_mut().map(change).is_some()
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

    /// Sends the result of a message as a call (`NLM4_LOCK_RES` and its like). One that is lost is asked for
    /// again.
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

    /// Ends a grant by its answer.
    ///
    /// A denial frees the lock only if the host has processed one copy of GRANTED at most. A host that has
    /// accepted a copy, and whose answer was lost, denies the next one because no process waits any more:
    /// Linux does. The lock stays then. A host whose process has really given up sends CANCEL or UNLOCK,
    /// and either of them ends the grant or frees the lock.
    fn granted_answer(&self, file: FileId, cookie: &[u8], status: nlm4::Status) {
        if status == nlm4::Status::DeniedGracePeriod {
            // The host reclaims its own locks: it is called again.
            return;
        }
        {
            let mut queues = self.inner.lock_waiters.queues();
            let is_its = |waiter: &mut Waiter| waiter.nlm().is_some_and(|nlm| nlm.is_granting(cookie));
            for waiter in queues.remove(file, is_its) {
                let is_sure = waiter.nlm().and_then(NlmWaiter::grant).is_some_and(|grant| grant.copies <= 1);
                if status != nlm4::Status::Granted && is_sure {
                    self.undo(&mut queues, file, &waiter);
                }
            }
        }
        if status != nlm4::Status::Granted {
            self.locks_released(file);
        }
    }

    fn is_granting(&self, file: FileId, cookie: &[u8]) -> bool {
        let mut queues = self.inner.lock_waiters.queues();
        queues.of(file).iter().any(|waiter| waiter.nlm().is_some_and(|nlm| nlm.is_granting(cookie)))
    }

    /// Ends a grant whose host does not answer: none of its waiters is granted a lock until it sends LOCK
    /// again.
    fn no_answer(&self, file: FileId, address: IpAddr, cookie: &[u8]) {
        if self.inner.hosts.does_not_answer(address) {
            tracing::warn!(
                %address,
                "a host waits for locks and does not answer when it is given one; let its port mapper and \
                 lock manager be reached through its firewall"
            );
        }
        {
            let mut queues = self.inner.lock_waiters.queues();
            let of_host = |waiter: &&mut Waiter| waiter.nlm().is_some_and(|nlm| nlm.address() == address);
            let mut silent = None;
            for waiter in queues.by_file.values_mut().flatten().filter(of_host) {
                let grantee = waiter.clone();
                let Some(nlm) = waiter.nlm_mut() else { continue };
                if nlm.is_granting(cookie) {
                    silent = Some(grantee);
                } else if nlm.phase != Phase::Waiting {
                    continue;
                }
                nlm.phase = Phase::Silent;
            }
            // Under the same mutex: a LOCK that comes now must find the lock free.
            if let Some(grantee) = silent {
                self.undo(&mut queues, file, &grantee);
            }
        }
        self.locks_released(file);
    }

    /// Frees the lock of a grant, once its waiter is out of the queues or silent.
    fn undo(&self, queues: &mut Queues, file: FileId, waiter: &Waiter) {
        if let Some((nlm, grant)) = waiter.nlm().and_then(|nlm| Some((nlm, nlm.grant()?))) {
            self.state().nlm_undo(file, &nlm.owner, waiter.range, &grant.before);
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
