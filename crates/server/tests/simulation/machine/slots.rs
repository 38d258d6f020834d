//! The slots of a machine's session, and the jobs in them.

use bytes::Bytes;
use proto::nfs4::{Status, share};

use super::job::{Job, Kind, Step};
use super::transport::Pending;
use super::{JOB_SLOTS, Machine, Out, Phase, TOKEN, Wake};
use crate::action::{Action, Cell, Outcome, Place, Request};
use crate::history::What;
use crate::wire;

/// The slot for what belongs to no job.
pub(super) const KEEPER: usize = JOB_SLOTS;

#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) sequence: u32,
    pub(super) pending: Option<Pending>,
    pub(super) job: Option<Job>,
    /// The machine's when the request was sent.
    epoch: u64,
}

impl Machine {
    /// Sends a request in a slot that is free.
    pub(super) fn submit(&mut self, index: usize, action: Action, out: &mut Out<'_>) {
        let slot = &mut self.slots[index];
        assert!(slot.pending.is_none(), "one request at a time in a slot");
        slot.sequence += 1;
        self.epoch += u64::from(matches!(action, Action::Write { .. }));
        slot.epoch = self.epoch;
        let place = Place {
            session: self.sessions[index % self.sessions.len()],
            slot: index as u32,
            sequence: slot.sequence,
        };
        // What changes nothing may be asked for again when its reply is lost.
        let cache_this = !matches!(action, Action::Nothing | Action::Read { .. }) || out.random.chance(500);
        let pending = self.send(Request::InSession { place, cache_this, action }, out);
        self.slots[index].pending = Some(pending);
    }

    pub(super) fn renew(&mut self, out: &mut Out<'_>) {
        if self.phase == Phase::Working && !self.dead && self.slots[KEEPER].pending.is_none() {
            self.submit(KEEPER, Action::Nothing, out);
        }
    }

    pub(super) fn on_slot_reply(&mut self, tag: u64, reply: &Bytes, out: &mut Out<'_>) {
        let of_tag = |slot: &Slot| slot.pending.as_ref().is_some_and(|pending| pending.tag == tag);
        let Some(index) = self.slots.iter().position(of_tag) else { return };
        let pending = self.slots[index].pending.take().expect("just found");
        let Request::InSession { action, cache_this, .. } = &pending.request else { return };
        out.log(What::Received { tag });
        match wire::decode(&pending.request, reply) {
            Outcome::Refused(Status::Delay) => {
                // It is still under way.
                let attempt = pending.attempt;
                self.slots[index].pending = Some(pending);
                self.wake(out, 300, Wake::Impatient { tag, attempt });
            }
            Outcome::Refused(Status::BadSession) => self.lose_session(out),
            Outcome::Refused(Status::DeadSession) => self.dead = true,
            Outcome::Refused(status) => {
                out.log(What::Unexpected(format!("{:?}: {:?}: {status}", self.life, pending.request)));
            }
            Outcome::Failed(Status::RetryUncachedReply) if !cache_this => {
                self.submit(index, action.clone(), out);
            }
            outcome => {
                let flags = if let Outcome::Done(done) = &outcome { done.flags } else { 0 };
                if index == KEEPER {
                    self.on_kept(action, &outcome, out);
                } else {
                    self.on_job(index, action, outcome, out);
                }
                self.on_flags(flags, out);
            }
        }
        self.leave_dead_session(out);
    }

    fn on_kept(&mut self, action: &Action, outcome: &Outcome, out: &mut Out<'_>) {
        match self.phase {
            Phase::Reclaiming => self.on_claimed(outcome, out),
            Phase::Completing if *action == Action::ReclaimComplete => self.on_completed(outcome, out),
            _ => self.on_chore(action, outcome, out),
        }
    }

    /// Takes the next step of the slot's job, or a new job.
    pub(super) fn go_on(&mut self, index: usize, out: &mut Out<'_>) {
        if self.phase != Phase::Working || self.dead || self.slots[index].pending.is_some() {
            return;
        }
        if self.slots[index].job.is_none() {
            if out.clock.now() < self.rests_until {
                let pause = self.rests_until - out.clock.now();
                return self.wake(out, pause, Wake::Slot(index));
            }
            match &mut self.jobs_left {
                Some(0) => return,
                Some(left) => *left -= 1,
                None => {}
            }
            self.slots[index].job = Some(self.new_job(index, out));
        }
        let job = self.slots[index].job.as_ref().expect("just made");
        let action = job.action();
        let given_up = match job.step {
            Step::Unlock => &job.lock,
            Step::Close => &job.open,
            _ => &None,
        };
        if let Some(held) = given_up {
            out.log(What::Released { hold: held.hold });
        }
        if let Action::Write { cell, .. } = &action {
            self.remember(cell, None, out);
        }
        self.submit(index, action, out);
    }

