//! One setting and all its runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{ArmId, Floors, Histogram, Latency, Resources, Timeline, disturbed, modes};
use crate::statistics::{Better, Look, estimate, trend};
use crate::text::percent;

/// Runs that change by less than this from the first to the last do not drift.
const DRIFT_MIN: f64 = 0.05;
/// A drift is told when chance would make one like it less often than this: a benchmark has dozens of cells.
const DRIFT_P_MAX: f64 = 0.01;

/// What is measured, and which direction is good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Such as "throughput".
    pub name: String,
    /// Such as "op/s" or "MB/s" (10⁶ bytes).
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
}

/// Bytes that crossed the network on all clients together, RPC record marks and headers included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireBytes {
    /// From the clients.
    pub sent: u64,
    /// To the clients.
    pub received: u64,
}

/// What was varied: everything that tells one cell from another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The experiment's name.
    pub experiment: String,
    /// The level of each factor that the experiment varies, and the phase ([`PHASE`]) where it has several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, String>,
    /// The name that its arm was given; empty where versions are compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arm: String,
    /// "3", "4.0", "4.1" or "4.2".
    pub version: String,
    /// Whether the client could use delegations (always false for version 3).
    pub delegations: bool,
    /// Which server: "builtin" or its address.
    pub server: String,
    /// Which client: "builtin" for the protocol client of this tool, "fuse" for a mount of it, "kernel" for a
    /// kernel's, "path" for a directory without NFS.
    pub client: String,
    /// The round-trip delay asked for, in milliseconds.
    pub rtt_ms: f64,
    /// Clients that ran at the same time.
    pub clients: u32,
    /// Threads of each client.
    pub threads: u32,
    /// Size of the application's reads and writes.
    pub io_bytes: u64,
    /// What was measured.
    pub metric: Metric,
    /// Which of the documents that were put together it is from; empty in a document of one benchmark.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
}

/// What stands for a version where there is no NFS.
pub const LOCAL: &str = "local";

/// The factor that tells the phases of a composed workload apart.
pub const PHASE: &str = "phase";

/// An experiment with its levels, as it is shown to people: "create · threads 64".
#[must_use]
pub fn named(experiment: &str, levels: &BTreeMap<String, String>) -> String {
    let mut name = experiment.to_owned();
    for (factor, level) in levels {
        match factor.as_str() {
            PHASE => name.push_str(&format!(" · {level}")),
            factor => name.push_str(&format!(" · {} {level}", factor.rsplit('.').next().unwrap_or(factor))),
        }
    }
    name
}

impl Setting {
    /// The experiment with its levels, as it is shown to people.
    #[must_use]
    pub fn name(&self) -> String {
        named(&self.experiment, &self.levels)
    }

    /// Returns the arm that it was measured with.
    #[must_use]
    pub fn arm_id(&self) -> ArmId {
        ArmId { arm: self.arm.clone(), version: self.version.clone(), delegations: self.delegations }
    }

    /// Returns the setting without what may differ between arms: name, version, delegations, server, client.
    #[must_use]
    pub fn without_arm(&self) -> Self {
        Self {
            arm: String::new(),
            version: String::new(),
            delegations: false,
            server: String::new(),
            client: String::new(),
            ..self.clone()
        }
    }
}

