//! The machine that the clients run on: how busy its processors and disks are, and what a process took of it.
//!
//! Reads what the kernel counts in `/proc`. What cannot be read there is left out of the results.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::results::Resources;

/// More disks than this are not looked at.
const DISKS_MAX: usize = 256;
/// Devices that stand for others, or for memory: what is behind them is counted by itself.
const NOT_A_DISK: [&str; 6] = ["loop", "ram", "zram", "dm-", "md", "sr"];

/// The kernel's counters at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    at: Instant,
    /// Ticks in which processors worked, and all ticks.
    processors: Option<(u64, u64)>,
    /// Time with requests of each disk, in milliseconds.
    disks: BTreeMap<String, u64>,
    /// Processor time of our own process.
    own: Duration,
    /// Processor time of the server's process.
    server: Option<Duration>,
}

impl Machine {
    /// Looks now; `server` is the process of a server on this machine.
    pub(crate) fn look(server: Option<u32>) -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let own = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let worked = |pid| processor_time(&read(&format!("/proc/{pid}/stat")), ticks_per_second());
        Self {
            at: Instant::now(),
            processors: processors(&read("/proc/stat")),
            disks: disks(&read("/proc/diskstats")),
            own: Duration::try_from(own).unwrap_or_default(),
            server: server.and_then(worked),
        }
    }

    /// What was used since `earlier`; none when the kernel does not tell how busy its processors were.
    pub(crate) fn since(&self, earlier: &Self) -> Option<Resources> {
        let ((worked, all), (worked_before, all_before)) = (self.processors?, earlier.processors?);
        let ticks = all.saturating_sub(all_before);
        let elapsed_ms = (self.at - earlier.at).as_secs_f64() * 1000.0;
        let disk = |(name, busy_ms): (&String, &u64)| {
            let before = earlier.disks.get(name)?;
            (elapsed_ms > 0.0).then(|| (busy_ms.saturating_sub(*before) as f64 / elapsed_ms).min(1.0))
        };
        Some(Resources {
            // A run shorter than a tick has none.
            busy: worked.saturating_sub(worked_before) as f64 / ticks.max(1) as f64,
            client_seconds: self.own.saturating_sub(earlier.own).as_secs_f64(),
            server_seconds: self
                .server
                .zip(earlier.server)
                .map(|(after, before)| after.saturating_sub(before).as_secs_f64()),
            disk_busy: self.disks.iter().filter_map(disk).max_by(f64::total_cmp),
        })
    }

    /// The share of the processors that our own process used since `earlier`.
    pub(crate) fn own_share(&self, earlier: &Self) -> f64 {
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let time = (self.at - earlier.at).as_secs_f64() * processors;
        self.own.saturating_sub(earlier.own).as_secs_f64() / time.max(f64::MIN_POSITIVE)
    }
}

fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
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

/// Of `/proc/PID/stat`: the time that the process worked, or the kernel for it.
fn processor_time(stat: &str, ticks_per_second: u64) -> Option<Duration> {
    // The name may hold anything, brackets too.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace().skip(11);
    let ticks = words.next()?.parse::<u64>().ok()? + words.next()?.parse::<u64>().ok()?;
    Some(Duration::from_secs_f64(ticks as f64 / ticks_per_second.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_no_work() {
        let stat = "cpu  100 10 50 700 40 1 2 3 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\nintr 5\n";
        assert_eq!(processors(stat), Some((166, 906)));
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
    fn the_name_of_a_process_cannot_lie() {
        let stat = "42 (a) b (c) S 1 1 1 0 -1 4194560 9 0 0 0 150 50 7 8 20 0 4 0 100 1 2";
        assert_eq!(processor_time(stat, 100), Some(Duration::from_secs(2)));
        assert_eq!(processor_time("42 (a", 100), None);
    }

    #[test]
    fn work_is_seen() {
        let before = Machine::look(Some(std::process::id()));
        let mut number = 1_u64;
        while before.at.elapsed() < Duration::from_millis(60) {
            number = std::hint::black_box(number.wrapping_mul(3));
        }
        let after = Machine::look(Some(std::process::id()));
        let resources = after.since(&before).unwrap();
        assert!(resources.busy > 0.0 && resources.busy <= 1.0, "{resources:?}");
        assert!(resources.client_seconds > 0.0 && resources.server_seconds.is_some(), "{resources:?}");
        assert!(after.own_share(&before) > 0.0);
        assert_eq!(Machine { processors: None, ..after }.since(&before), None);
    }
}
