//! What machines bring about.

use super::{Event, GRANTED_LATE_MS, Simulation};
use crate::history::What;
use crate::machine::{Effect, Machine, Out};
use crate::stranger::Stranger;

impl Simulation {
    /// Lets a machine handle something.
    pub(super) fn with_machine(&mut self, machine: usize, work: impl FnOnce(&mut Machine, &mut Out<'_>)) {
        let mut out = Out {
            clock: &self.clock,
            random: &mut self.random,
            history: &mut self.history,
            effects: Vec::new(),
            numbers: &mut self.numbers,
        };
        work(&mut self.machines[machine], &mut out);
        for effect in out.effects {
            self.bring_about(machine, effect);
        }
    }

    /// Lets a client without state handle something.
    pub(super) fn with_stranger(&mut self, machine: usize, work: impl FnOnce(&mut Stranger, &mut Out<'_>)) {
        let mut out = Out {
            clock: &self.clock,
            random: &mut self.random,
            history: &mut self.history,
            effects: Vec::new(),
            numbers: &mut self.numbers,
        };
        work(&mut self.strangers[machine - self.machines.len()], &mut out);
        for effect in out.effects {
            self.bring_about(machine, effect);
        }
    }

    pub(super) fn is_stranger(&self, machine: usize) -> bool {
        machine >= self.machines.len()
    }

    /// After how many milliseconds a message over a connection arrives: never, once, or more often.
    pub(super) fn delays(&mut self, connection: u64) -> Vec<u64> {
        match self.network.machine(connection) {
            Some(machine) if self.is_stranger(machine) => vec![self.random.between(1, 20)],
            _ => self.network.delays(connection, &mut self.random),
        }
    }

    /// As [`Simulation::delays`], for GRANTED.
    pub(super) fn granted_delays(&mut self) -> Vec<u64> {
        if self.clock.now() < self.plan.calm_from_ms && self.random.chance(200) {
            self.log(What::GrantedLost);
            return Vec::new();
        }
        let copies = if self.random.chance(150) { 2 } else { 1 };
        let longest = if self.random.chance(300) { GRANTED_LATE_MS } else { 20 };
        (0..copies).map(|_| self.random.between(1, longest)).collect()
    }

    fn bring_about(&mut self, machine: usize, effect: Effect) {
        match effect {
            Effect::Connect(connection) => self.network.connect(connection, machine),
            Effect::Close(connection) => {
                self.network.close(connection);
                self.host.disconnect(connection);
            }
            Effect::Send { connection, tag, bytes } => {
                for delay in self.delays(connection) {
                    self.at(delay, Event::Request { connection, tag, bytes: bytes.clone() });
                }
            }
            Effect::Answer { connection, call, bytes } => {
                for delay in self.network.callback_delays(connection, &mut self.random) {
                    self.at(delay, Event::Answer { connection, call, bytes: bytes.clone() });
                }
            }
            Effect::Wake { at_ms, life, wake } => {
                self.at(at_ms - self.clock.now(), Event::Wake { life, wake });
            }
        }
    }
}
