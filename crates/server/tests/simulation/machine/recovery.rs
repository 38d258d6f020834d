//! What a machine does when its session is gone: a new one, and what it held is claimed again (RFC 8881
//! §8.4.2.1).

use proto::nfs4::Status;

use super::job::{Kind, Step};
use super::slots::KEEPER;
use super::{JOB_SLOTS, Machine, Out, Phase, Wake};
use crate::action::{Action, Outcome};
use crate::history::What;
use crate::wire;

/// What was held by the job of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    Open(usize),
    Lock(usize),
    /// By the number of the hold.
    Delegation(u64),
}

impl Machine {
    /// The session or the client is unknown to the server.
    pub(super) fn lose_session(&mut self, out: &mut Out<'_>) {
        for slot in &mut self.slots {
            slot.pending = None;
        }
        self.binds.clear();
        self.sessions.clear();
        self.dead = false;
        self.suspend_delegations();
        self.create_session(out);
    }

    /// The session is dead (RFC 8881 §2.10.6.5): when all that was sent on it is answered, it is left.
    pub(super) fn leave_dead_session(&mut self, out: &mut Out<'_>) {
        if self.dead && self.slots.iter().all(|slot| slot.pending.is_none()) {
            self.lose_session(out);
        }
    }

    pub(super) fn begin_session(&mut self, out: &mut Out<'_>) {
        self.slots.resize_with(wire::SLOTS as usize, Default::default);
        self.claims.clear();
        for index in (0..JOB_SLOTS).rev() {
            self.slots[index].sequence = 0;
            let Some(job) = &mut self.slots[index].job else { continue };
            match job.step {
                // What was about to be given up is not claimed.
                Step::Unlock | Step::Close if job.kind != Kind::Names => {
                    self.release_all(index, out);
                    self.finish_job(index, out);
                }
                // It may be closed, and even renamed, by now.
                Step::Close => {
                    self.release_all(index, out);
                    self.restart_job(index, out);
                }
                _ => {
                    self.claims.extend(job.lock.is_some().then_some(Claim::Lock(index)));
                    self.claims.extend(job.open.is_some().then_some(Claim::Open(index)));
                }
            }
        }
        self.claims.extend(self.delegations.iter().map(|held| Claim::Delegation(held.hold)));
        self.slots[KEEPER].sequence = 0;
        self.phase = Phase::Reclaiming;
        self.claim_next(out);
    }

    pub(super) fn claim_next(&mut self, out: &mut Out<'_>) {
        if self.phase != Phase::Reclaiming || self.dead || self.slots[KEEPER].pending.is_some() {
            return;
        }
        let Some(claim) = self.claims.last() else {
            self.phase = Phase::Completing;
            self.submit(KEEPER, Action::ReclaimComplete, out);
            return;
        };
        let (index, step) = match *claim {
            Claim::Open(index) => (index, Step::Open),
            Claim::Lock(index) => (index, Step::Lock),
            Claim::Delegation(hold) => return self.claim_delegation(hold, out),
        };
        let job = self.slots[index].job.as_ref().expect("claims are of jobs");
        let action = job.reclaim(step);
        self.submit(KEEPER, action, out);
    }

    pub(super) fn on_claimed(&mut self, outcome: &Outcome, out: &mut Out<'_>) {
        let Some(claim) = self.claims.last().copied() else { return };
        let (life, client) = (self.life, self.client);
        match (claim, outcome) {
            (_, Outcome::Failed(Status::Delay)) => return self.wake(out, 200, Wake::Reclaim),
            (Claim::Open(index), Outcome::Done(done)) => {
                let job = self.slots[index].job.as_mut().expect("claims are of jobs");
                out.log(job.regained(Step::Open, done, life, client));
            }
            (Claim::Lock(index), Outcome::Done(done)) => {
                let job = self.slots[index].job.as_mut().expect("claims are of jobs");
                out.log(job.regained(Step::Lock, done, life, client));
            }
            (Claim::Delegation(hold), outcome) => self.on_claimed_delegation(hold, outcome, out),
            (
                Claim::Open(index) | Claim::Lock(index),
                Outcome::Failed(
                    Status::NoGrace | Status::ReclaimBad | Status::ReclaimConflict | Status::Stale,
                ),
            ) => {
                // All that the job had is worth nothing now; what was claimed already stays the owner's, and
                // is opened again.
                self.claims.retain(|other| !matches!(other, Claim::Open(i) | Claim::Lock(i) if *i == index));
                self.restart_job(index, out);
                return self.claim_next(out);
            }
            (claim, outcome) => out.log(What::Unexpected(format!("{life:?}: {claim:?}: {outcome:?}"))),
        }
        self.claims.pop();
        self.claim_next(out);
    }

    pub(super) fn on_completed(&mut self, outcome: &Outcome, out: &mut Out<'_>) {
        if *outcome == Outcome::Failed(Status::Delay) {
            // The claims are done: the next thing is to say so again.
            self.phase = Phase::Reclaiming;
            return self.wake(out, 200, Wake::Reclaim);
        }
        if !matches!(outcome, Outcome::Done(_)) {
            out.log(What::Unexpected(format!("RECLAIM_COMPLETE: {outcome:?}")));
        }
        self.phase = Phase::Working;
        self.do_chore(out);
        (0..JOB_SLOTS).for_each(|index| self.go_on(index, out));
    }
}
