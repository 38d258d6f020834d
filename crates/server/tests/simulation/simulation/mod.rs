//! One run: the machines, the network and the server, as one queue of events.

mod effects;
mod faults;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::action::{Life, Request};
use crate::history::{History, Violation, What};
use crate::host::{Clock, FromServer, Host};
use crate::machine::{Machine, Wake};
use crate::network::Network;
use crate::plan::{Fault, Plan};
use crate::random::Random;
use crate::stranger::Stranger;
use crate::wire;

/// Events after which a run is taken for one that does not end.
const EVENTS_MAX: u32 = 1_000_000;
/// After the last job: longer than the server calls a host that does not answer.
const GRANTS_END_MS: u64 = 15_000;
/// How late GRANTED and its answer come at most. Both together take less time than the server waits for the
/// answer: a host that has accepted a lock and cannot say so loses it, which is the protocol's limit and
/// not looked for here.
const GRANTED_LATE_MS: u64 = 1400;
/// How long the clients may take for their last jobs when everything works: leases end, a grace period
/// passes, delegations are revoked, and callbacks time out, one after the other.
const LIVENESS_MS: u64 = 100_000;

enum Event {
    Start(usize),
    Request {
        connection: u64,
        tag: u64,
        bytes: Bytes,
    },
    Reply {
        connection: u64,
        tag: u64,
        bytes: Bytes,
    },
    Callback {
        connection: u64,
        call: u64,
        procedure: u32,
        bytes: Bytes,
    },
    Answer {
        connection: u64,
        call: u64,
        bytes: Bytes,
    },
    /// GRANTED comes to a host, from a call that was made at a time.
    HostCall {
        call: u64,
        made_ms: u64,
        bytes: Bytes,
    },
    HostAnswer {
        call: u64,
        bytes: Bytes,
    },
    /// A machine learns that its connection is gone.
    Closed {
        machine: usize,
        connection: u64,
    },
    Wake {
        life: Life,
        wake: Wake,
    },
    Fault(Fault),
    Boot,
    Rejoin(usize),
    Unmute(usize),
    DiskWorks,
    Calm,
    End,
}

pub struct Simulation {
    clock: Arc<Clock>,
    random: Random,
    plan: Plan,
    network: Network,
    host: Host,
    machines: Vec<Machine>,
    /// Numbered after the machines.
    strangers: Vec<Stranger>,
    queue: BTreeMap<(u64, u64), Event>,
    queued: u64,
    numbers: u64,
    history: History,
    /// Requests that the server never gets.
    deaf_to: fn(&Request) -> bool,
}

