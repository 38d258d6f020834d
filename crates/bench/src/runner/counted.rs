//! What the kernel of a machine counts of all who use it: how busy processors and disks are.
//!
//! Reads `/proc`. What cannot be read there is left out.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// More disks than this are not looked at.
const DISKS_MAX: usize = 256;
/// Devices that stand for others, or for memory: what is behind them is counted by itself.
const NOT_A_DISK: [&str; 6] = ["loop", "ram", "zram", "dm-", "md", "sr"];

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
    /// Time with requests of each disk, in milliseconds.
    disks: BTreeMap<String, u64>,
}

/// How busy a machine was between two moments, as shares of that time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Load {
    /// Of all processors together; none where they are not counted.
    pub(crate) processors: Option<f64>,
    /// What other machines of the same host took of the processors; none where that is not counted.
    pub(crate) stolen: Option<f64>,
    /// Of the busiest disk; none where no disk is counted.
    pub(crate) disk: Option<f64>,
}

impl Counted {
    /// Looks at this machine now.
    pub(crate) fn look() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            at: Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default(),
            processors: processors(&read("/proc/stat")),
            stolen: stolen(&read("/proc/stat")),
            disks: disks(&read("/proc/diskstats")),
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
            disk: self.disks.iter().filter_map(disk).max_by(f64::total_cmp),
        }
    }
}

/// Of `/proc/stat`: ticks worked and all ticks, of all processors together. Waiting for a disk is no work.
fn processors(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // user, nice, system, idle, iowait, irq, softirq, steal; what guests take is part of the first two.
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    let all: u64 = ticks.iter().sum();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some((all - idle, all))
}

/// Of `/proc/stat`: ticks that other machines of the same host took, and all ticks.
fn stolen(stat: &str) -> Option<(u64, u64)> {
    let (_, all) = processors(stat)?;
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    Some((line.split_whitespace().nth(7)?.parse().ok()?, all))
}

/// Of `/proc/diskstats`: the milliseconds with requests of each whole disk.
fn disks(diskstats: &str) -> BTreeMap<String, u64> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for line in diskstats.lines().take(DISKS_MAX) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(name), Some(busy_ms)) = (words.get(2), words.get(12).and_then(|word| word.parse().ok()))
        else {
            continue;
        };
        // A partition follows its disk, and is a part of it.
        let is_partition = found.keys().any(|disk| name.starts_with(disk.as_str()) && *name != disk);
        if !is_partition && !NOT_A_DISK.iter().any(|prefix| name.starts_with(prefix)) {
            found.insert((*name).to_owned(), busy_ms);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_no_work() {
        let stat = "cpu  100 10 50 700 40 1 2 3 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\nintr 5\n";
        assert_eq!((processors(stat), stolen(stat)), (Some((166, 906)), Some((3, 906))));
        assert_eq!(processors("intr 5\n"), None);
        assert_eq!(processors("cpu  1 2\n"), None);
    }

    #[test]
    fn whole_disks_are_counted_and_nothing_that_stands_for_them() {
        let text = "   7       0 loop0 1 0 2 3 0 0 0 0 0 77 3\n 254       0 vda 10 0 20 30 40 0 50 60 0 70 80 0 0\n \
                    254       1 vda1 1 0 2 3 4 0 5 6 0 7 8\n 259 0 nvme0n1 1 0 2 3 4 0 5 6 0 9 8\n broken line\n";
        assert_eq!(disks(text), BTreeMap::from([("nvme0n1".to_owned(), 9), ("vda".to_owned(), 70)]));
    }

    #[test]
    fn what_was_used_is_a_share_of_the_time_between_two_looks() {
        let counted = |at_ms: u64, processors, vda: u64, vdb: u64| Counted {
            at: Duration::from_millis(at_ms),
            processors,
            stolen: None,
            disks: [("vda".to_owned(), vda), ("vdb".to_owned(), vdb)].into(),
        };
        let before = counted(1000, Some((50, 100)), 500, 0);
        let after = counted(3000, Some((350, 500)), 600, 500);
        assert_eq!(after.since(&before), Load { processors: Some(0.75), stolen: None, disk: Some(0.25) });
        assert_eq!(
            before.since(&before),
            Load { processors: Some(0.0), stolen: None, disk: None },
            "no time has passed"
        );
        // A disk may count a request that began long before.
        assert_eq!(
            counted(1001, None, 9000, 0).since(&before),
            Load { processors: None, stolen: None, disk: Some(1.0) }
        );
    }
}
