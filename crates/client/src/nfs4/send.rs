//! Sending COMPOUNDs: each in a slot, repeated in that slot until it is answered, so that it is carried out once
//! (RFC 8881 §2.10.6).

use std::sync::Arc;
use std::time::{Duration, Instant};

use proto::nfs4::{
    COMPOUND, CompoundBuilder, CompoundReader, Operation, PROGRAM, SequenceArgs, SequenceResult, Status,
    VERSION, sequence_flags,
};
use rpc::CallError;
use rpc::net::Reply;

use super::compound::{Head, Operations, Results};
use super::core::Core;
use super::gate::HeldSlot;
use super::recovery::notice;
use crate::error::{Error, Result};
use crate::nfs3::call_error;
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
}

impl Kind {
    pub(super) fn repeatable(principal: Operation) -> Self {
        Self { principal, repeatable: true }
    }

    pub(super) fn once(principal: Operation) -> Self {
        Self { principal, repeatable: false }
    }
}

/// What is to be done after an answer, or the lack of one.
enum Verdict {
    /// These are the results.
    Done(Results),
    /// Send the same again in the same slot.
    Repeat(Duration),
    /// Send it again as a new request.
    Again(Duration),
    /// As `Again`, if no earlier sending may have been carried out.
    AgainUnlessInDoubt,
    /// The session is of no use any more.
    SessionLost,
    /// The session has died with its server, which tells by it that the request was not carried out.
    SessionDead,
}

