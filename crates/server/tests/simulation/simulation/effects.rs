//! What machines bring about.

use super::{Event, Simulation};
use crate::machine::{Effect, Machine, Out};

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

    fn bring_about(&mut self, machine: usize, effect: Effect) {
        match effect {
            Effect::Connect(connection) => self.network.connect(connection, machine),
            Effect::Close(connection) => {
                self.network.close(connection);
                self.host.disconnect(connection);
            }
            Effect::Send { connection, tag, bytes } => {
                for delay in self.network.delays(connection, &mut self.random) {
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
