//! A client that speaks NFSv3 and NLM: one request at a time over a connection that loses nothing, until the
//! server goes.
//!
//! It keeps to the same rules as the others. What it had locked it gives up when its connection breaks, for
//! it does not reclaim: so it begins anew with a server that knows nothing of it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use proto::nfs4::{ClientId, FileHandle, StateId, Status};

use crate::action::{Action, CELL_BYTES, Cell, Life, Outcome, Place, Request, STATELESS};
use crate::history::{Holding, What};
use crate::machine::{Effect, Out, TOKEN, Wake};
use crate::wire;

/// How long it waits for a reply before it connects again: longer than anything takes that the server has
/// begun.
const PATIENCE_MS: u64 = 40_000;
/// The connection of who is away.
const NONE: u64 = 0;
/// Whose lease its locks hang on: nobody's, so they last as long as the server.
pub const NOBODY: ClientId = ClientId(u64::MAX);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Lookup,
    Lock,
    Read,
    Write,
    Unlock,
    /// Gives up waiting for the lock.
    Cancel,
    /// Says that it has restarted.
    Notify,
    /// A READ or SETATTR without a lock.
    Peek,
    Steal,
}

#[derive(Debug)]
pub struct Stranger {
    life: Life,
    connection: u64,
    sequence: u32,
    step: Step,
    cell: Cell,
    handle: Option<FileHandle>,
    lock: Option<(u64, StateId)>,
    value: u64,
    job: u64,
    /// Since when it waits for the lock of its job: when the LOCK was sent that was blocked first.
    waits_since: Option<u64>,
    /// When the last LOCK was sent.
    asked_ms: u64,
    /// Cookies of the grants that it has accepted: a later copy is ignored.
    accepted: BTreeSet<Bytes>,
    /// Its answers to GRANTED by number and time of the call: a copy of a call is answered as the call was.
    answers: BTreeMap<(u64, u64), bool>,
    pending: Option<(u64, Request)>,
    /// Counts pauses.
    turn: usize,
    busy: bool,
    /// It has died since the server heard of it last.
    restarted: bool,
    /// `None` while there is no end of them.
    jobs_left: Option<u32>,
}

impl Stranger {
    pub fn new(machine: usize) -> Self {
        Self {
            life: Life { machine, life: 0 },
            connection: NONE,
            sequence: 0,
            step: Step::Lookup,
            cell: Cell { file: "locked".into(), offset: 0 },
            handle: None,
            lock: None,
            value: 0,
            job: 0,
            waits_since: None,
            asked_ms: 0,
            accepted: BTreeSet::new(),
            answers: BTreeMap::new(),
            pending: None,
            turn: 0,
            busy: false,
            restarted: false,
            jobs_left: None,
        }
    }

    pub fn is_done(&self) -> bool {
        self.jobs_left == Some(0) && !self.busy
    }

    pub fn end_soon(&mut self, jobs: u32) {
        self.jobs_left = Some(jobs);
    }

    /// Ends without a message, except while a WRITE is under way: NFSv3 does not tie WRITEs to locks, so the
    /// server could carry it out when another client has the lock.
    pub fn die(&mut self, out: &mut Out<'_>) {
        if self.step == Step::Write && self.pending.is_some() {
            return;
        }
        self.forget(out);
        if self.connection != NONE {
            out.effects.push(Effect::Close(self.connection));
            self.connection = NONE;
        }
        self.answers.clear();
        self.accepted.clear();
        (self.busy, self.restarted) = (true, true);
    }

    /// The first life, or one after a death.
    pub fn revive(&mut self, out: &mut Out<'_>) {
        if self.connection == NONE {
            self.start(out);
        }
    }

    /// A new life over a new connection.
    fn start(&mut self, out: &mut Out<'_>) {
        self.forget(out);
        self.connection = out.number();
        out.effects.push(Effect::Connect(self.connection));
        if self.restarted {
            self.step = Step::Notify;
            return self.pause(50, out);
        }
        self.begin(out);
    }

    fn forget(&mut self, out: &mut Out<'_>) {
        if let Some((hold, _)) = self.lock.take() {
            out.log(What::Released { hold });
        }
        self.life.life += 1;
        self.pending = None;
        self.waits_since = None;
    }

