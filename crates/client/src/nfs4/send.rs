//! Sending COMPOUNDs: each in a slot, repeated in that slot until it is answered, so that it is carried out
//! once (RFC 8881 §2.10.6).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proto::nfs4::{
    COMPOUND, CompoundBuilder, CompoundReader, Operation, PROGRAM, SequenceArgs, SequenceResult, Status,
    VERSION, sequence_flags,
};
use rpc::CallError;
use rpc_net::Reply;

use super::compound::{Operations, Results};
use super::core::Core;
use super::gate::{HeldSlot, Session};
use super::recovery::notice;
use crate::call::call_error;
use crate::error::{Error, Result};
use crate::tap::{Cost, Request};

/// The first pause after NFS4ERR_DELAY; it doubles up to [`PAUSE_MAX`].
const PAUSE: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The pause while the server takes state back from before its restart.
const GRACE_PAUSE: Duration = Duration::from_millis(500);
/// The pause before connecting again.
const CONNECT_PAUSE: Duration = Duration::from_millis(20);

/// A COMPOUND to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// What it is sent for.
    pub(super) principal: Operation,
    /// It does no harm to carry it out twice. Otherwise the server is asked to keep its reply.
    pub(super) repeatable: bool,
    /// It carries state of this incarnation of the client, and is of no use to another.
    epoch: Option<u64>,
}

impl Kind {
    pub(super) fn repeatable(principal: Operation) -> Self {
        Self { principal, repeatable: true, epoch: None }
    }

    pub(super) fn once(principal: Operation) -> Self {
        Self { principal, repeatable: false, epoch: None }
    }

    /// It carries state of this incarnation of the client. When another has begun before it is carried out,
    /// it fails with NFS4ERR_STALE_STATEID, as if the server had been asked.
    pub(super) fn in_epoch(self, epoch: u64) -> Self {
        Self { epoch: Some(epoch), ..self }
    }
}

/// What is to be done after an answer, or the lack of one.
enum Verdict {
    /// These are the results.
    Done(Results),
    /// Send the same again in the same slot.
    Repeat(Duration),
    /// Send the same again in the same slot when the server may be there again.
    Unreached,
    /// Send it again as a new request.
    Again(Duration),
    /// As `Again`, if no earlier sending may have been carried out.
    AgainUnlessInDoubt,
    /// The session is of no use any more.
    SessionLost,
    /// The session has died with its server, which tells by it that the request was not carried out.
    SessionDead,
}

/// How a request ended in one session.
enum Outcome {
    Done(Results),
    /// The session is given up, and the request was not carried out.
    Unsent,
    /// The session is given up, and nobody knows whether the request was carried out.
    InDoubt,
}

impl Core {
    /// Sends SEQUENCE and what `build` adds, and waits for the results. Closes that wait ride along, in
    /// front.
    pub(super) async fn compound(
        self: &Arc<Self>,
        kind: Kind,
        build: impl Fn(&mut Operations<'_, '_>),
    ) -> Result<Results> {
        let mut riders = self.take_riders();
        loop {
            let build = |operations: &mut Operations<'_, '_>| {
                riders.board(operations);
                build(operations);
            };
            let mut results = self.carry_out(kind, build).await?;
            if riders.alight(&mut results)? {
                return Ok(results);
            }
        }
    }

    /// As [`Core::compound`], without riders.
    ///
    /// A mount that is not `soft` waits for ever; who drops the future does not.
    pub(super) async fn carry_out(
        self: &Arc<Self>,
        kind: Kind,
        build: impl Fn(&mut Operations<'_, '_>),
    ) -> Result<Results> {
        let operation = kind.principal.name();
        let Some(limit) = self.options.time_limit() else {
            return self.compound_in_any(kind, &build, &AtomicBool::new(false)).await;
        };
        let in_doubt = AtomicBool::new(false);
        match tokio::time::timeout(limit, self.compound_in_any(kind, &build, &in_doubt)).await {
            Ok(outcome) => outcome,
            Err(_) if kind.repeatable || !in_doubt.load(Ordering::Relaxed) => {
                Err(Error::Timeout { operation })
            }
            Err(_) => Err(Error::UncertainOutcome { operation }),
        }
    }

