//! The blocks of one point of an experiment: in each every arm once, through one link.

use super::arm::Arm;
use super::journal::{Entry, Journal};
use super::link::Link;
use super::measure::{Number, Trial};
use super::{Error, order};
use crate::experiment::Experiment;
use crate::results::{Cell, Metric, PHASE, Run, Setting, named};
use crate::terminal::{Beginning, Progress};
use crate::workload::Part;

/// What is measured in blocks.
pub(crate) struct Blocks<'a> {
    pub(crate) arms: &'a [Arm],
    /// How many.
    pub(crate) count: u32,
    pub(crate) seed: u64,
    /// The number of the point among all of the benchmark.
    pub(crate) number: u64,
}

/// For each arm its runs, one for each part that is measured.
type Block = Vec<Vec<Run>>;

impl Blocks<'_> {
    /// The cells of all arms, with a block measured only where the journal does not have it already.
    pub(crate) async fn measure(
        &self,
        trial: &Trial<'_>,
        links: &[Link],
        journal: &mut Journal,
        progress: &mut Progress,
    ) -> Result<Vec<Cell>, Error> {
        let mut cells = Vec::new();
        let mut run = 0;
        for (link, nth) in links.iter().zip(0..) {
            progress.step(&format!("{} at {} ms", named(&trial.experiment.name, trial.levels), link.rtt_ms));
            let mut blocks: Vec<Block> = Vec::new();
            for block in 0..self.count {
                let known = self.known(trial, journal, link.rtt_ms, block);
                let made = match known {
                    Some(made) => {
                        for (arm, runs) in self.arms.iter().zip(&made) {
                            tell(trial, arm, link.rtt_ms, runs, progress);
                        }
                        made
                    }
                    None => self.make(trial, (link, nth), Number { block, run }, journal, progress).await?,
                };
                run += self.arms.len() as u64;
                blocks.push(made);
            }
            for (part, nth) in measured(trial).zip(0..) {
                for (arm, index) in self.arms.iter().zip(0..) {
                    let runs = blocks.iter().filter_map(|block| block[index].get(nth).cloned()).collect();
                    cells.extend(Cell::from_runs(setting(trial, part, arm, link.rtt_ms), runs));
                }
            }
        }
        Ok(cells)
    }

    /// Measures a block; `number` is that of the run before.
    async fn make(
        &self,
        trial: &Trial<'_>,
        (link, nth): (&Link, u64),
        number: Number,
        journal: &mut Journal,
        progress: &mut Progress,
    ) -> Result<Block, Error> {
        let Number { block, mut run } = number;
        let mut made = vec![Vec::new(); self.arms.len()];
        for index in order::of_block(self.seed, self.number << 16 | nth, block, self.arms.len()) {
            run += 1;
            let arm = &self.arms[index];
            let meters = progress.run_begins(self.beginning(trial, arm, link.rtt_ms, block));
            made[index] = trial.run(arm, &link.address, Number { block, run }, meters).await?;
            for (part, run) in measured(trial).zip(&made[index]) {
                journal.add(Entry { setting: setting(trial, part, arm, link.rtt_ms), run: run.clone() })?;
            }
            tell(trial, arm, link.rtt_ms, &made[index], progress);
        }
        Ok(made)
    }

    fn beginning(&self, trial: &Trial<'_>, arm: &Arm, rtt_ms: f64, block: u32) -> Beginning {
        Beginning {
            name: named(&trial.experiment.name, trial.levels),
            arm: arm.name(),
            rtt_ms,
            repetition: block + 1,
            repetitions: self.count,
            clients: trial.setup.clients,
            threads: trial.parts.iter().map(|part| part.threads).max().unwrap_or_default(),
            is_here: trial.hosts.is_none(),
        }
    }

    /// A block that the journal has, whole.
    fn known(&self, trial: &Trial<'_>, journal: &Journal, rtt_ms: f64, block: u32) -> Option<Block> {
        let of_arm = |arm: &Arm| -> Option<Vec<Run>> {
            measured(trial)
                .map(|part| journal.run(&setting(trial, part, arm, rtt_ms), block).cloned())
                .collect()
        };
        self.arms.iter().map(of_arm).collect()
    }

    /// Whether the journal has every block at this delay, so that nothing need be prepared for them.
    pub(crate) fn all_known(&self, trial: &Trial<'_>, journal: &Journal, rtt_ms: f64) -> bool {
        (0..self.count).all(|block| self.known(trial, journal, rtt_ms, block).is_some())
    }
}

/// Tells what a run gave, for each part, and that it is done.
fn tell(trial: &Trial<'_>, arm: &Arm, rtt_ms: f64, runs: &[Run], progress: &mut Progress) {
    for (part, run) in measured(trial).zip(runs) {
        progress.measured(&setting(trial, part, arm, rtt_ms), run);
    }
    progress.run_done();
}

fn measured<'a>(trial: &Trial<'a>) -> impl Iterator<Item = &'a Part> + use<'a> {
    trial.parts.iter().filter(|part| part.measured)
}

fn setting(trial: &Trial<'_>, part: &Part, arm: &Arm, rtt_ms: f64) -> Setting {
    let Experiment { name, metric, .. } = trial.experiment;
    let mut levels = trial.levels.clone();
    levels.extend(part.name.as_ref().map(|name| (PHASE.to_owned(), name.clone())));
    let unit = part.unit.as_ref().unwrap_or(&metric.unit);
    Setting {
        experiment: name.clone(),
        levels,
        version: arm.version.clone(),
        delegations: arm.delegations,
        server: trial.server.name.clone(),
        client: trial.clients.kind().as_str().to_owned(),
        rtt_ms,
        clients: trial.setup.clients,
        threads: part.threads,
        io_bytes: trial.setup.workload.io_bytes(),
        metric: Metric { unit: unit.clone(), ..metric.clone() },
        label: String::new(),
    }
}
