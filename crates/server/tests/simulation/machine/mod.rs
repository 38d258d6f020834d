//! A client: a state machine that gets a session, does its jobs in the session's slots, and does not give up.

mod delegations;
mod job;
mod progress;
mod recovery;
mod slots;
mod transport;

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use proto::nfs4::{ClientId, FileHandle, SequenceId, SessionId, StateId, Status};

use crate::action::{Life, Outcome, Request};
use crate::history::{History, What};
use crate::host::{Clock, LIMITS};
use crate::random::Random;
use crate::wire;
use delegations::{Chore, Delegation};
pub use job::object;
use recovery::Claim;
use slots::Slot;
use transport::Pending;

/// Slots that do jobs; the last one of the session is for everything else.
pub const JOB_SLOTS: usize = wire::SLOTS as usize - 1;
/// The name that machines want to make, and remove from each other.
pub const TOKEN: &str = "token";
/// How often a lease is renewed: more than twice while it lasts.
const RENEW_MS: u64 = LIMITS.lease_seconds as u64 * 400;

/// What a machine wants of the world.
pub enum Effect {
    Connect(u64),
    Close(u64),
    Send {
        connection: u64,
        tag: u64,
        bytes: Bytes,
    },
    /// The answer to a callback.
    Answer {
        connection: u64,
        call: u64,
        bytes: Bytes,
    },
    Wake {
        at_ms: u64,
        life: Life,
        wake: Wake,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// No reply may have come to this request.
    Impatient { tag: u64, attempt: u64 },
    /// A slot goes on with its job.
    Slot(usize),
    /// The lease is to be renewed.
    Renew,
    /// What was held is claimed again.
    Reclaim,
    /// A delegation is given back.
    Return(u64),
    /// A number is read without asking the server.
    ReadMemory(u64),
    /// EXCHANGE_ID or CREATE_SESSION is tried again.
    Establish,
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
    pub fn number(&mut self) -> u64 {
        *self.numbers += 1;
        *self.numbers
    }

    pub fn log(&mut self, what: What) {
        self.history.log(self.clock, what);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Dead,
    Exchanging,
    CreatingSession,
    Reclaiming,
    Completing,
    Working,
}

#[derive(Debug)]
pub struct Machine {
    life: Life,
    phase: Phase,
    connection: u64,
    client: ClientId,
    /// Of the next CREATE_SESSION.
    next_create: SequenceId,
    /// Of which each slot uses one.
    sessions: Vec<SessionId>,
    sessions_wanted: usize,
    /// A session is one of a server's life before: what was sent on it may be answered, and then there is a
    /// new one.
    dead: bool,
    /// EXCHANGE_ID or CREATE_SESSION.
    control: Option<Pending>,
    /// BIND_CONN_TO_SESSION, of each session.
    binds: Vec<Pending>,
    slots: Vec<Slot>,
    /// Still to be claimed, the next one last.
    claims: Vec<Claim>,
    /// Of files that it has opened.
    handles: BTreeMap<String, FileHandle>,
    delegations: Vec<Delegation>,
    chores: VecDeque<Chore>,
    /// Changes when what is being read must not be remembered.
    epoch: u64,
    /// Sequence numbers of the server's last callbacks by session and slot.
    callback_slots: BTreeMap<(SessionId, u32), u32>,
    /// No job is begun before.
    rests_until: u64,
    /// It wants delegations.
    delegates: bool,
    jobs_after: u32,
    /// `None` while there is no end of them.
    jobs_left: Option<u32>,
}

impl Machine {
    pub fn new(machine: usize, jobs_after: u32, delegates: bool, sessions_wanted: usize) -> Self {
        Self {
            life: Life { machine, life: 0 },
            phase: Phase::Dead,
            connection: 0,
            client: ClientId(0),
            next_create: SequenceId(0),
            sessions: Vec::new(),
            sessions_wanted,
            dead: false,
            control: None,
            binds: Vec::new(),
            slots: Vec::new(),
            claims: Vec::new(),
            handles: BTreeMap::new(),
            delegations: Vec::new(),
            chores: VecDeque::new(),
            epoch: 0,
            callback_slots: BTreeMap::new(),
            rests_until: 0,
            delegates,
            jobs_after,
            jobs_left: None,
        }
    }

    /// All jobs are done, and nothing is under way.
    pub fn is_done(&self) -> bool {
        self.jobs_left == Some(0) && self.slots.iter().all(|slot| slot.job.is_none())
    }

    /// From now on jobs are counted.
    pub fn end_soon(&mut self) {
        self.jobs_left = Some(self.jobs_after);
    }

    /// Begins no job for a while.
    pub fn rest(&mut self, until_ms: u64) {
        self.rests_until = until_ms;
    }

    /// A new life, unless this one goes on.
    pub fn start(&mut self, out: &mut Out<'_>) {
        if self.phase != Phase::Dead {
            return;
        }
        self.life.life += 1;
        self.connect(out);
        self.exchange_id(out);
        self.wake(out, RENEW_MS, Wake::Renew);
    }

    /// Ends without a word; memory is lost.
    pub fn die(&mut self, out: &mut Out<'_>) {
        (0..self.slots.len()).for_each(|index| self.release_all(index, out));
        let delegations: Vec<StateId> = self.delegations.iter().map(|held| held.state_id).collect();
        delegations.iter().for_each(|id| self.forget_delegation(id, out));
        let Self { life, jobs_after, jobs_left, delegates, sessions_wanted, .. } = *self;
        *self = Self { life, jobs_left, ..Self::new(life.machine, jobs_after, delegates, sessions_wanted) };
    }

    fn exchange_id(&mut self, out: &mut Out<'_>) {
        self.phase = Phase::Exchanging;
        let owner = format!("machine {}", self.life.machine);
        self.control = Some(self.send(Request::ExchangeId { owner, verifier: self.life.life }, out));
    }

    fn create_session(&mut self, out: &mut Out<'_>) {
        self.phase = Phase::CreatingSession;
        let request = Request::CreateSession { client: self.client, sequence: self.next_create };
        self.control = Some(self.send(request, out));
    }

    fn on_control(&mut self, request: &Request, outcome: Outcome, out: &mut Out<'_>) {
        match (request, outcome) {
            (Request::ExchangeId { .. }, Outcome::Done(done)) => {
                self.client = done.client.expect("EXCHANGE_ID gives it");
                self.next_create = done.sequence.expect("EXCHANGE_ID gives it");
                self.create_session(out);
            }
            (Request::CreateSession { .. }, Outcome::Done(done)) => {
                self.sessions.push(done.session.expect("CREATE_SESSION gives it"));
                self.next_create = self.next_create.next();
                if self.sessions.len() < self.sessions_wanted {
                    self.create_session(out);
                } else {
                    self.begin_session(out);
                }
            }
            (Request::CreateSession { .. }, Outcome::Refused(Status::StaleClientId)) => {
                self.sessions.clear();
                self.exchange_id(out);
            }
            (Request::ExchangeId { .. }, Outcome::Refused(Status::Delay)) => {
                self.wake(out, 500, Wake::Establish);
            }
            (request, outcome) => out.log(What::Unexpected(format!("{request:?}: {outcome:?}"))),
        }
    }

    pub fn on_wake(&mut self, life: Life, wake: Wake, out: &mut Out<'_>) {
        if life != self.life || self.phase == Phase::Dead {
            return;
        }
        match wake {
            Wake::Impatient { tag, attempt } => self.on_impatient(tag, attempt, out),
            Wake::Slot(index) => self.go_on(index, out),
            Wake::Renew => {
                self.renew(out);
                self.wake(out, RENEW_MS, Wake::Renew);
            }
            Wake::Return(hold) => self.return_delegation(hold, out),
            Wake::ReadMemory(hold) => self.read_memory(hold, out),
            Wake::Reclaim => self.claim_next(out),
            Wake::Establish => self.exchange_id(out),
        }
    }
}