    /// As [`Core::compound`], without a time limit. `in_doubt` tells what to make of it when it is dropped.
    async fn compound_in_any(
        self: &Arc<Self>,
        kind: Kind,
        build: &impl Fn(&mut Operations<'_, '_>),
        in_doubt: &AtomicBool,
    ) -> Result<Results> {
        let operation = kind.principal.name();
        loop {
            let session = self.session().await?;
            if kind.epoch.is_some_and(|epoch| epoch != session.epoch()) {
                return Err(Error::server(operation, Status::StaleStateId));
            }
            let outcome = self.compound_in(&session, kind, build, in_doubt).await?;
            if !matches!(outcome, Outcome::Done(_)) {
                self.recover_session(&session).await?;
            }
            match outcome {
                Outcome::Done(results) => return Ok(results),
                Outcome::InDoubt if !kind.repeatable => return Err(Error::UncertainOutcome { operation }),
                Outcome::InDoubt | Outcome::Unsent => {}
            }
        }
    }

    /// As [`Core::compound`], in `session` or not at all: for those who make it ready for others.
    pub(super) async fn compound_in_session(
        self: &Arc<Self>,
        session: &Arc<Session>,
        kind: Kind,
        build: impl Fn(&mut Operations<'_, '_>),
    ) -> Result<Results> {
        match self.compound_in(session, kind, &build, &AtomicBool::new(false)).await? {
            Outcome::Done(results) => Ok(results),
            Outcome::Unsent | Outcome::InDoubt => {
                Err(Error::server(kind.principal.name(), Status::BadSession))
            }
        }
    }

