//! How busy the processors and disks of a machine are, as its kernel counts it for all programs.
//!
//! Reads `/proc`. What cannot be read there is left out.

mod diskstats;
mod volume;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use self::diskstats::{devices, whole_disks};
use self::volume::Volume;
use crate::results::Disk;

/// The counters at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// By the machine's own clock, which is never set.
    at: Duration,
    /// Ticks in which processors worked, and all ticks.
    processors: Option<(u64, u64)>,
    /// Ticks that other machines of the same host took, and all ticks.
    #[serde(default)]
    stolen: Option<(u64, u64)>,
    /// Ticks in which a processor had nothing to do and a request to a disk was under way, and all ticks.
    #[serde(default)]
    io_wait: Option<(u64, u64)>,
    /// Time with requests of each disk, in milliseconds.
    disks: BTreeMap<String, u64>,
    /// Of the device under the export; `None` where no export was asked for.
    #[serde(default)]
    volume: Option<Volume>,
}

/// How busy a machine was between two moments, as shares of that time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Load {
    /// Of all processors together; none where they are not counted.
    pub(crate) processors: Option<f64>,
    /// What other machines of the same host took of the processors; none where that is not counted.
    pub(crate) stolen: Option<f64>,
    /// The share of time that processors waited for disks; none where that is not counted.
    pub(crate) io_wait: Option<f64>,
    /// Of the busiest disk; none where no disk is counted.
    pub(crate) disk: Option<f64>,
    /// Counts of the device under the export; none where that was not asked for or is not counted.
    pub(crate) volume: Option<Disk>,
}

impl Counted {
    /// Looks at this machine now, and at the device under the first of `exports` that exists, or at all whole
    /// disks where none does. `None` asks for no device.
    pub(crate) fn look<P: AsRef<Path>>(exports: Option<&[P]>) -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let (stat, diskstats) = (read("/proc/stat"), read("/proc/diskstats"));
        Self {
            at: Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default(),
            processors: processors(&stat),
            stolen: ticks_of(&stat, STEAL),
            io_wait: ticks_of(&stat, IO_WAIT),
            disks: busy_disks(&diskstats),
            volume: exports.and_then(|exports| Volume::look(exports, &diskstats)),
        }
    }

    /// How busy the machine was since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Load {
        let elapsed_ms = self.at.saturating_sub(earlier.at).as_secs_f64() * 1000.0;
        let disk = |(name, busy_ms): (&String, &u64)| {
            let before = earlier.disks.get(name)?;
            (elapsed_ms > 0.0).then(|| (busy_ms.saturating_sub(*before) as f64 / elapsed_ms).min(1.0))
        };
        let worked = |((worked, all), (worked_before, all_before)): ((u64, u64), (u64, u64))| {
            // A run shorter than a tick has none.
            let ticks = all.saturating_sub(all_before).max(1);
            (worked.saturating_sub(worked_before) as f64 / ticks as f64).min(1.0)
        };
        Load {
            processors: self.processors.zip(earlier.processors).map(worked),
            stolen: self.stolen.zip(earlier.stolen).map(worked),
            io_wait: self.io_wait.zip(earlier.io_wait).map(worked),
            disk: self.disks.iter().filter_map(disk).max_by(f64::total_cmp),
            volume: self.volume.zip(earlier.volume).and_then(|(after, before)| after.since(&before)),
        }
    }
}

/// Places in the line of all processors in `/proc/stat`.
const IDLE: usize = 3;
const IO_WAIT: usize = 4;
const STEAL: usize = 7;

/// Of `/proc/stat`: ticks worked and all ticks, of all processors together. Waiting for a disk is no work.
fn processors(stat: &str) -> Option<(u64, u64)> {
    let (idle, all) = ticks_of(stat, IDLE)?;
    let (waited, _) = ticks_of(stat, IO_WAIT)?;
    Some((all - idle - waited, all))
}

/// Of `/proc/stat`: the ticks at `place` of the line of all processors, and all ticks.
fn ticks_of(stat: &str, place: usize) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // user, nice, system, idle, iowait, irq, softirq, steal; what guests take is part of the first two.
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    let all = ticks.iter().try_fold(0_u64, |sum, one| sum.checked_add(*one))?;
    Some((*ticks.get(place)?, all))
}

/// Of `/proc/diskstats`: the milliseconds with requests of each whole disk.
fn busy_disks(diskstats: &str) -> BTreeMap<String, u64> {
    let all = devices(diskstats);
    whole_disks(&all).map(|disk| (disk.name.clone(), disk.busy_ms)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_no_work() {
        let stat = "cpu  100 10 50 700 40 1 2 3 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\nintr 5\n";
        assert_eq!((processors(stat), ticks_of(stat, STEAL)), (Some((166, 906)), Some((3, 906))));
        assert_eq!(ticks_of(stat, IO_WAIT), Some((40, 906)));
        assert_eq!(processors("intr 5\n"), None);
        assert_eq!(processors("cpu  1 2\n"), None);
        assert_eq!(
            processors(&format!("cpu  {0} {0} 1 1 1 1 1 1\n", u64::MAX)),
            None,
            "a sum beyond all bounds"
        );
    }

    #[test]
    fn processor_use_is_a_share_of_the_interval() {
        let counted = |at_ms: u64, processors, vda: u64, vdb: u64| Counted {
            at: Duration::from_millis(at_ms),
            processors,
            stolen: None,
            io_wait: processors.map(|(worked, all)| (worked / 10, all)),
            disks: [("vda".to_owned(), vda), ("vdb".to_owned(), vdb)].into(),
            volume: None,
        };
        let before = counted(1000, Some((50, 100)), 500, 0);
        let after = counted(3000, Some((350, 500)), 600, 500);
        let load = |processors, io_wait, disk| Load { processors, stolen: None, io_wait, disk, volume: None };
        assert_eq!(after.since(&before), load(Some(0.75), Some(0.075), Some(0.25)));
        assert_eq!(before.since(&before), load(Some(0.0), Some(0.0), None), "no time has passed");
        // A disk may count a request that began long before.
        assert_eq!(counted(1001, None, 9000, 0).since(&before), load(None, None, Some(1.0)));
    }
}