/// One run of one setting: all clients together, over the window in which all of them worked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The block of runs that it belongs to. Runs of one block are compared in pairs.
    pub block: u32,
    /// The metric, in its unit.
    pub value: f64,
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// Operations that the applications completed.
    pub operations: u64,
    /// Bytes that the applications read and wrote.
    #[serde(default)]
    pub application_bytes: u64,
    /// Requests by operation. A COMPOUND counts once, under the operation that it was sent for.
    #[serde(default)]
    pub rpcs: BTreeMap<String, u64>,
    /// How often each operation of NFSv4 was sent inside COMPOUNDs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub compound_operations: BTreeMap<String, u64>,
    /// How often the server sent each callback.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub callbacks: BTreeMap<String, u64>,
    /// Bytes of files in the replies to READ, without what surrounds them.
    #[serde(default)]
    pub read_bytes: u64,
    /// Bytes that the applications read.
    #[serde(default)]
    pub application_read_bytes: u64,
    /// How long the operations of the applications took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Latency>,
    /// How many of them took how long; empty once the runs are added up in their cell.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub latency_histogram: Histogram,
    /// Rates over time: of each run where the experiment's figure shows them, else of the median run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// Bytes on the wire.
    #[serde(default)]
    pub wire_bytes: WireBytes,
    /// Mean time that a request waited in its client for a slot or the connection, in milliseconds.
    #[serde(default)]
    pub queue_ms: f64,
    /// Mean time from sending a request to its reply, in milliseconds.
    #[serde(default)]
    pub wire_ms: f64,
    /// What it took of the machine that the clients ran on; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// How long a fixed amount of work took right before and right after it, in milliseconds; none where its
    /// clients were on other machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration_ms: Option<[f64; 2]>,
    /// Time between the first and the last client's start, in milliseconds.
    #[serde(default)]
    pub start_skew_ms: f64,
    /// The metric of each client.
    #[serde(default)]
    pub client_values: Vec<f64>,
    /// The host that each of them was on, as it was named; none where all were on this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_hosts: Vec<String>,
    /// Jain's index over the clients; none when it could not be had.
    #[serde(default)]
    pub fairness: Option<f64>,
    /// Why this run deserves less trust, one sentence each.
    #[serde(default)]
    pub doubts: Vec<String>,
}

impl Run {
    /// All its requests.
    #[must_use]
    pub fn rpcs_total(&self) -> u64 {
        self.rpcs.values().sum()
    }

    /// Requests for each operation of the application; none when it completed none.
    #[must_use]
    pub fn rpcs_per_operation(&self) -> Option<f64> {
        (self.operations > 0).then(|| self.rpcs_total() as f64 / self.operations as f64)
    }
}

/// A setting with what its runs found. The counts are those of the median run, so that they are whole numbers
/// that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What was varied.
    #[serde(flatten)]
    pub setting: Setting,
    /// The metric of each run, in the order of `run_details`.
    pub runs: Vec<f64>,
    /// Mean of the runs.
    pub mean: f64,
    /// The mean's 95 % interval by Student's t; none with a single run.
    pub ci95: Option<[f64; 2]>,
    /// Window of the median run, in seconds.
    #[serde(default)]
    pub seconds: f64,
    /// Operations that the applications completed in the median run.
    #[serde(default)]
    pub operations: u64,
    /// Bytes that the applications read and wrote in the median run.
    #[serde(default)]
    pub application_bytes: u64,
    /// Requests by operation in the median run.
    pub rpcs: BTreeMap<String, u64>,
    /// Their sum.
    pub rpcs_total: u64,
    /// The fewest requests for each operation; none where they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floors: Option<Floors>,
    /// How often each operation of NFSv4 was sent inside COMPOUNDs in the median run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub compound_operations: BTreeMap<String, u64>,
    /// How often the server sent each callback in the median run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub callbacks: BTreeMap<String, u64>,
    /// Bytes of files in the replies to READ, without what surrounds them, in the median run.
    #[serde(default)]
    pub read_bytes: u64,
    /// Bytes that the applications read in the median run.
    #[serde(default)]
    pub application_read_bytes: u64,
    /// How long the operations of the applications took in the median run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Latency>,
    /// How many operations of all runs took how long.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub latency_histogram: Histogram,
    /// Bytes on the wire in the median run.
    pub wire_bytes: WireBytes,
    /// Mean wait of a request in its client in the median run, in milliseconds.
    #[serde(default)]
    pub queue_ms: f64,
    /// Mean time from request to reply in the median run, in milliseconds.
    #[serde(default)]
    pub wire_ms: f64,
    /// What the median run took of the machine that the clients ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// The largest start skew of all runs, in milliseconds.
    pub start_skew_ms: f64,
    /// The smallest Jain index of all runs; none when no run has one.
    pub fairness: Option<f64>,
    /// Doubts of the runs and of the cell, each once.
    pub doubts: Vec<String>,
    /// The arms that it is compared with; empty for the first one of the document, or for version 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<String>,
    /// After how many blocks its runs are compared, and what share of the error each comparison may use.
    /// Empty where they are compared once, at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<Look>,
    /// The runs in full.
    #[serde(default)]
    pub run_details: Vec<Run>,
}