impl Simulation {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self::with(Plan::new(&mut random), random)
    }

    pub fn with(plan: Plan, mut random: Random) -> Self {
        let clock = Arc::new(Clock::default());
        Self {
            host: Host::new(&clock, &mut random),
            clock,
            random,
            network: Network::new(plan.weather),
            machines: (0..plan.machines)
                .map(|index| Machine::new(index, plan.jobs_after, plan.delegations, plan.sessions))
                .collect(),
            strangers: (0..plan.strangers).map(|index| Stranger::new(plan.machines + index)).collect(),
            plan,
            queue: BTreeMap::new(),
            queued: 0,
            numbers: 0,
            history: History::default(),
            deaf_to: |_| false,
        }
    }

    /// With a server that does not hear some requests.
    pub fn deaf_to(self, deaf_to: fn(&Request) -> bool) -> Self {
        Self { deaf_to, ..self }
    }

    /// Runs until all jobs are done; what happened, and whether they were done in time.
    pub fn run(mut self) -> (History, Result<(), Violation>) {
        let calm_from = self.plan.calm_from_ms;
        self.boot();
        let clients = self.machines.len() + self.strangers.len();
        (0..clients).for_each(|machine| self.at(0, Event::Start(machine)));
        for (at, fault) in std::mem::take(&mut self.plan.faults) {
            self.at(at, Event::Fault(fault));
        }
        self.at(calm_from, Event::Calm);
        for _ in 0..EVENTS_MAX {
            if self.machines.iter().all(Machine::is_done) && self.strangers.iter().all(Stranger::is_done) {
                return (self.finish(), Ok(()));
            }
            if self.clock.now() > calm_from + LIVENESS_MS {
                let busy: Vec<&Machine> = self.machines.iter().filter(|machine| !machine.is_done()).collect();
                let strangers: Vec<_> =
                    self.strangers.iter().filter(|stranger| !stranger.is_done()).collect();
                let violation = Violation(format!("these clients do not finish: {busy:#?} {strangers:#?}"));
                return (self.history, Err(violation));
            }
            self.step();
        }
        panic!("time does not go on");
    }

    /// Lets grants end that are under way, and looks at what is left.
    fn finish(mut self) -> History {
        let end = self.clock.now() + GRANTS_END_MS;
        self.at(GRANTS_END_MS, Event::End);
        while self.clock.now() < end {
            self.step();
        }
        let left = self.host.locking_hosts();
        self.log(What::Left(left));
        self.history
    }

    fn boot(&mut self) {
        if !self.host.is_up() {
            let random = self.random.fork();
            self.host.start(self.plan.with_disk, self.plan.keeps_sessions, random);
            self.log(What::Boot { remembers: self.plan.with_disk });
        }
    }

    fn log(&mut self, what: What) {
        self.history.log(&self.clock, what);
    }

    fn at(&mut self, after_ms: u64, event: Event) {
        self.queued += 1;
        self.queue.insert((self.clock.now() + after_ms, self.queued), event);
    }

    /// Goes to the next event, and lets the server work.
    fn step(&mut self) {
        let next = self.queue.keys().next().map(|key| key.0);
        let timer = self.host.next_timer();
        let at = next.into_iter().chain(timer).min().expect("something is always due");
        self.clock.set(at.max(self.clock.now()));
        if next == Some(at) {
            let (_, event) = self.queue.pop_first().expect("just seen");
            self.handle(event);
        }
        for sent in self.host.run() {
            self.carry(sent);
        }
    }

    /// Takes over what the server sends.
    fn carry(&mut self, sent: FromServer) {
        match sent {
            FromServer::Reply { connection, tag, bytes } => {
                let outcome = wire::decode(&self.history.requests[&tag].1, &bytes);
                self.log(What::Answered { tag, reply: bytes.clone(), outcome });
                for delay in self.delays(connection) {
                    self.at(delay, Event::Reply { connection, tag, bytes: bytes.clone() });
                }
            }
            FromServer::HostCall { call, bytes } => {
                let made_ms = self.clock.now();
                for delay in self.granted_delays() {
                    self.at(delay, Event::HostCall { call, made_ms, bytes: bytes.clone() });
                }
            }
            FromServer::Callback { connection, call, procedure, bytes } => {
                for delay in self.network.callback_delays(connection, &mut self.random) {
                    let bytes = bytes.clone();
                    self.at(delay, Event::Callback { connection, call, procedure, bytes });
                }
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Start(machine) if self.is_stranger(machine) => {
                self.with_stranger(machine, |stranger, out| stranger.revive(out));
            }
            Event::Start(machine) => self.with_machine(machine, |machine, out| machine.start(out)),
            Event::Request { connection, tag, bytes } => {
                let (life, request) = &self.history.requests[&tag];
                let is_open = self.network.is_open(connection);
                // Of a client without state nothing may be carried out late: it cannot tell.
                if (self.deaf_to)(request) || self.is_stranger(life.machine) && !is_open {
                    return;
                }
                let (machine, number) = (life.machine, wire::procedure(request));
                // What was sent before a connection broke may be read after.
                if self.host.request((connection, is_open), machine, tag, number, bytes) {
                    self.log(What::Arrived { tag });
                }
            }
            Event::Reply { connection, tag, bytes } => match self.network.machine(connection) {
                Some(machine) if self.is_stranger(machine) => {
                    self.with_stranger(machine, |stranger, out| stranger.on_reply(tag, &bytes, out));
                }
                Some(machine) => {
                    self.with_machine(machine, |machine, out| machine.on_reply(tag, &bytes, out));
                }
                None => {}
            },
            Event::Callback { connection, call, procedure, bytes } => {
                if let Some(machine) = self.network.machine(connection) {
                    let callback = (connection, call, procedure);
                    self.with_machine(machine, |machine, out| machine.on_callback(callback, &bytes, out));
                }
            }
            Event::Answer { connection, call, bytes } => self.host.answer(connection, call, bytes),
            Event::Closed { machine, connection } if self.is_stranger(machine) => {
                self.with_stranger(machine, |stranger, out| stranger.on_closed(connection, out));
            }
            Event::Closed { machine, connection } => {
                self.with_machine(machine, |machine, out| machine.on_closed(connection, out));
            }
            Event::Wake { life, wake } if self.is_stranger(life.machine) => {
                self.with_stranger(life.machine, |stranger, out| stranger.on_wake(life, wake, out));
            }
            Event::Wake { life, wake } => {
                self.with_machine(life.machine, |machine, out| machine.on_wake(life, wake, out));
            }
            Event::Fault(fault) => self.fault(fault),
            Event::Boot => self.boot(),
            Event::Rejoin(machine) => self.network.partition(machine, false),
            Event::Unmute(machine) => self.network.mute(machine, false),
            Event::DiskWorks => self.host.disk.fail(0),
            Event::Calm => self.calm(),
            Event::End => {}
            Event::HostCall { call, made_ms, bytes } => {
                let (cookie, machine, offset) = wire::granted(&bytes);
                let mut answer = None;
                self.with_stranger(machine, |stranger, out| {
                    answer = stranger.on_granted((call, made_ms), cookie, offset, out);
                });
                let Some(accepts) = answer else { return };
                let delay = self.random.between(1, GRANTED_LATE_MS);
                self.at(delay, Event::HostAnswer { call, bytes: wire::granted_answer(accepts) });
            }
            Event::HostAnswer { call, bytes } => self.host.answer_of_host(call, bytes),
        }
    }
}