    /// Takes up a job.
    fn begin(&mut self, out: &mut Out<'_>) {
        self.busy = self.jobs_left != Some(0);
        match &mut self.jobs_left {
            Some(0) => return,
            Some(left) => *left -= 1,
            None => {}
        }
        self.job = out.number();
        self.cell.offset = CELL_BYTES * out.random.below(2);
        self.step = match out.random.below(10) {
            _ if self.handle.is_none() => Step::Lookup,
            0..=4 => Step::Lock,
            5..=7 => Step::Peek,
            _ => Step::Steal,
        };
        let pause = if self.jobs_left.is_some() { 50 } else { 1500 };
        self.pause(pause, out);
    }

    fn pause(&mut self, longest_ms: u64, out: &mut Out<'_>) {
        let at_ms = out.clock.now() + out.random.between(0, longest_ms);
        // An earlier pause, which GRANTED has ended, does not wake it.
        self.turn += 1;
        out.effects.push(Effect::Wake { at_ms, life: self.life, wake: Wake::Slot(self.turn) });
    }

    pub fn on_wake(&mut self, life: Life, wake: Wake, out: &mut Out<'_>) {
        if life != self.life {
            return;
        }
        match wake {
            Wake::Slot(turn) if self.pending.is_none() && turn == self.turn => self.send(out),
            Wake::Impatient { tag, .. } if self.pending.as_ref().is_some_and(|(sent, _)| *sent == tag) => {
                out.effects.push(Effect::Close(self.connection));
                self.start(out);
            }
            _ => {}
        }
    }

    pub fn on_closed(&mut self, connection: u64, out: &mut Out<'_>) {
        if connection == self.connection {
            self.start(out);
        }
    }

    fn action(&self) -> Action {
        let handle = || self.handle.clone().expect("looked up first");
        let lock_id = || self.lock.expect("locked first").1;
        let (cell, file) = (self.cell.clone(), self.cell.file.clone());
        match self.step {
            Step::Lookup => Action::Lookup { file },
            Step::Lock => Action::Lock {
                file,
                handle: handle(),
                owner: 0,
                open: StateId::ANONYMOUS,
                existing: None,
                offset: cell.offset,
                length: CELL_BYTES,
                exclusive: true,
                reclaim: false,
            },
            Step::Read => Action::Read { cell, handle: handle(), state_id: StateId::ANONYMOUS },
            Step::Write => {
                let (state_id, value) = (lock_id(), self.value + 1);
                Action::Write { cell, handle: handle(), state_id, value, job: self.job }
            }
            Step::Unlock => {
                let (offset, length) = (cell.offset, CELL_BYTES);
                let state_id = self.lock.map_or(StateId::ANONYMOUS, |(_, id)| id);
                Action::Unlock { handle: handle(), state_id, offset, length }
            }
            Step::Cancel => Action::Cancel { handle: handle(), offset: cell.offset, length: CELL_BYTES },
            // An odd number says that the host is up.
            Step::Notify => Action::Notify {
                state: 2 * self.life.life as i32 + 1,
                by_free_all: self.life.life.is_multiple_of(3),
            },
            Step::Peek if self.job.is_multiple_of(2) => {
                Action::Read { cell, handle: handle(), state_id: StateId::ANONYMOUS }
            }
            Step::Peek => Action::SetMode { file, handle: handle(), mode: 0o666 },
            Step::Steal => Action::Remove { name: TOKEN.into() },
        }
    }

    fn send(&mut self, out: &mut Out<'_>) {
        if self.step == Step::Lock && self.waits_since.is_some() && out.random.chance(250) {
            (self.step, self.waits_since) = (Step::Cancel, None);
        }
        let action = self.action();
        if let (Step::Unlock, Some((hold, _))) = (self.step, self.lock) {
            out.log(What::Released { hold });
        }
        self.sequence += 1;
        self.asked_ms = out.clock.now();
        let place = Place { session: STATELESS, slot: self.life.machine as u32, sequence: self.sequence };
        let request = Request::InSession { place, cache_this: false, action };
        let (tag, bytes) = (out.number(), wire::encode(&request));
        out.history.requests.insert(tag, (self.life, request.clone()));
        out.log(What::Sent { tag });
        self.pending = Some((tag, request));
        out.effects.push(Effect::Send { connection: self.connection, tag, bytes });
        let (at_ms, wake) = (out.clock.now() + PATIENCE_MS, Wake::Impatient { tag, attempt: 0 });
        out.effects.push(Effect::Wake { at_ms, life: self.life, wake });
    }