impl Cell {
    /// Sums up the runs of one setting, without floors. None when no run has a finite value.
    #[must_use]
    pub fn from_runs(setting: Setting, runs: Vec<Run>) -> Option<Self> {
        let runs: Vec<Run> = runs.into_iter().filter(|run| run.value.is_finite()).collect();
        let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
        let estimate = estimate(&values)?;
        let median = median_run(&runs).clone();
        let mut doubts: BTreeSet<String> = runs.iter().flat_map(|run| run.doubts.iter().cloned()).collect();
        doubts.extend(drift(&values));
        doubts.extend(modes::two_modes(&runs));
        doubts.extend(disturbed::disturbed(&runs));
        Some(Self {
            setting,
            mean: estimate.mean,
            ci95: estimate.interval.map(|interval| [interval.low, interval.high]),
            seconds: median.seconds,
            operations: median.operations,
            application_bytes: median.application_bytes,
            rpcs: median.rpcs.clone(),
            rpcs_total: median.rpcs.values().sum(),
            floors: None,
            compound_operations: median.compound_operations.clone(),
            callbacks: median.callbacks.clone(),
            read_bytes: median.read_bytes,
            application_read_bytes: median.application_read_bytes,
            latency_ms: median.latency_ms,
            latency_histogram: Histogram::sum(runs.iter().map(|run| &run.latency_histogram)),
            wire_bytes: median.wire_bytes,
            queue_ms: median.queue_ms,
            wire_ms: median.wire_ms,
            resources: median.resources,
            start_skew_ms: runs.iter().map(|run| run.start_skew_ms).fold(0.0, f64::max),
            fairness: runs.iter().filter_map(|run| run.fairness).reduce(f64::min),
            doubts: doubts.into_iter().collect(),
            runs: values,
            against: Vec::new(),
            looks: Vec::new(),
            run_details: without_details(runs, &median),
        })
    }

    /// Blocks that its runs were made in, counted to the last one.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.run_details.iter().map(|run| run.block.saturating_add(1)).max().unwrap_or_default()
    }

    /// Requests for each operation of the application; none when it completed none.
    #[must_use]
    pub fn rpcs_per_operation(&self) -> Option<f64> {
        (self.operations > 0).then(|| self.rpcs_total as f64 / self.operations as f64)
    }

    /// What the applications read ÷ what their clients read from the server; none when either read nothing.
    /// More than 1 is the gain of caches, less the waste of reading ahead.
    #[must_use]
    pub fn read_gain(&self) -> Option<f64> {
        (self.read_bytes > 0 && self.application_read_bytes > 0)
            .then(|| self.application_read_bytes as f64 / self.read_bytes as f64)
    }

    /// The run with the median value, the lower one of two.
    #[must_use]
    pub fn median_run(&self) -> Option<&Run> {
        (!self.run_details.is_empty()).then(|| median_run(&self.run_details))
    }

    /// The share of the requests that have one of `names`; none when there was no request.
    #[must_use]
    pub fn share_of(&self, names: &[&str]) -> Option<f64> {
        let own: u64 = names.iter().filter_map(|name| self.rpcs.get(*name)).sum();
        (self.rpcs_total > 0).then(|| own as f64 / self.rpcs_total as f64)
    }

    /// Returns how its arm is shown to people, with the label where there is one.
    #[must_use]
    pub fn version_name(&self) -> String {
        labelled(self.setting.arm_id().name(), &self.setting.label)
    }
}

/// `name` with the label of the document that it is from, where there is one.
pub(crate) fn labelled(name: String, label: &str) -> String {
    if label.is_empty() { name } else { format!("{name} · {label}") }
}

/// How a version is shown to people: "v3", "v4.1", "v4.1 without delegations", "local".
#[must_use]
pub fn version_name(version: &str, delegations: bool) -> String {
    if version == LOCAL {
        version.to_owned()
    } else if delegations || version.starts_with('3') {
        format!("v{version}")
    } else {
        format!("v{version} without delegations")
    }
}

/// Says so when the runs became better or worse one after the other: something changed besides what was to be
/// measured.
fn drift(values: &[f64]) -> Option<String> {
    let trend = trend(values)?;
    let (change, direction) =
        if trend.change > 1.0 { (trend.change - 1.0, "rose") } else { (1.0 - trend.change, "fell") };
    (trend.p < DRIFT_P_MAX && change >= DRIFT_MIN)
        .then(|| format!("The values {direction} by {} from the first run to the last.", percent(change)))
}

