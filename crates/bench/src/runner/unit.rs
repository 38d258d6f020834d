//! One point of an experiment at one delay: blocks of runs, in each of which every arm has its turn.

use std::time::Instant;

use super::Error;
use super::arm::Arm;
use super::delegating::Delegating;
use super::journal::{Entry, Journal};
use super::measure::{Number, Trial};
use super::network::Delay;
use crate::experiment::Experiment;
use crate::order;
use crate::results::{Cell, Metric, PHASE, Run, Setting};
use crate::statistics::Look;
use crate::terminal::{Beginning, Progress};
use crate::workload::Part;

/// What all units of a benchmark have in common.
pub(crate) struct Common<'a> {
    pub(crate) arms: &'a [Arm],
    pub(crate) seed: u64,
    /// After how many blocks the arms are compared.
    pub(crate) looks: &'a [Look],
    /// Which arms have delegations.
    pub(crate) delegating: &'a Delegating,
}

/// For each arm its runs, one for each part that is measured.
type Block = Vec<Vec<Run>>;

/// A point of an experiment at a delay, with the blocks that were measured.
pub(crate) struct Unit<'a> {
    trial: &'a Trial<'a>,
    delay: &'a Delay,
    /// The place of the delay among all, from 0.
    nth_delay: u64,
    blocks: Vec<Block>,
    /// Time that the blocks took which were measured now, and how many they are.
    seconds: f64,
    measured: u32,
}

impl<'a> Unit<'a> {
    pub(crate) fn new(trial: &'a Trial<'a>, (delay, nth_delay): (&'a Delay, u64)) -> Self {
        Self { trial, delay, nth_delay, blocks: Vec::new(), seconds: 0.0, measured: 0 }
    }

    pub(crate) fn trial(&self) -> &'a Trial<'a> {
        self.trial
    }

    /// "create · threads 4 at 10 ms".
    pub(crate) fn name(&self) -> String {
        format!("{} at {} ms", self.trial.name(), self.delay.rtt_ms)
    }

    /// Blocks that are complete.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Mean time of a block in seconds; none where all came out of a journal.
    pub(crate) fn block_seconds(&self) -> Option<f64> {
        (self.measured > 0).then(|| self.seconds / f64::from(self.measured))
    }

    /// Whether `cell` is one of this unit.
    pub(crate) fn has(&self, common: &Common<'_>, cell: &Cell) -> bool {
        let parts = || measured(self.trial);
        let mut settings = common.arms.iter().flat_map(|arm| parts().map(move |part| (arm, part)));
        settings.any(|(arm, part)| self.setting(part, arm) == cell.setting)
    }

    /// Makes blocks until there are `count`; those that the journal has are not made again.
    pub(crate) async fn measure(
        &mut self,
        common: &Common<'_>,
        count: u32,
        journal: &mut Journal,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        while self.blocks() < count {
            let block = match self.known(common, journal, self.blocks()) {
                Some(block) => {
                    for (arm, runs) in common.arms.iter().zip(&block) {
                        self.tell(arm, runs, progress);
                    }
                    block
                }
                None => {
                    let began = Instant::now();
                    let block = self.make(common, count, journal, progress).await?;
                    self.seconds += began.elapsed().as_secs_f64();
                    self.measured += 1;
                    block
                }
            };
            self.blocks.push(block);
        }
        Ok(())
    }

    /// The cells of all arms, part by part.
    pub(crate) fn cells(&self, common: &Common<'_>) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (part, nth) in measured(self.trial).zip(0..) {
            for (arm, index) in common.arms.iter().zip(0..) {
                let runs = self.blocks.iter().filter_map(|block| block[index].get(nth).cloned()).collect();
                let cell = Cell::from_runs(self.setting(part, arm), runs);
                let (looks, against) = (common.looks.to_vec(), arm.against.clone());
                cells.extend(cell.map(|cell| Cell { looks, against, ..cell }));
            }
        }
        cells
    }

    /// Whether the journal has the first `count` blocks, so that nothing need be prepared for them.
    pub(crate) fn all_known(&self, common: &Common<'_>, journal: &Journal, count: u32) -> bool {
        (0..count).all(|block| self.known(common, journal, block).is_some())
    }

    /// Measures the next block of at least `count`.
    async fn make(
        &self,
        common: &Common<'_>,
        count: u32,
        journal: &mut Journal,
        progress: &mut Progress,
    ) -> Result<Block, Error> {
        let block = self.blocks();
        let arms = common.arms;
        let mut made = vec![Vec::new(); arms.len()];
        let place = self.trial.placed.number << 16 | self.nth_delay;
        for (index, turn) in order::of_block(common.seed, place, block, arms.len()).into_iter().zip(1..) {
            // No other run of this point has the number, at whatever delay.
            let run = self.nth_delay << 32 | (u64::from(block) * arms.len() as u64 + turn);
            let arm = &arms[index];
            let meters = progress.run_begins(self.beginning(arm, block, count));
            let link = &self.delay.links[arm.server];
            made[index] = self.trial.run(arm, link, Number { block, run }, meters).await?;
            for (part, run) in measured(self.trial).zip(&made[index]) {
                journal.add(Entry { setting: self.setting(part, arm), run: run.clone() })?;
            }
            self.tell(arm, &made[index], progress);
        }
        Ok(made)
    }

    fn beginning(&self, arm: &Arm, block: u32, count: u32) -> Beginning {
        let trial = self.trial;
        Beginning {
            name: trial.name(),
            arm: arm.name(),
            rtt_ms: self.delay.rtt_ms,
            repetition: block + 1,
            repetitions: count,
            clients: trial.setup().clients,
            threads: trial.placed.parts.iter().map(|part| part.threads).max().unwrap_or_default(),
            is_here: trial.hosts.is_none(),
        }
    }

    /// A block that the journal has, whole.
    fn known(&self, common: &Common<'_>, journal: &Journal, block: u32) -> Option<Block> {
        let of_arm = |arm: &Arm| -> Option<Vec<Run>> {
            measured(self.trial).map(|part| journal.run(&self.setting(part, arm), block).cloned()).collect()
        };
        common.arms.iter().map(of_arm).collect()
    }

    /// Tells what a run gave, for each part, and that it is done.
    fn tell(&self, arm: &Arm, runs: &[Run], progress: &mut Progress) {
        for (part, run) in measured(self.trial).zip(runs) {
            progress.measured(&self.setting(part, arm), run);
        }
        progress.run_done();
    }

    fn setting(&self, part: &Part, arm: &Arm) -> Setting {
        let trial = self.trial;
        let Experiment { name, metric, .. } = trial.placed.experiment;
        let mut levels = trial.placed.point.levels.clone();
        levels.extend(part.name.as_ref().map(|name| (PHASE.to_owned(), name.clone())));
        let unit = part.unit.as_ref().unwrap_or(&metric.unit);
        Setting {
            experiment: name.clone(),
            levels,
            arm: arm.id.arm.clone(),
            version: arm.version().to_owned(),
            delegations: arm.id.delegations,
            server: trial.server(arm).name.clone(),
            client: trial.clients(arm).kind().as_str().to_owned(),
            rtt_ms: self.delay.rtt_ms,
            clients: trial.setup().clients,
            threads: part.threads,
            io_bytes: trial.setup().workload.io_bytes(),
            metric: Metric { unit: unit.clone(), ..metric.clone() },
            label: String::new(),
        }
    }
}

fn measured<'a>(trial: &'a Trial<'_>) -> impl Iterator<Item = &'a Part> {
    trial.placed.parts.iter().filter(|part| part.measured)
}
