//! One run: the machines, the network and the server, as one queue of events.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::action::Life;
use crate::history::{History, What};
use crate::host::{Clock, FromServer, Host};
use crate::machine::{Effect, Machine, Out, Wake};
use crate::random::Random;

/// Events after which a run is taken for one that does not end.
const EVENTS_MAX: u32 = 1_000_000;

enum Event {
    Start(usize),
    Request { connection: u64, tag: u64, bytes: Bytes },
    Reply { tag: u64, bytes: Bytes },
    Wake { life: Life, wake: Wake },
}

pub struct Simulation {
    clock: Arc<Clock>,
    random: Random,
    host: Host,
    machines: Vec<Machine>,
    queue: BTreeMap<(u64, u64), Event>,
    queued: u64,
    numbers: u64,
    history: History,
}

impl Simulation {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let clock = Arc::new(Clock::default());
        let host = Host::new(&clock, &mut random);
        Self {
            host,
            clock,
            machines: (0..2).map(|machine| Machine::new(machine, 20)).collect(),
            random,
            queue: BTreeMap::new(),
            queued: 0,
            numbers: 0,
            history: History::default(),
        }
    }

    /// Runs until all jobs are done; what happened.
    pub fn run(mut self) -> History {
        self.boot();
        (0..self.machines.len()).for_each(|machine| self.at(0, Event::Start(machine)));
        for _ in 0..EVENTS_MAX {
            if self.machines.iter().all(Machine::is_done) {
                return self.history;
            }
            self.step();
        }
        panic!("the clients do not finish");
    }

    fn boot(&mut self) {
        let random = self.random.fork();
        self.host.start(true, random);
        self.log(What::Boot { remembers: true });
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
            match sent {
                FromServer::Reply { tag, bytes, .. } => {
                    self.log(What::Answered { tag, reply: bytes.clone() });
                    let delay = self.random.between(1, 20);
                    self.at(delay, Event::Reply { tag, bytes });
                }
                FromServer::Callback { .. } => {}
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Start(machine) => self.with(machine, |machine, out| machine.start(out)),
            Event::Request { connection, tag, bytes } => {
                self.log(What::Arrived { tag });
                self.host.request(connection, tag, bytes);
            }
            Event::Reply { tag, bytes } => {
                let machine = self.history.requests[&tag].0.machine;
                self.with(machine, |machine, out| machine.on_reply(tag, &bytes, out));
            }
            Event::Wake { life, wake } => {
                self.with(life.machine, |machine, out| machine.on_wake(wake, out));
            }
        }
    }

    fn with(&mut self, machine: usize, work: impl FnOnce(&mut Machine, &mut Out<'_>)) {
        let mut out = Out {
            clock: &self.clock,
            random: &mut self.random,
            history: &mut self.history,
            effects: Vec::new(),
            numbers: &mut self.numbers,
        };
        work(&mut self.machines[machine], &mut out);
        for effect in out.effects {
            match effect {
                Effect::Send { connection, tag, bytes } => {
                    let delay = self.random.between(1, 20);
                    self.at(delay, Event::Request { connection, tag, bytes });
                }
                Effect::Wake { at_ms, life, wake } => {
                    self.at(at_ms - self.clock.now(), Event::Wake { life, wake });
                }
            }
        }
    }
}
