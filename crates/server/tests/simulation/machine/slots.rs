//! The slots of a machine's session, and the jobs in them.

use bytes::Bytes;
use proto::nfs4::Status;

use super::job::{Job, Step};
use super::{JOB_SLOTS, Machine, Out, Pending, Phase, Wake};
use crate::action::{Action, Cell, Outcome, Place, Request};
use crate::history::What;
use crate::wire;

/// The slot for what belongs to no job.
const KEEPER: usize = JOB_SLOTS;

#[derive(Debug, Default)]
pub(super) struct Slot {
    sequence: u32,
    pub(super) pending: Option<Pending>,
    pub(super) job: Option<Job>,
}

impl Machine {
    pub(super) fn begin_session(&mut self, out: &mut Out<'_>) {
        self.slots.resize_with(wire::SLOTS as usize, Slot::default);
        for slot in &mut self.slots {
            slot.sequence = 0;
        }
        self.phase = Phase::Completing;
        self.submit(KEEPER, Action::ReclaimComplete, out);
    }

    /// Sends a request in a slot that is free.
    fn submit(&mut self, index: usize, action: Action, out: &mut Out<'_>) {
        let slot = &mut self.slots[index];
        assert!(slot.pending.is_none(), "one request at a time in a slot");
        slot.sequence += 1;
        let place = Place { session: self.session, slot: index as u32, sequence: slot.sequence };
        let pending = self.send(Request::InSession { place, cache_this: true, action }, out);
        self.slots[index].pending = Some(pending);
    }

    pub(super) fn renew(&mut self, out: &mut Out<'_>) {
        if self.phase == Phase::Working && self.slots[KEEPER].pending.is_none() {
            self.submit(KEEPER, Action::Nothing, out);
        }
    }

    pub(super) fn on_slot_reply(&mut self, tag: u64, reply: &Bytes, out: &mut Out<'_>) {
        let of_tag = |slot: &Slot| slot.pending.as_ref().is_some_and(|pending| pending.tag == tag);
        let Some(index) = self.slots.iter().position(of_tag) else { return };
        let pending = self.slots[index].pending.take().expect("just found");
        let Request::InSession { action, .. } = &pending.request else { return };
        out.log(What::Received { tag });
        match wire::decode(&pending.request, reply) {
            Outcome::Refused(status) => panic!("{:?}: {:?}: {status}", self.life, pending.request),
            outcome if index == KEEPER => self.on_kept(action, &outcome, out),
            outcome => self.on_job(index, outcome, out),
        }
    }

    fn on_kept(&mut self, action: &Action, outcome: &Outcome, out: &mut Out<'_>) {
        assert!(matches!(outcome, Outcome::Done(_)), "{action:?}: {outcome:?}");
        if *action == Action::ReclaimComplete {
            self.phase = Phase::Working;
            (0..JOB_SLOTS).for_each(|index| self.go_on(index, out));
        }
    }

    /// Takes the next step of the slot's job, or a new job.
    pub(super) fn go_on(&mut self, index: usize, out: &mut Out<'_>) {
        if self.phase != Phase::Working || self.slots[index].pending.is_some() {
            return;
        }
        if self.slots[index].job.is_none() {
            if self.jobs_left == 0 {
                return;
            }
            self.jobs_left -= 1;
            self.slots[index].job = Some(self.new_job(index, out));
        }
        let job = self.slots[index].job.as_ref().expect("just made");
        let action = job.action();
        match job.step {
            Step::Unlock => self.release(index, true, out),
            Step::Close => self.release(index, false, out),
            _ => {}
        }
        self.submit(index, action, out);
    }

    fn new_job(&self, index: usize, out: &mut Out<'_>) -> Job {
        let id = out.number();
        let locks = out.random.chance(600);
        let cell = if locks {
            Cell { file: "locked".into(), offset: 8 * out.random.below(2) }
        } else {
            Cell { file: "denied".into(), offset: 0 }
        };
        Job::new(id, index as u32, cell, locks)
    }

    /// Gives up the lock, or the open.
    fn release(&mut self, index: usize, lock: bool, out: &mut Out<'_>) {
        let Some(job) = &self.slots[index].job else { return };
        if let Some(held) = if lock { &job.lock } else { &job.open } {
            out.log(What::Released { hold: held.hold });
        }
    }

    fn on_job(&mut self, index: usize, outcome: Outcome, out: &mut Out<'_>) {
        let (life, client) = (self.life, self.client);
        let job = self.slots[index].job.as_mut().expect("whose request it was");
        match outcome {
            Outcome::Done(done) => {
                let hold = out.number();
                if let Some(holding) = job.gained() {
                    out.log(What::Held { life, client, hold, holding });
                }
                job.advance(&done, hold);
                if job.step == Step::Finished {
                    out.log(What::Finished { life, job: job.id });
                    self.slots[index].job = None;
                }
                let pause = out.random.between(0, 20);
                self.wake(out, pause, Wake::Slot(index));
            }
            Outcome::Failed(Status::ShareDenied | Status::Denied | Status::Delay | Status::Grace) => {
                let pause = out.random.between(50, 500);
                self.wake(out, pause, Wake::Slot(index));
            }
            outcome => panic!("{life:?}: {job:?}: {outcome:?}"),
        }
    }
}