    /// A WRITE of its own is under way.
    fn is_writing(&self, cell: &Cell) -> bool {
        self.slots.iter().filter_map(|slot| slot.pending.as_ref()).any(|pending| match &pending.request {
            Request::InSession { action: Action::Write { cell: written, .. }, .. } => written == cell,
            _ => false,
        })
    }

    fn new_job(&self, index: usize, out: &mut Out<'_>) -> Job {
        let id = out.number();
        let kind = match out.random.below(100) {
            0..32 => Kind::Locks,
            32..40 => Kind::Shares,
            40..70 => Kind::Denies,
            70..85 => Kind::Reads,
            85..92 => Kind::Peeks,
            _ => Kind::Names,
        };
        let locked = matches!(kind, Kind::Locks | Kind::Shares)
            || matches!(kind, Kind::Reads | Kind::Peeks) && out.random.chance(500);
        let cell = match kind {
            Kind::Names => Cell { file: TOKEN.into(), offset: 0 },
            _ if locked => Cell { file: "locked".into(), offset: 8 * out.random.below(2) },
            _ => Cell { file: "denied".into(), offset: 0 },
        };
        let any = out.random.chance(match kind {
            Kind::Reads => 900,
            Kind::Locks | Kind::Shares | Kind::Denies => 300,
            Kind::Peeks | Kind::Names => 0,
        });
        let want = if any && self.delegates { share::WANT_ANY_DELEGATION } else { share::WANT_NO_DELEGATION };
        let handle = self.handles.get(&cell.file);
        let mut job = Job::new(id, index as u32, cell, kind, want);
        if let Some(handle) = handle.filter(|_| kind == Kind::Peeks) {
            job.peek(handle);
        }
        job
    }

    pub(super) fn release_all(&mut self, index: usize, out: &mut Out<'_>) {
        let Some(job) = &self.slots[index].job else { return };
        for held in job.lock.iter().chain(&job.open) {
            out.log(What::Released { hold: held.hold });
        }
    }

    pub(super) fn restart_job(&mut self, index: usize, out: &mut Out<'_>) {
        self.release_all(index, out);
        self.slots[index].job.as_mut().expect("a job to restart").restart();
    }

    pub(super) fn finish_job(&mut self, index: usize, out: &mut Out<'_>) {
        if let Some(job) = self.slots[index].job.take() {
            out.log(What::Finished { life: self.life, job: job.id });
        }
    }

    fn on_job(&mut self, index: usize, action: &Action, outcome: Outcome, out: &mut Out<'_>) {
        let (life, client) = (self.life, self.client);
        let job = self.slots[index].job.as_mut().expect("whose request it was");
        match outcome {
            Outcome::Done(done) => {
                let hold = out.number();
                if let Some((holding, state_id)) = job.gained(job.step).zip(done.state_id) {
                    out.log(What::Held { life, client, hold, state_id, holding });
                }
                job.advance(&done, hold);
                match action {
                    Action::Open { file, .. } => {
                        self.handles.extend(done.handle.clone().map(|handle| (file.clone(), handle)));
                        self.delegated(file, &done, out);
                    }
                    Action::Read { cell, .. }
                        if self.slots[index].epoch == self.epoch && !self.is_writing(cell) =>
                    {
                        self.remember(cell, Some(done.value), out);
                    }
                    Action::Read { cell, .. } => self.remember(cell, None, out),
                    Action::Write { cell, .. } => {
                        self.epoch += 1;
                        self.remember(cell, None, out);
                    }
                    _ => {}
                }
                let job = self.slots[index].job.as_ref().expect("it goes on");
                if job.step == Step::Finished {
                    self.finish_job(index, out);
                }
                let pause = self.pause(out);
                self.wake(out, pause, Wake::Slot(index));
            }
            Outcome::Failed(Status::ShareDenied | Status::Denied | Status::Delay | Status::Grace) => {
                let pause = out.random.between(100, 1000);
                self.wake(out, pause, Wake::Slot(index));
            }
            Outcome::Failed(status) if job.yield_to_others(status) => {
                if job.step == Step::Finished {
                    self.finish_job(index, out);
                }
                let pause = out.random.between(0, 1000);
                self.wake(out, pause, Wake::Slot(index));
            }
            outcome => {
                out.log(What::Unexpected(format!("{life:?}: {job:?}: {outcome:?}")));
                self.restart_job(index, out);
                self.wake(out, 500, Wake::Slot(index));
            }
        }
    }

    /// Mostly short; some hold what they have for a while, a few for longer than a lease.
    fn pause(&self, out: &mut Out<'_>) -> u64 {
        match out.random.below(100) {
            _ if self.jobs_left.is_some() => out.random.between(0, 50),
            0 => out.random.between(2000, 25_000),
            1..=40 => out.random.between(50, 1500),
            _ => out.random.between(0, 50),
        }
    }
}
