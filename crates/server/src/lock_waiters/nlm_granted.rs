//! GRANTED: the calls to a host whose waiter has got its lock, and their answers. Each answer ends the grant.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proto::nlm4::{self, Procedure, Response};
use rpc::{CallError, Refusal};
use state::FileId;

use super::nlm_grants::{Grant, NlmWaiter, Phase};
use super::{LockWaiters, Waiter};
use crate::hosts::HostRoute;

/// How long one call may take.
const CALL: Duration = Duration::from_secs(3);
/// How long a lock is kept for a host that does not answer.
const KEPT_MS: u64 = 10_000;
/// Pause before GRANTED is sent again.
const RESEND: Duration = Duration::from_millis(500);
/// How long an answer may take that comes as a call of its own.
const MESSAGE: Duration = Duration::from_secs(3);

impl LockWaiters {
    /// Sends GRANTED until the grant ends: by its answer, by a message of the owner, or after `KEPT_MS`
    /// without an answer.
    pub(super) async fn tell_granted(
        self: &Arc<Self>,
        file: FileId,
        route: HostRoute,
        cookie: [u8; 8],
        arguments: Vec<u8>,
    ) {
        let begun = self.core.now();
        while self.count_copy(file, &cookie) {
            let outcome = self.call_lock_manager(route, Procedure::Granted, arguments.clone()).await;
            let answer = outcome.map(xdr::from_bytes::<Response>);
            match answer {
                Ok(Ok(response)) => self.granted_answer(file, &cookie, response.status),
                // The host only speaks in messages: its answer comes as a call, see `granted_message`.
                Err(CallError::Refused(Refusal::ProcedureUnavailable)) if self.is_granting(file, &cookie) => {
                    // What matters is the answer.
                    let _ = self.call_lock_manager(route, Procedure::GrantedMsg, arguments.clone()).await;
                    self.core.world().sleep(MESSAGE).await;
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
                self.callbacks.hosts().has_answered(route.address);
                return;
            }
            if self.core.now().since_ms(begun) >= KEPT_MS {
                self.no_answer(file, route.address, &cookie);
                return;
            }
            self.core.world().sleep(RESEND).await;
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
        let mut queues = self.waiters.queues();
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
        self.callbacks.hosts().caller().call(route, number, arguments, CALL).await
    }

    /// Sends the result of a message as a call (`NLM4_LOCK_RES` and its like). One that is lost is asked for
    /// again.
    pub(crate) fn send_result(self: &Arc<Self>, route: HostRoute, procedure: Procedure, arguments: Vec<u8>) {
        let service = Arc::clone(self);
        self.core.world().spawn(Box::pin(async move {
            if let Err(error) = service.call_lock_manager(route, procedure, arguments).await {
                tracing::debug!(%error, address = %route.address, "a result did not get through");
            }
        }));
    }

    /// The answer to GRANTED_MSG has come from a host.
    pub(crate) fn granted_message(self: &Arc<Self>, address: IpAddr, cookie: &[u8], status: nlm4::Status) {
        let is_its = |waiter: &Waiter| {
            waiter.nlm().is_some_and(|nlm| nlm.is_granting(cookie) && nlm.route.address == address)
        };
        let file = {
            let queues = self.waiters.queues();
            queues.by_file.iter().find(|(_, waiters)| waiters.iter().any(is_its)).map(|(file, _)| *file)
        };
        // Otherwise the grant has ended, or there was none.
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
    fn granted_answer(self: &Arc<Self>, file: FileId, cookie: &[u8], status: nlm4::Status) {
        if status == nlm4::Status::DeniedGracePeriod {
            // The host reclaims its own locks: it is called again.
            return;
        }
        {
            let mut queues = self.waiters.queues();
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
        let mut queues = self.waiters.queues();
        queues.of(file).iter().any(|waiter| waiter.nlm().is_some_and(|nlm| nlm.is_granting(cookie)))
    }

    /// Ends a grant whose host does not answer: none of its waiters is granted a lock until it sends LOCK
    /// again.
    fn no_answer(self: &Arc<Self>, file: FileId, address: IpAddr, cookie: &[u8]) {
        if self.callbacks.hosts().does_not_answer(address) {
            tracing::warn!(
                %address,
                "a host waits for locks and does not answer when it is given one; let its port mapper and \
                 lock manager be reached through its firewall"
            );
        }
        {
            let mut queues = self.waiters.queues();
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
}