impl Core {
    /// Sends SEQUENCE and what `build` adds, and waits for the results. Closes that wait ride along, in front.
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
    pub(super) async fn carry_out(
        self: &Arc<Self>,
        kind: Kind,
        build: impl Fn(&mut Operations<'_, '_>),
    ) -> Result<Results> {
        let name = kind.principal.name();
        let started = Instant::now();
        let mut pause = PAUSE;
        loop {
            let session = self.session().await?;
            let waiting = Instant::now();
            let Some(slot) = session.acquire().await else { continue };
            let queued = waiting.elapsed();
            let mut sending = Sending { core: self, slot: Some(slot) };
            let verdict = loop {
                self.bind_if_needed(&session).await;
                match self.send_once(&mut sending, kind, queued, &build).await? {
                    Verdict::Repeat(wait) if started.elapsed() < self.options.timeout => {
                        tokio::time::sleep(wait).await;
                    }
                    Verdict::Repeat(_) if kind.repeatable => return Err(Error::Timeout { operation: name }),
                    Verdict::Repeat(_) => return Err(Error::UncertainOutcome { operation: name }),
                    verdict => break verdict,
                }
            };
            let in_doubt = sending.was_in_doubt();
            match verdict {
                Verdict::Done(results) => {
                    sending.finish(true);
                    return Ok(results);
                }
                Verdict::Again(wait) => {
                    sending.finish(true);
                    let wait = if wait == PAUSE { pause } else { wait };
                    pause = (pause * 2).min(PAUSE_MAX);
                    if started.elapsed() > self.options.timeout {
                        return Err(Error::Timeout { operation: name });
                    }
                    tokio::time::sleep(wait).await;
                }
                Verdict::AgainUnlessInDoubt | Verdict::Repeat(_) => {
                    sending.finish(true);
                    if in_doubt && !kind.repeatable {
                        return Err(Error::UncertainOutcome { operation: name });
                    }
                }
                Verdict::SessionLost => {
                    sending.finish(false);
                    self.recover_session(&session).await?;
                    if in_doubt && !kind.repeatable {
                        return Err(Error::UncertainOutcome { operation: name });
                    }
                }
                Verdict::SessionDead => {
                    sending.finish(false);
                    self.recover_session(&session).await?;
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
        let connection = self.connection();
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
        let request = Request::Nfs4(kind.principal);
        match answer {
            Ok(reply) => {
                self.tap.answered(request, cost(&reply, queued));
                slot.in_doubt = before;
                let verdict = Self::judge(self, slot, kind, principal_place, reply);
                if matches!(verdict, Err(Error::PeerMisbehaved { .. })) {
                    slot.in_doubt = true;
                }
                verdict
            }
            Err(error) => {
                self.tap.unanswered(request);
                match error {
                    CallError::Disconnected => Ok(Verdict::Repeat(Duration::ZERO)),
                    CallError::Timeout => {
                        connection.disconnect();
                        Ok(Verdict::Repeat(Duration::ZERO))
                    }
                    CallError::Connect(_) => {
                        // This sending never left; an earlier one may have.
                        slot.in_doubt = before;
                        Ok(Verdict::Repeat(CONNECT_PAUSE))
                    }
                    other => {
                        let not_carried_out =
                            matches!(other, CallError::Refused(_) | CallError::TooLarge(_) | CallError::Busy);
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
        reply: Reply,
    ) -> Result<Verdict> {
        let name = kind.principal.name();
        let broken = |error: xdr::Error| Error::misbehaved(name, error);
        let head = Head::peek(&reply.results).map_err(broken)?;
        let mut reader = CompoundReader::new(reply.results).map_err(broken)?;
        let sequence = match reader.next(Operation::Sequence).map_err(broken)? {
            Ok(body) => body.get::<SequenceResult>().map_err(broken)?,
            Err(status) => return self.judge_sequence(kind, status),
        };
        if (sequence.session, sequence.slot, sequence.sequence)
            != (slot.session().id, slot.slot.id, slot.slot.sequence)
        {
            return Err(Error::misbehaved(name, "the answer is for another slot"));
        }
        self.renewed();
        slot.session().set_target(sequence.target_highest_slot);
        self.heed(sequence.status_flags);
        match head.status {
            Status::RetryUncachedReply => Ok(Verdict::AgainUnlessInDoubt),
            // Unless it is only the tail that failed, after the principal operation was carried out.
            Status::Delay | Status::RecallConflict if kind.repeatable || head.results <= principal_place => {
                Ok(Verdict::Again(PAUSE))
            }
            Status::Grace if head.results <= principal_place => Ok(Verdict::Again(GRACE_PAUSE)),
            _ => Ok(Verdict::Done(Results { operation: name, reader })),
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
    fn heed(self: &Arc<Self>, flags: u32) {
        const PATH: u32 = sequence_flags::CB_PATH_DOWN
            | sequence_flags::CB_PATH_DOWN_SESSION
            | sequence_flags::BACKCHANNEL_FAULT;
        const LOST: u32 = sequence_flags::EXPIRED_ALL_STATE_REVOKED
            | sequence_flags::EXPIRED_SOME_STATE_REVOKED
            | sequence_flags::ADMIN_STATE_REVOKED
            | sequence_flags::RESTART_RECLAIM_NEEDED;
        let mut what = 0;
        for (seen, meaning) in [
            (PATH, notice::PATH),
            (LOST, notice::STATE),
            (sequence_flags::RECALLABLE_STATE_REVOKED, notice::DELEGATIONS),
        ] {
            if flags & seen != 0 {
                what |= meaning;
            }
        }
        if what != 0 {
            self.notice(what);
        }
    }

    /// A request was given up while it was under way. Whether the server has taken it decides the slot's next number; a
    /// SEQUENCE with the same number settles that either way.
    async fn settle(self: Arc<Self>, slot: HeldSlot) {
        let kind = Kind::repeatable(Operation::Sequence);
        let mut sending = Sending { core: &self, slot: Some(slot) };
        let started = Instant::now();
        while started.elapsed() < self.options.timeout && !self.has_ended() {
            match self.send_once(&mut sending, kind, Duration::ZERO, &|_| {}).await {
                Ok(Verdict::Repeat(wait)) => tokio::time::sleep(wait.max(PAUSE)).await,
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

fn cost(reply: &Reply, queued: Duration) -> Cost {
    Cost {
        queued: queued + reply.timing.queued,
        wire: reply.timing.wire,
        bytes_sent: reply.bytes_sent,
        bytes_received: reply.bytes_received,
    }
}
