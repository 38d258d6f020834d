//! What goes wrong in a run, and when: all of it drawn from the seed before the run begins.

use crate::host::LIMITS;
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
    /// Stable storage refuses so many of a thousand changes.
    BreakDisk { for_ms: u64, per_mille: u64 },
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub machines: usize,
    /// Jobs of each machine after the last fault; before, there is no end of them.
    pub jobs_after: u32,
    /// Clients want delegations.
    pub delegations: bool,
    /// The server has stable storage.
    pub with_disk: bool,
    /// Of each client.
    pub sessions: usize,
    /// Clients that speak NFSv3 and NLM.
    pub strangers: usize,
    /// Sessions are persistent, where there is stable storage.
    pub keeps_sessions: bool,
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
        let delegations = random.chance(700);
        if random.chance(300) {
            faults.extend(Self::edge_condition(machines, random));
        }
        let strangers = random.below(3) as usize;
        if strangers > 0 {
            for _ in 0..random.below(3) {
                let machine = machines + random.below(strangers as u64) as usize;
                let death = Fault::Die { machine, away_ms: random.between(10, 8000) };
                faults.push((random.below(calm_from_ms), death));
            }
        }
        let last = faults.iter().map(|(at, _)| *at).max().unwrap_or_default();
        let calm_from_ms = calm_from_ms.max(last + 1);
        Self {
            machines,
            jobs_after: 4,
            delegations,
            with_disk: random.chance(750),
            weather: Self::weather(random),
            faults,
            calm_from_ms,
            keeps_sessions: random.chance(500),
            sessions: random.between(1, 3) as usize,
            strangers,
        }
    }

    /// RFC 8881 §8.4.3: a client is cut off for longer than its lease, and what it held is given to others;
    /// then the server crashes, and the client comes back and knows of nothing. In the second case it is the
    /// end of a grace period, after another crash, that it misses.
    fn edge_condition(machines: usize, random: &mut Random) -> Vec<(u64, Fault)> {
        // Long enough to lose everything, or a delegation.
        let lease_ms = u64::from(LIMITS.lease_seconds) * 1000;
        let lost_after_ms = if random.chance(500) { lease_ms } else { LIMITS.recall_ms };
        let (machine, from) = (random.below(machines as u64) as usize, random.between(1000, 15_000));
        let down_ms = random.between(10, 3000);
        let (mut faults, mut crash_after) = (Vec::new(), 0);
        if random.chance(500) {
            crash_after += random.between(10, 1000);
            faults.push((from + crash_after, Fault::Crash { down_ms }));
            crash_after += down_ms;
        }
        crash_after += lost_after_ms + random.between(1000, 9000);
        let for_ms = crash_after + random.between(100, 8000);
        faults.push((from, Fault::Partition { machine, for_ms }));
        faults.push((from + crash_after, Fault::Crash { down_ms }));
        faults
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
            _ => {
                let per_mille = if random.chance(500) { 1000 } else { 700 };
                Fault::BreakDisk { for_ms: random.between(500, 10_000), per_mille }
            }
        }
    }
}