    async fn compound_in(
        self: &Arc<Self>,
        session: &Arc<Session>,
        kind: Kind,
        build: &impl Fn(&mut Operations<'_, '_>),
        in_doubt: &AtomicBool,
    ) -> Result<Outcome> {
        let mut pause = PAUSE;
        loop {
            let Some(slot) = session.acquire().await else { return Ok(Outcome::Unsent) };
            let queued = slot.queued;
            let mut sending = Sending { core: self, slot: Some(slot) };
            let mut unreached_pause = CONNECT_PAUSE;
            let verdict = loop {
                self.bind_if_needed(session).await;
                let verdict = self.send_once(&mut sending, kind, queued, build, in_doubt).await?;
                in_doubt.store(sending.was_in_doubt(), Ordering::Relaxed);
                match verdict {
                    Verdict::Repeat(wait) => tokio::time::sleep(wait).await,
                    Verdict::Unreached => {
                        tokio::time::sleep(unreached_pause).await;
                        unreached_pause = (unreached_pause * 2).min(PAUSE_MAX);
                    }
                    verdict => break verdict,
                }
                if self.has_ended() {
                    return Err(Error::Usage("the client is shut down"));
                }
            };
            let was_in_doubt = sending.was_in_doubt();
            match verdict {
                Verdict::Done(results) => {
                    sending.finish(true);
                    return Ok(Outcome::Done(results));
                }
                Verdict::Again(wait) => {
                    sending.finish(true);
                    in_doubt.store(false, Ordering::Relaxed);
                    tokio::time::sleep(if wait == PAUSE { pause } else { wait }).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Verdict::AgainUnlessInDoubt | Verdict::Repeat(_) | Verdict::Unreached => {
                    sending.finish(true);
                    if was_in_doubt && !kind.repeatable {
                        return Err(Error::UncertainOutcome { operation: kind.principal.name() });
                    }
                }
                Verdict::SessionLost => {
                    sending.finish(false);
                    return Ok(if was_in_doubt { Outcome::InDoubt } else { Outcome::Unsent });
                }
                Verdict::SessionDead => {
                    sending.finish(false);
                    return Ok(Outcome::Unsent);
                }
            }
        }
    }

    async fn send_once(
        self: &Arc<Self>,
        sending: &mut Sending<'_>,
        kind: Kind,
        queued: Duration,
        build: &impl Fn(&mut Operations<'_, '_>),
        in_doubt: &AtomicBool,
    ) -> Result<Verdict> {
        let slot = sending.slot.as_mut().expect("it is held until the request is over");
        let args = SequenceArgs {
            session: slot.session().id,
            sequence: slot.slot.sequence,
            slot: slot.slot.id,
            highest_slot: slot.session().highest_in_use(),
            cache_this: !kind.repeatable,
        };
        let mut principal_place = 0;
        let before = std::mem::replace(&mut slot.in_doubt, true);
        in_doubt.store(true, Ordering::Relaxed);
        let connection = self.connection();
        let (sent, asked) = (self.tap.send(Request::Nfs4(kind.principal)), Instant::now());
        let answer = connection
            .call(PROGRAM, VERSION, COMPOUND, |to| {
                let mut builder = CompoundBuilder::begin(to, self.minor_version);
                let mut operations = Operations::new(&mut builder, &self.tap, kind.principal);
                operations.put(Operation::Sequence, &args);
                build(&mut operations);
                principal_place = operations.principal_place();
                builder.finish();
            })
            .await;
        match answer {
            Ok(reply) => {
                let cost = Cost::from(&reply);
                sent.answered(Cost { queued: queued + cost.queued, ..cost });
                slot.in_doubt = before;
                let verdict = self.judge(slot, kind, principal_place, (asked, reply));
                if matches!(verdict, Err(Error::PeerMisbehaved { .. })) {
                    slot.in_doubt = true;
                }
                verdict
            }
            Err(error) => {
                sent.unanswered();
                match error {
                    CallError::Disconnected => Ok(Verdict::Repeat(Duration::ZERO)),
                    CallError::Timeout => {
                        connection.disconnect();
                        Ok(Verdict::Repeat(Duration::ZERO))
                    }
                    CallError::Connect(_) => {
                        // This sending never left; an earlier one may have.
                        slot.in_doubt = before;
                        Ok(Verdict::Unreached)
                    }
                    other => {
                        let not_carried_out = other.was_not_sent() || matches!(other, CallError::Refused(_));
                        slot.in_doubt = before || !not_carried_out;
                        Err(call_error(kind.principal.name(), other, true))
                    }
                }
            }
        }
    }

    fn judge(
        self: &Arc<Self>,
        slot: &HeldSlot,
        kind: Kind,
        principal_place: u32,
        (sent, reply): (Instant, Reply),
    ) -> Result<Verdict> {
        let name = kind.principal.name();
        let broken = |error: xdr::Error| Error::misbehaved(name, error);
        let mut reader = CompoundReader::new(reply.results).map_err(broken)?;
        // The last result is the one that failed, if any did.
        let results = reader.left();
        let sequence = match reader.next(Operation::Sequence).map_err(broken)? {
            Ok(body) => body.get::<SequenceResult>().map_err(broken)?,
            Err(status) => return self.judge_sequence(kind, status),
        };
        if (sequence.session, sequence.slot, sequence.sequence)
            != (slot.session().id, slot.slot.id, slot.slot.sequence)
        {
            return Err(Error::misbehaved(name, "the answer is for another slot"));
        }
        self.heed(sequence.status_flags, sent);
        self.lease.renewed(sent);
        slot.session().set_target(sequence.target_highest_slot);
        match reader.status {
            Status::RetryUncachedReply => Ok(Verdict::AgainUnlessInDoubt),
            // Unless it is only the tail that failed, after the principal operation was carried out.
            Status::Delay | Status::RecallConflict if kind.repeatable || results <= principal_place => {
                Ok(Verdict::Again(PAUSE))
            }
            Status::Grace if results <= principal_place => Ok(Verdict::Again(GRACE_PAUSE)),
            _ => Ok(Verdict::Done(Results { operation: name, epoch: slot.session().epoch(), reader })),
        }
    }

    /// SEQUENCE itself failed: the rest was not looked at (RFC 8881 §18.46.3).
    fn judge_sequence(self: &Arc<Self>, kind: Kind, status: Status) -> Result<Verdict> {
        match status {
            Status::Delay => Ok(Verdict::Repeat(PAUSE)),
            Status::ConnectionNotBoundToSession => {
                self.forget_binding();
                Ok(Verdict::Repeat(PAUSE))
            }
            Status::RetryUncachedReply | Status::SequenceFalseRetry => Ok(Verdict::AgainUnlessInDoubt),
            // Had it been carried out, its reply would be there (RFC 8881 §2.10.6.5).
            Status::DeadSession => Ok(Verdict::SessionDead),
            Status::BadSession
            | Status::SequenceMisordered
            | Status::BadSlot
            | Status::BadHighSlot
            | Status::StaleClientId => Ok(Verdict::SessionLost),
            other => Err(Error::server(kind.principal.name(), other)),
        }
    }

    /// What the server wants to be noticed (`sr_status_flags`).
    fn heed(self: &Arc<Self>, mut flags: u32, sent: Instant) {
        use sequence_flags as flag;
        const PATH: u32 = flag::CB_PATH_DOWN | flag::CB_PATH_DOWN_SESSION;
        const REVOKED: u32 = flag::EXPIRED_ALL_STATE_REVOKED
            | flag::EXPIRED_SOME_STATE_REVOKED
            | flag::ADMIN_STATE_REVOKED
            | flag::RECALLABLE_STATE_REVOKED;
        if flags == 0 {
            return;
        }
        if flags & flag::RESTART_RECLAIM_NEEDED != 0 && self.is_reclaimed_since(sent) {
            flags &= !flag::RESTART_RECLAIM_NEEDED;
        }
        if flags & REVOKED != 0 {
            self.lease.set_doubted(true);
        }
        if flags & flag::LEASE_MOVED != 0 {
            // Who uses what has moved is told NFS4ERR_MOVED; nothing else of it is known here.
            tracing::debug!("a file system has moved to another server");
        }
        let mut what = 0;
        for (seen, meaning) in [
            (PATH, notice::PATH),
            (REVOKED, notice::STATE),
            (flag::RESTART_RECLAIM_NEEDED, notice::RECLAIM),
            (flag::BACKCHANNEL_FAULT, notice::FAULT),
        ] {
            if flags & seen != 0 {
                what |= meaning;
            }
        }
        if what != 0 {
            self.notice(what);
        }
    }

    /// A request was given up while it was under way. Whether the server has taken it decides the slot's next
    /// number; a SEQUENCE with the same number settles that either way.
    async fn settle(self: Arc<Self>, slot: HeldSlot) {
        let kind = Kind::repeatable(Operation::Sequence);
        let mut sending = Sending { core: &self, slot: Some(slot) };
        let (mut pause, in_doubt) = (CONNECT_PAUSE, AtomicBool::new(true));
        while !self.has_ended() && sending.slot.as_ref().is_some_and(|slot| !slot.session().is_closed()) {
            match self.send_once(&mut sending, kind, Duration::ZERO, &|_| {}, &in_doubt).await {
                Ok(Verdict::Repeat(wait)) => tokio::time::sleep(wait.max(PAUSE)).await,
                Ok(Verdict::Unreached) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Ok(Verdict::SessionLost) => {
                    let session = sending.slot.as_ref().map(|slot| Arc::clone(slot.session()));
                    sending.finish(false);
                    if let Some(session) = session
                        && let Err(error) = self.recover_session(&session).await
                    {
                        tracing::debug!(%error, "recovering the session");
                    }
                    return;
                }
                Ok(_) => return sending.finish(true),
                // An answer that breaks the protocol: the slot is not used again.
                Err(_) => break,
            }
        }
        sending.forget();
    }
}

/// A request in its slot. Dropped before its end, it leaves the slot to a task that settles it.
struct Sending<'a> {
    core: &'a Arc<Core>,
    slot: Option<HeldSlot>,
}

impl Sending<'_> {
    fn was_in_doubt(&self) -> bool {
        self.slot.as_ref().is_some_and(|slot| slot.in_doubt)
    }

    fn finish(mut self, taken: bool) {
        if let Some(slot) = self.slot.take() {
            slot.finish(taken);
        }
    }

    /// The slot stays out of use.
    fn forget(mut self) {
        self.slot = None;
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        let Some(mut slot) = self.slot.take() else { return };
        if slot.is_abandoned()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(Arc::clone(self.core).settle(slot.take_over()));
        }
    }
}