    /// GRANTED for the lock from an offset, from a call with a number that was made at a time. Whether it is
    /// accepted; `None` while the host is away.
    pub fn on_granted(
        &mut self,
        call: (u64, u64),
        cookie: Bytes,
        offset: u64,
        out: &mut Out<'_>,
    ) -> Option<bool> {
        if self.connection == NONE {
            return None;
        }
        if let Some(answer) = self.answers.get(&call) {
            return Some(*answer);
        }
        let accepts = self.accepts((cookie, call.1), offset, out);
        self.answers.insert(call, accepts);
        Some(accepts)
    }

    /// True when a process waits for the lock. A call that was made before the process began to wait is not
    /// taken for the new lock: NLM cannot tell them apart, a network must.
    fn accepts(&mut self, (cookie, made_ms): (Bytes, u64), offset: u64, out: &mut Out<'_>) -> bool {
        let waits = self.waits_since.is_some_and(|since| since <= made_ms);
        let accepted = self.step == Step::Lock
            && self.pending.is_none()
            && waits
            && offset == self.cell.offset
            && self.accepted.insert(cookie);
        out.log(What::Granted { accepted });
        if accepted {
            let place = Place { session: STATELESS, slot: self.life.machine as u32, sequence: self.sequence };
            self.learn_lock(wire::invented(place), out);
            self.advance(out);
        }
        accepted
    }

    fn learn_lock(&mut self, state_id: StateId, out: &mut Out<'_>) {
        let hold = out.number();
        let (file, offset) = (self.cell.file.clone(), self.cell.offset);
        let holding = Holding::Lock { file, owner: 0, offset, length: CELL_BYTES, exclusive: true };
        out.log(What::Held { life: self.life, client: NOBODY, hold, state_id, holding });
        self.lock = Some((hold, state_id));
        self.waits_since = None;
    }

    pub fn on_reply(&mut self, tag: u64, reply: &Bytes, out: &mut Out<'_>) {
        let Some((_, request)) = self.pending.take_if(|(sent, _)| *sent == tag) else { return };
        out.log(What::Received { tag });
        match wire::decode(&request, reply) {
            Outcome::Done(done) => {
                if let (Step::Lock, Some(state_id)) = (self.step, done.state_id) {
                    self.learn_lock(state_id, out);
                }
                self.handle = done.handle.or(self.handle.take());
                self.value = done.value;
                self.advance(out);
            }
            // It is called, and asks again now and then.
            Outcome::Failed(Status::Locked) if self.step == Step::Lock => {
                self.waits_since.get_or_insert(self.asked_ms);
                self.pause(8000, out);
            }
            // The wait has ended by GRANTED, which the host may have denied. The host unlocks, as Linux does.
            Outcome::Failed(Status::Denied) if self.step == Step::Cancel => {
                self.step = Step::Unlock;
                self.pause(50, out);
            }
            // It comes again, for the recall or whoever is in the way will end.
            Outcome::Failed(Status::Delay | Status::Denied | Status::Grace | Status::Locked) => {
                self.pause(1000, out);
            }
            // Nobody has made it yet, or somebody was quicker.
            Outcome::Failed(Status::NoEntry) if matches!(self.step, Step::Lookup | Step::Steal) => {
                self.finish(out);
            }
            outcome => out.log(What::Unexpected(format!("{:?}: {request:?}: {outcome:?}", self.life))),
        }
    }

    fn advance(&mut self, out: &mut Out<'_>) {
        self.step = match self.step {
            Step::Lock => Step::Read,
            Step::Read => Step::Write,
            Step::Write => Step::Unlock,
            Step::Unlock => {
                self.lock = None;
                return self.finish(out);
            }
            Step::Notify => {
                self.restarted = false;
                return self.begin(out);
            }
            Step::Lookup | Step::Peek | Step::Steal | Step::Cancel => return self.finish(out),
        };
        self.pause(50, out);
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        out.log(What::Finished { life: self.life, job: self.job });
        self.begin(out);
    }
}
