//! The way between machines and the server.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::Weather;
use crate::random::Random;

/// Who is connected, and what happens to messages.
#[derive(Debug)]
pub struct Network {
    weather: Weather,
    /// Each with its machine.
    open: BTreeMap<u64, usize>,
    cut_off: BTreeSet<usize>,
    /// Of these only callbacks are lost.
    mute: BTreeSet<usize>,
}

impl Network {
    pub fn new(weather: Weather) -> Self {
        Self { weather, open: BTreeMap::new(), cut_off: BTreeSet::new(), mute: BTreeSet::new() }
    }

    pub fn calm(&mut self) {
        self.weather = Weather::default();
        self.cut_off.clear();
        self.mute.clear();
    }

    pub fn connect(&mut self, connection: u64, machine: usize) {
        self.open.insert(connection, machine);
    }

    pub fn close(&mut self, connection: u64) {
        self.open.remove(&connection);
    }

    pub fn is_open(&self, connection: u64) -> bool {
        self.open.contains_key(&connection)
    }

    /// The machine at the other end of a connection.
    pub fn machine(&self, connection: u64) -> Option<usize> {
        self.open.get(&connection).copied()
    }

    pub fn connections(&self, of: Option<usize>) -> Vec<u64> {
        let wanted = |machine: usize| of.is_none_or(|of| of == machine);
        self.open.iter().filter(|(_, machine)| wanted(**machine)).map(|(id, _)| *id).collect()
    }

    /// From now on nothing gets through, or everything again.
    pub fn partition(&mut self, machine: usize, apart: bool) {
        if apart {
            self.cut_off.insert(machine);
        } else {
            self.cut_off.remove(&machine);
        }
    }

    /// From now on callbacks do not get through, or do again.
    pub fn mute(&mut self, machine: usize, mute: bool) {
        if mute {
            self.mute.insert(machine);
        } else {
            self.mute.remove(&machine);
        }
    }

    /// As [`Network::delays`], for callbacks and their answers.
    pub fn callback_delays(&self, connection: u64, random: &mut Random) -> Vec<u64> {
        let is_mute = self.machine(connection).is_some_and(|machine| self.mute.contains(&machine));
        if is_mute { Vec::new() } else { self.delays(connection, random) }
    }

    /// After how many milliseconds a message arrives: never, once, or more often.
    pub fn delays(&self, connection: u64, random: &mut Random) -> Vec<u64> {
        let Some(machine) = self.machine(connection) else { return Vec::new() };
        if self.cut_off.contains(&machine) || random.chance(self.weather.lost) {
            return Vec::new();
        }
        let mut delays = vec![self.delay(random)];
        if random.chance(self.weather.repeated) {
            delays.push(self.delay(random));
        }
        delays
    }

    fn delay(&self, random: &mut Random) -> u64 {
        if random.chance(self.weather.late) { random.between(20, 15_000) } else { random.between(1, 20) }
    }
}