/// Drops what the cell has of all runs together, and rates over time that no figure shows: those of other
/// runs than the median one where no client has a rate of its own.
fn without_details(mut runs: Vec<Run>, median: &Run) -> Vec<Run> {
    for run in &mut runs {
        run.latency_histogram = Histogram::default();
        if run.block != median.block {
            run.timeline = run.timeline.take().filter(|timeline| !timeline.clients.is_empty());
        }
    }
    runs
}

/// The run with the median value, the lower one of two. `runs` is not empty.
fn median_run(runs: &[Run]) -> &Run {
    let mut order: Vec<&Run> = runs.iter().collect();
    order.sort_by(|left, right| left.value.total_cmp(&right.value));
    order[(order.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn run(block: u32, value: f64, reads: u64) -> Run {
        Run {
            block,
            value,
            operations: 100,
            rpcs: BTreeMap::from([("READ".to_owned(), reads), ("OPEN".to_owned(), 100)]),
            start_skew_ms: f64::from(block),
            fairness: Some(1.0 - f64::from(block) / 10.0),
            doubts: vec!["the disk was busy".to_owned()],
            ..Run::default()
        }
    }

    #[test]
    fn a_cell_takes_its_counts_from_the_median_run() {
        let cell = Cell::from_runs(
            samples::setting("4.1", 0.0),
            vec![run(0, 5.0, 50), run(1, 1.0, 10), run(2, 3.0, 30)],
        )
        .unwrap();
        assert_eq!(cell.runs, [5.0, 1.0, 3.0]);
        assert_eq!((cell.mean, cell.rpcs["READ"], cell.rpcs_total), (3.0, 30, 130));
        assert_eq!(cell.rpcs_per_operation(), Some(1.3));
        assert_eq!((cell.start_skew_ms, cell.fairness), (2.0, Some(0.8)));
        assert_eq!(cell.doubts, ["the disk was busy"]);
    }

    #[test]
    fn timelines_that_no_figure_shows_are_kept_of_the_median_run_only() {
        let timeline = |clients| Timeline { values: vec![1.0], clients, ..Timeline::default() };
        let of = |clients: Vec<Vec<f64>>| {
            let runs = [5.0, 1.0, 3.0].iter().zip(0..);
            let runs = runs.map(|(value, block)| Run {
                timeline: Some(timeline(clients.clone())),
                latency_histogram: Histogram { buckets: vec![(1.0, 2)] },
                ..run(block, *value, 1)
            });
            Cell::from_runs(samples::setting("4.1", 0.0), runs.collect()).unwrap()
        };
        let kept = |cell: &Cell| -> Vec<bool> {
            cell.run_details.iter().map(|run| run.timeline.is_some()).collect()
        };
        let together = of(Vec::new());
        assert_eq!(kept(&together), [false, false, true]);
        assert_eq!(together.latency_histogram.buckets, [(1.0, 6)]);
        assert!(together.run_details.iter().all(|run| run.latency_histogram.is_empty()));
        assert_eq!(kept(&of(vec![vec![1.0]])), [true; 3]);
    }

    #[test]
    fn runs_that_drift_are_a_doubt_and_runs_that_vary_are_none() {
        assert_eq!(
            drift(&[100.0, 103.0, 105.0, 109.0, 112.0]).unwrap(),
            "The values rose by 12 % from the first run to the last."
        );
        assert!(drift(&[112.0, 109.0, 105.0, 103.0, 100.0]).unwrap().contains("fell by 11 %"));
        assert_eq!(drift(&[100.0, 112.0, 98.0, 109.0, 103.0]), None);
        assert_eq!(drift(&[100.0, 100.9, 102.0, 103.1, 104.0]), None, "too small to matter");
        assert_eq!(drift(&[100.0, 110.0, 120.0]), None, "three runs are too few");
    }

    #[test]
    fn a_setting_without_a_finite_run_has_no_cell() {
        assert_eq!(Cell::from_runs(samples::setting("3", 0.0), vec![]), None);
        assert_eq!(Cell::from_runs(samples::setting("3", 0.0), vec![run(0, f64::NAN, 1)]), None);
    }

    #[test]
    fn a_version_that_could_not_delegate_says_so() {
        assert_eq!(version_name("3", false), "v3");
        assert_eq!(version_name("4.1", true), "v4.1");
        assert_eq!(version_name("4.1", false), "v4.1 without delegations");
        assert_eq!(version_name(LOCAL, false), "local");
    }
}
