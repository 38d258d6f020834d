//! A client: a state machine that gets a session, does its jobs in the session's slots, and does not give up.

mod job;
mod slots;

use bytes::Bytes;
use proto::nfs4::{ClientId, SequenceId, SessionId, Status};

use crate::action::{Life, Outcome, Request};
use crate::history::{History, What};
use crate::host::Clock;
use crate::random::Random;
use crate::wire;
use slots::Slot;

/// How long a client waits for a reply before it sends a request again.
const PATIENCE_MS: u64 = 6000;
/// Slots that do jobs; the last one of the session is for everything else.
pub const JOB_SLOTS: usize = wire::SLOTS as usize - 1;

/// What a machine wants of the world.
pub enum Effect {
    Send { connection: u64, tag: u64, bytes: Bytes },
    Wake { at_ms: u64, life: Life, wake: Wake },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// No reply may have come to this request.
    Impatient(u64),
    /// A slot goes on with its job.
    Slot(usize),
    /// The lease is to be renewed.
    Renew,
}

/// What a machine works with while it handles an event.
pub struct Out<'a> {
    pub clock: &'a Clock,
    pub random: &'a mut Random,
    pub history: &'a mut History,
    pub effects: Vec<Effect>,
    pub numbers: &'a mut u64,
}

impl Out<'_> {
    /// A number that nothing else has.
    fn number(&mut self) -> u64 {
        *self.numbers += 1;
        *self.numbers
    }

    fn log(&mut self, what: What) {
        self.history.log(self.clock, what);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Exchanging,
    CreatingSession,
    Completing,
    Working,
}

/// A request without an answer.
#[derive(Debug, Clone)]
struct Pending {
    tag: u64,
    request: Request,
    bytes: Bytes,
}

pub struct Machine {
    life: Life,
    phase: Phase,
    connection: u64,
    client: ClientId,
    next_create: SequenceId,
    session: SessionId,
    /// Outside of a session.
    control: Option<Pending>,
    slots: Vec<Slot>,
    jobs_left: u32,
}

impl Machine {
    pub fn new(machine: usize, jobs: u32) -> Self {
        Self {
            life: Life { machine, life: 1 },
            phase: Phase::Exchanging,
            connection: 0,
            client: ClientId(0),
            next_create: SequenceId(0),
            session: SessionId([0; 16]),
            control: None,
            slots: Vec::new(),
            jobs_left: jobs,
        }
    }

    /// All jobs are done, and nothing is held or under way.
    pub fn is_done(&self) -> bool {
        self.jobs_left == 0 && self.slots.iter().all(|slot| slot.job.is_none())
    }

    pub fn start(&mut self, out: &mut Out<'_>) {
        self.connection = out.number();
        self.exchange_id(out);
        self.wake(out, u64::from(crate::host::LIMITS.lease_seconds) * 400, Wake::Renew);
    }

    fn exchange_id(&mut self, out: &mut Out<'_>) {
        self.phase = Phase::Exchanging;
        let owner = format!("machine {}", self.life.machine);
        self.control(Request::ExchangeId { owner, verifier: self.life.life }, out);
    }

    fn control(&mut self, request: Request, out: &mut Out<'_>) {
        let pending = self.send(request, out);
        self.control = Some(pending);
    }

    fn send(&mut self, request: Request, out: &mut Out<'_>) -> Pending {
        let tag = out.number();
        let pending = Pending { tag, bytes: wire::encode(&request), request };
        out.history.requests.insert(tag, (self.life, pending.request.clone()));
        self.transmit(&pending, false, out);
        pending
    }

    fn transmit(&self, pending: &Pending, again: bool, out: &mut Out<'_>) {
        let (tag, bytes) = (pending.tag, pending.bytes.clone());
        out.log(What::Sent { tag, again });
        out.effects.push(Effect::Send { connection: self.connection, tag, bytes });
        self.wake(out, PATIENCE_MS, Wake::Impatient(tag));
    }

    fn wake(&self, out: &mut Out<'_>, after_ms: u64, wake: Wake) {
        out.effects.push(Effect::Wake { at_ms: out.clock.now() + after_ms, life: self.life, wake });
    }

    /// A reply arrives, perhaps a second time or for a request that does not matter any more.
    pub fn on_reply(&mut self, tag: u64, reply: &Bytes, out: &mut Out<'_>) {
        if let Some(pending) = self.control.take_if(|pending| pending.tag == tag) {
            out.log(What::Received { tag });
            let outcome = wire::decode(&pending.request, reply);
            self.on_control(&pending.request, outcome, out);
        } else {
            self.on_slot_reply(tag, reply, out);
        }
    }

    fn on_control(&mut self, request: &Request, outcome: Outcome, out: &mut Out<'_>) {
        match (request, outcome) {
            (Request::ExchangeId { .. }, Outcome::Done(done)) => {
                self.client = done.client.expect("EXCHANGE_ID gives it");
                self.next_create = done.sequence.expect("EXCHANGE_ID gives it");
                self.create_session(out);
            }
            (Request::CreateSession { .. }, Outcome::Done(done)) => {
                self.session = done.session.expect("CREATE_SESSION gives it");
                self.next_create = self.next_create.next();
                self.begin_session(out);
            }
            (Request::CreateSession { .. }, Outcome::Refused(Status::StaleClientId)) => {
                self.exchange_id(out);
            }
            (request, outcome) => panic!("{:?}: {request:?}: {outcome:?}", self.life),
        }
    }

    fn create_session(&mut self, out: &mut Out<'_>) {
        self.phase = Phase::CreatingSession;
        self.control(Request::CreateSession { client: self.client, sequence: self.next_create }, out);
    }

    pub fn on_wake(&mut self, wake: Wake, out: &mut Out<'_>) {
        match wake {
            Wake::Impatient(tag) => {
                let all = self.control.iter().chain(self.slots.iter().filter_map(|s| s.pending.as_ref()));
                if let Some(pending) = all.into_iter().find(|pending| pending.tag == tag).cloned() {
                    self.transmit(&pending, true, out);
                }
            }
            Wake::Slot(index) => self.go_on(index, out),
            Wake::Renew => {
                self.renew(out);
                self.wake(out, u64::from(crate::host::LIMITS.lease_seconds) * 400, Wake::Renew);
            }
        }
    }
}
