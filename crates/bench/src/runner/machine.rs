//! The machine that the clients run on: how busy it is, and what a process took of it.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::host_load::Counted;
use crate::results::Resources;

/// What was used until one moment.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    at: Instant,
    counted: Counted,
    /// Processor time of our own process.
    own: Duration,
    /// Processor time of the server's process.
    server: Option<Duration>,
}

impl Machine {
    /// Looks now; `server` is the process of a server on this machine, and `export` the directory that is
    /// exported or worked in here.
    pub(crate) fn look(server: Option<u32>, export: Option<&Path>) -> Self {
        let own = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let worked = |pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            processor_time(&stat, rustix::param::clock_ticks_per_second())
        };
        Self {
            at: Instant::now(),
            counted: Counted::look(export.as_ref().map(std::slice::from_ref)),
            own: Duration::try_from(own).unwrap_or_default(),
            server: server.and_then(worked),
        }
    }

    /// What was used since `earlier`; none when the kernel does not tell how busy its processors were.
    pub(crate) fn since(&self, earlier: &Self) -> Option<Resources> {
        let load = self.counted.since(&earlier.counted);
        let of_server = self.server.zip(earlier.server);
        Some(Resources {
            busy: load.processors?,
            client_seconds: self.own.saturating_sub(earlier.own).as_secs_f64(),
            server_seconds: of_server.map(|(after, before)| after.saturating_sub(before).as_secs_f64()),
            disk_busy: load.disk,
            stolen: load.stolen,
            io_wait: load.io_wait,
            disk: load.volume,
            ..Resources::default()
        })
    }

    /// The share of the processors that our own process used since `earlier`.
    pub(crate) fn own_share(&self, earlier: &Self) -> f64 {
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let time = (self.at - earlier.at).as_secs_f64() * processors;
        self.own.saturating_sub(earlier.own).as_secs_f64() / time.max(f64::MIN_POSITIVE)
    }
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
    fn the_name_of_a_process_cannot_lie() {
        let stat = "42 (a) b (c) S 1 1 1 0 -1 4194560 9 0 0 0 150 50 7 8 20 0 4 0 100 1 2";
        assert_eq!(processor_time(stat, 100), Some(Duration::from_secs(2)));
        assert_eq!(processor_time("42 (a", 100), None);
    }

    #[test]
    fn work_is_seen() {
        let look = || Machine::look(Some(std::process::id()), Some(Path::new("/")));
        let before = look();
        let mut number = 1_u64;
        while before.at.elapsed() < Duration::from_millis(60) {
            number = std::hint::black_box(number.wrapping_mul(3));
        }
        let after = look();
        let resources = after.since(&before).unwrap();
        assert!(resources.busy > 0.0 && resources.busy <= 1.0, "{resources:?}");
        assert!(resources.client_seconds > 0.0 && resources.server_seconds.is_some(), "{resources:?}");
        assert!(after.own_share(&before) > 0.0);
    }
}
