//! What goes wrong, and that it ends.

use super::{Event, Simulation};
use crate::history::What;
use crate::plan::Fault;

impl Simulation {
    pub(super) fn fault(&mut self, fault: Fault) {
        if let Fault::Jump { by_ms } = fault {
            self.clock.jump(by_ms);
        }
        self.log(What::Fault(fault));
        match fault {
            Fault::Cut { machine } => self.cut(Some(machine)),
            Fault::Partition { machine, for_ms } => {
                self.network.partition(machine, true);
                self.at(for_ms, Event::Rejoin(machine));
            }
            Fault::Mute { machine, for_ms } => {
                self.network.mute(machine, true);
                self.at(for_ms, Event::Unmute(machine));
            }
            Fault::Crash { down_ms } => {
                self.host.crash();
                self.cut(None);
                self.at(down_ms, Event::Boot);
            }
            Fault::Die { machine, away_ms } if self.is_stranger(machine) => {
                self.with_stranger(machine, |stranger, out| stranger.die(out));
                self.at(away_ms, Event::Start(machine));
            }
            Fault::Die { machine, away_ms } => {
                self.cut(Some(machine));
                self.with_machine(machine, |machine, out| machine.die(out));
                self.at(away_ms, Event::Start(machine));
            }
            Fault::Rest { machine, for_ms } => {
                let until_ms = self.clock.now() + for_ms;
                self.with_machine(machine, |machine, _| machine.rest(until_ms));
            }
            Fault::Jump { .. } => {}
            Fault::BreakDisk { for_ms, per_mille } => {
                self.host.disk.fail(per_mille);
                self.at(for_ms, Event::DiskWorks);
            }
        }
    }

    /// Breaks connections; both ends learn it, the client after a while.
    fn cut(&mut self, of: Option<usize>) {
        for connection in self.network.connections(of) {
            let Some(machine) = self.network.machine(connection) else { continue };
            self.network.close(connection);
            self.host.disconnect(connection);
            let delay = self.random.between(1, 500);
            self.at(delay, Event::Closed { machine, connection });
        }
    }

    pub(super) fn calm(&mut self) {
        self.log(What::Calm);
        self.network.calm();
        self.host.disk.fail(0);
        (0..self.machines.len()).for_each(|machine| self.with_machine(machine, |m, _| m.end_soon()));
        let jobs = self.plan.jobs_after;
        self.strangers.iter_mut().for_each(|stranger| stranger.end_soon(jobs));
    }
}
