//! What goes wrong in a run, and when: all of it drawn from the seed before the run begins.

use crate::random::Random;

/// How a network treats messages, each in so many of a thousand cases.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weather {
    pub lost: u64,
    pub repeated: u64,
    pub late: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A machine's connection breaks.
    Cut { machine: usize },
    /// Nothing gets through to or from a machine.
    Partition { machine: usize, for_ms: u64 },
    /// Callbacks to a machine, and its answers, are lost.
    Mute { machine: usize, for_ms: u64 },
    /// The server ends and starts again.
    Crash { down_ms: u64 },
    /// A machine ends and comes back.
    Die { machine: usize, away_ms: u64 },
    /// A machine begins no jobs.
    Rest { machine: usize, for_ms: u64 },
    /// The server's clock is put forward.
    Jump { by_ms: u64 },
    /// Stable storage refuses changes.
    BreakDisk { for_ms: u64 },
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub machines: usize,
    /// Jobs of each machine after the last fault; before, there is no end of them.
    pub jobs_after: u32,
    /// The server has stable storage.
    pub with_disk: bool,
    pub weather: Weather,
    /// With the time of each.
    pub faults: Vec<(u64, Fault)>,
    /// From then on everything works.
    pub calm_from_ms: u64,
}

impl Plan {
    pub fn new(random: &mut Random) -> Self {
        let machines = random.between(2, 4) as usize;
        let calm_from_ms = random.between(10_000, 60_000);
        let mut faults = Vec::new();
        let count = random.below(8);
        for _ in 0..count {
            let fault = Self::fault(machines, random);
            faults.push((random.below(calm_from_ms), fault));
        }
        Self {
            machines,
            jobs_after: 4,
            with_disk: random.chance(750),
            weather: Self::weather(random),
            faults,
            calm_from_ms,
        }
    }

    /// A quarter of the runs has no faults of the network, the others have some of them.
    fn weather(random: &mut Random) -> Weather {
        if random.chance(250) {
            return Weather::default();
        }
        Weather { lost: random.below(60), repeated: random.below(150), late: random.below(100) }
    }

    fn fault(machines: usize, random: &mut Random) -> Fault {
        let machine = random.below(machines as u64) as usize;
        match random.below(15) {
            0..=2 => Fault::Cut { machine },
            3..=4 => Fault::Partition { machine, for_ms: random.between(1000, 40_000) },
            5..=7 => Fault::Crash { down_ms: random.between(10, 8000) },
            8..=9 => Fault::Die { machine, away_ms: random.between(10, 20_000) },
            10..=11 => Fault::Mute { machine, for_ms: random.between(1000, 30_000) },
            12 => Fault::Rest { machine, for_ms: random.between(20_000, 60_000) },
            13 => Fault::Jump { by_ms: random.between(1000, 40_000) },
            _ => Fault::BreakDisk { for_ms: random.between(500, 10_000) },
        }
    }
}
