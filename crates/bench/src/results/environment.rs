//! Where and how a benchmark was run: what somebody needs to repeat it.

use std::collections::BTreeMap;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::statistics::SAME_MARGIN;

/// The machine, the tool and the network.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Version of this tool.
    pub tool_version: String,
    /// Name and release of the kernel.
    pub kernel: String,
    /// The processor as it names itself.
    pub cpu_model: String,
    /// Processors that this process may use.
    pub cores: u32,
    /// Physical memory.
    pub memory_bytes: u64,
    /// When the benchmark began, in UTC (RFC 3339).
    pub date: String,
    /// The seed of every random choice.
    pub seed: u64,
    /// What was asked for, by name, such as "runs" or "size"; two benchmarks with the same plan ask the same.
    pub plan: BTreeMap<String, String>,
    /// Ratios within this share of 1 count as the same: 0.03 for 3 %.
    #[serde(default = "same_within")]
    pub same_within: f64,
    /// The command with its arguments.
    pub command_line: Vec<String>,
    /// The network, one entry for each delay.
    pub links: Vec<Link>,
    /// For each version what client and server agreed on, such as "rsize", "slots" or "server".
    pub negotiated: BTreeMap<String, BTreeMap<String, String>>,
    /// The machines that the clients ran on, where that was not this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Host>,
    /// The machine of the server, where an agent there was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_host: Option<Host>,
    /// Why the whole benchmark deserves less trust.
    pub doubts: Vec<String>,
}

/// A machine with an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// As it was named.
    pub name: String,
    /// Name and release of its kernel.
    pub kernel: String,
    /// Its processor as it names itself.
    pub cpu_model: String,
    /// Processors that the agent may use.
    pub cores: u32,
    /// By how much its clock may have been another than this machine's, at the worst, in milliseconds.
    pub clock_error_ms: f64,
    /// By how much its clock moved against this machine's within a run at least, at the worst, in
    /// milliseconds.
    pub clock_drift_ms: f64,
}

impl Host {
    /// This machine, without a name.
    #[must_use]
    pub fn this() -> Self {
        let Environment { kernel, cpu_model, cores, .. } = Environment::of_this_machine("", Vec::new(), 0);
        Self { kernel, cpu_model, cores, ..Self::default() }
    }
}

/// One emulated or real link, and what it turned out to be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Link {
    /// The round-trip delay asked for, in milliseconds.
    pub rtt_ms: f64,
    /// The median round trip of NULL calls through it, in milliseconds.
    pub measured_ms: f64,
    /// The shortest of these round trips, in milliseconds; 0 in documents of before it was recorded.
    pub minimum_ms: f64,
    /// How many NULL calls that was.
    pub calls: u32,
    /// How the delay was made: "none", "relay", "netem".
    pub kind: String,
}

impl Environment {
    /// Describes this machine now. What cannot be found out stays empty or zero; it is no reason not to
    /// measure.
    #[must_use]
    pub fn of_this_machine(tool_version: &str, command_line: Vec<String>, seed: u64) -> Self {
        Self {
            tool_version: tool_version.to_owned(),
            kernel: kernel(),
            cpu_model: field(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism()
                .map_or(0, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
            memory_bytes: memory_bytes(&read("/proc/meminfo")),
            date: rfc3339(
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs()),
            ),
            seed,
            same_within: SAME_MARGIN,
            command_line,
            ..Self::default()
        }
    }
}

fn same_within() -> f64 {
    SAME_MARGIN
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn kernel() -> String {
    let name = read("/proc/sys/kernel/ostype");
    let release = read("/proc/sys/kernel/osrelease");
    format!("{} {}", name.trim(), release.trim()).trim().to_owned()
}

/// The value of the first line `key : value`.
fn field(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

fn memory_bytes(meminfo: &str) -> u64 {
    field(meminfo, "MemTotal")
        .and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kibibytes| kibibytes.saturating_mul(1024))
}

/// Seconds since 1970 as a date and time in UTC, by the civil calendar's 400-year cycle.
fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Counted from 0000-03-01, so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_civil_calendar() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(rfc3339(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn machine_descriptions_are_read_by_key() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nflags : a b\n";
        assert_eq!(field(cpuinfo, "model name").unwrap(), "Some CPU @ 2.0GHz");
        assert_eq!(field(cpuinfo, "absent"), None);
        assert_eq!(memory_bytes("MemTotal:       2048 kB\n"), 2_097_152);
        assert_eq!(memory_bytes("nonsense"), 0);
    }

    #[test]
    fn this_machine_has_a_core_and_a_date() {
        let environment = Environment::of_this_machine("0.1.0", vec!["primetime".to_owned()], 7);
        assert!(environment.cores >= 1);
        assert_eq!((environment.date.len(), environment.seed), (20, 7));
    }
}
