//! The document: `hash-cast.json`. `docs/hash-cast.schema.json` publishes its names and shapes.
//!
//! Owns types only. More fields may be added under the same schema number.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::spread::Group;
use crate::results::{self, Environment};

/// The number of the document's schema.
pub const SCHEMA: u64 = 1;

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HashCast {
    /// Always [`SCHEMA`].
    pub schema: u64,
    /// Where and how it was measured.
    pub environment: Environment,
    /// How probable it is that clients are served unequally.
    pub probabilities: Probabilities,
    /// The network cards of this machine.
    pub cards: Vec<CardOutlook>,
    /// What the emulated card was; none when nothing was measured.
    pub setup: Option<Setup>,
    /// One for each workload and way to queue.
    pub measurements: Vec<Measurement>,
    /// What it comes to, in one to three sentences.
    pub verdict: String,
    /// Scenarios that were not measured and why, in sentences.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Exact probabilities for flows that are hashed to queues, all queues alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probabilities {
    /// Queues of the card.
    pub queues: u32,
    /// Busy flows that the question is about: one for each client.
    pub flows: u32,
    /// The probability that some flow gets at least so many times as much as another.
    pub curves: Vec<Curve>,
}

/// The probability of one ratio over the number of flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The best served flow gets at least so many times as much as the worst served one.
    pub ratio: u32,
    /// For 0, 1, 2 … flows.
    pub by_flows: Vec<f64>,
}

impl Probabilities {
    /// The probability of a ratio with the flows that the question is about.
    #[must_use]
    pub fn of(&self, ratio: u32) -> Option<f64> {
        let curve = self.curves.iter().find(|curve| curve.ratio == ratio)?;
        curve.by_flows.get(self.flows as usize).copied()
    }
}

/// A network card of this machine, and what it would do to as many flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CardOutlook {
    /// Its name, such as "eth0".
    pub name: String,
    /// Its transmit queues.
    pub transmit_queues: u32,
    /// How packets wait in front of it, such as "mq", "fq" or "pfifo_fast"; none when it cannot be found out.
    pub discipline: Option<String>,
    /// The probability that some flow gets at least twice as much as another, if flows are hashed to these
    /// queues.
    pub at_least_twice: f64,
}

/// The emulated card and the load on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Clients, each in a network of its own.
    pub clients: u32,
    /// Transmit queues of the server's card.
    pub queues: u32,
    /// What the card sends.
    pub rate_bytes_per_second: u64,
    /// The round trip without any queueing, in milliseconds.
    pub rtt_ms: f64,
    /// What a receiver buffers at most; about half of it is under way for each connection.
    pub receive_buffer_bytes: u32,
    /// What controls congestion; none where the kernel's own choice was kept.
    pub congestion_control: Option<String>,
    /// The most bytes that a receiver lets its sender have under way; none without that bound, or where only
    /// the scenario "clamped-window" has it.
    #[serde(default)]
    pub window_clamp_bytes: Option<u32>,
    /// Seconds that were measured in each run.
    pub seconds: f64,
}

/// Runs that differ in nothing but where their flows were hashed to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// "tcp" or "nfs".
    pub workload: String,
    /// "card", "one-queue", "fair-queueing", "more-connections", or a cure within TCP: "vegas", "bbr" or
    /// "clamped-window".
    pub scenario: String,
    /// The congestion control; none where the kernel's own choice was kept.
    #[serde(default)]
    pub congestion_control: Option<String>,
    /// The most bytes that a receiver lets its sender have under way; none without that bound.
    #[serde(default)]
    pub window_clamp_bytes: Option<u32>,
    /// Connections of each client.
    pub connections: u32,
    /// The link, measured before use.
    pub link: MeasuredLink,
    /// The runs.
    pub runs: Vec<Run>,
    /// How much one client's share varies from run to run; none with a single run.
    pub variation_across_runs: Option<f64>,
}

/// The medians over all clients of what their links were measured to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLink {
    /// The round trip, in milliseconds.
    pub rtt_ms: f64,
    /// Bytes in each second from the server.
    pub to_client_bytes_per_second: f64,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What each client's application was given in each second.
    pub client_bytes_per_second: Vec<f64>,
    /// What follows from the queues, if as much is shared out as was in all.
    pub predicted_bytes_per_second: Vec<f64>,
    /// For each client the queue of each of its flows; null where each flow has one to itself.
    pub queues: Vec<Vec<Option<u32>>>,
    /// All clients together.
    pub total_bytes_per_second: f64,
    /// Jain's index of the clients.
    pub fairness: f64,
    /// The best served client ÷ the worst served one; none when that got nothing.
    pub max_min_ratio: Option<f64>,
    /// The same, predicted.
    pub predicted_max_min_ratio: Option<f64>,
    /// Winners and losers, the worst served first.
    pub groups: Vec<Group>,
    /// How much one client's share varies within the run.
    pub variation_inside: Option<f64>,
    /// Packets that a full queue dropped, since the network began.
    pub dropped_packets: u64,
}

impl Measurement {
    /// The mean of Jain's index over the runs.
    #[must_use]
    pub fn fairness(&self) -> f64 {
        mean(self.runs.iter().map(|run| run.fairness))
    }

    /// The largest ratio of best to worst in any run; none when somebody got nothing.
    #[must_use]
    pub fn worst_ratio(&self) -> Option<f64> {
        self.runs
            .iter()
            .map(|run| run.max_min_ratio)
            .try_fold(1.0, |worst: f64, ratio| Some(worst.max(ratio?)))
    }

    /// The mean over the runs of all clients together, in bytes per second.
    #[must_use]
    pub fn total(&self) -> f64 {
        mean(self.runs.iter().map(|run| run.total_bytes_per_second))
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len();
    if count == 0 { 0.0 } else { values.sum::<f64>() / count as f64 }
}

impl HashCast {
    /// Writes the document to `path`, whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), results::Error> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|source| results::Error::NotFinite { path: path.to_owned(), source })?;
        results::write_whole(path, format!("{text}\n").as_bytes())
    }

    /// The measurement of a workload and a scenario.
    #[must_use]
    pub fn measurement(&self, workload: &str, scenario: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|found| found.workload == workload && found.scenario == scenario)
    }
}
