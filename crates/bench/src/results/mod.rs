//! The result document: `results.json`, its types, and the CSV files made from it.
//!
//! Owns the names and shapes that other programs read; `docs/results.schema.json` publishes them. More fields
//! may be added under the same schema number, so unknown ones are ignored on reading. It knows nothing of how
//! a number came about or how it is shown.

mod arm_id;
mod asked;
mod cell;
mod client;
mod csv_columns;
mod csv_files;
mod disturbed;
mod environment;
mod file;
mod floors;
mod latency;
mod modes;
mod resources;
mod timeline;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use arm_id::ArmId;
pub use asked::{Asked, Figure, Form, MARK_UNITS, Mark};
pub(crate) use cell::labelled;
pub use cell::{Cell, LOCAL, Metric, PHASE, Run, Setting, WireBytes, named, version_name};
pub(crate) use client::client_sentences;
pub(crate) use csv_files::levels;
pub use csv_files::write_csv;
pub use environment::{Environment, Host, Link};
pub(crate) use file::write_whole;
pub use file::{Error, RESULTS_BYTES_MAX};
pub use floors::Floors;
pub use latency::{Histogram, Latency, LatencyRatio, LatencyRatios};
pub use resources::{Disk, Resources};
pub use timeline::Timeline;

use crate::statistics::{Better, Outcome};
use crate::text::percent;

/// The number of the document's schema. A reader refuses any other.
pub const SCHEMA: u64 = 1;

/// Everything that one benchmark found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Always [`SCHEMA`].
    pub schema: u64,
    /// Where and how it was measured.
    pub environment: Environment,
    /// What was asked.
    #[serde(default)]
    pub experiments: Vec<Asked>,
    /// One for each setting that was measured.
    pub cells: Vec<Cell>,
    /// One for each pair of settings that differ in the arm only.
    pub comparisons: Vec<Comparison>,
    /// What the comparisons say together.
    pub verdict: Verdict,
    /// Whether the benchmark was stopped before its end, so that settings are missing.
    #[serde(default)]
    pub partial: bool,
}

impl Results {
    /// What tells its parts apart, in their order; one empty label in a document of one benchmark.
    #[must_use]
    pub fn labels(&self) -> Vec<&str> {
        let mut labels = Vec::new();
        for cell in &self.cells {
            if !labels.contains(&cell.setting.label.as_str()) {
                labels.push(&cell.setting.label);
            }
        }
        labels
    }

    /// [`Comparison::verdict_words`] of a comparison of this document.
    #[must_use]
    pub fn verdict_words(&self, comparison: &Comparison) -> String {
        let better = self.cells_of(comparison).map_or(Better::Higher, |(_, cell)| cell.setting.metric.better);
        comparison.verdict_words(better)
    }

    /// The cells that a comparison is about, baseline and candidate; none when they are not in this document.
    #[must_use]
    pub fn cells_of(&self, comparison: &Comparison) -> Option<(&Cell, &Cell)> {
        let of_experiment = |cell: &&Cell| {
            cell.setting.experiment == comparison.experiment
                && cell.setting.levels == comparison.levels
                && cell.setting.rtt_ms == comparison.rtt_ms
                && cell.setting.label == comparison.label
        };
        let [baseline, candidate] = [comparison.baseline_id(), comparison.candidate_id()];
        let of_arm =
            |id: &ArmId| self.cells.iter().filter(of_experiment).find(|cell| cell.setting.arm_id() == *id);
        Some((of_arm(&baseline)?, of_arm(&candidate)?))
    }
}

/// A candidate against its baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The experiment's name.
    pub experiment: String,
    /// The levels of its factors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, String>,
    /// The round-trip delay asked for, in milliseconds.
    pub rtt_ms: f64,
    /// The name that the arm of the baseline was given; empty where versions are compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub baseline_arm: String,
    /// The same of the candidate.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub candidate_arm: String,
    /// Version of the baseline, such as "3".
    pub baseline: String,
    /// Whether the baseline could use delegations.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub baseline_delegations: bool,
    /// Version of the candidate, such as "4.1".
    pub candidate: String,
    /// Whether the candidate could use delegations.
    #[serde(default)]
    pub delegations: bool,
    /// That of its cells: which of the documents that were put together it is from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Candidate ÷ baseline of the metric; none when an arm has no usable value.
    pub ratio: Option<f64>,
    /// The ratio's 95 % interval, uncorrected; none with a single run.
    pub ci95: Option<[f64; 2]>,
    /// The interval that `verdict` follows from: all comparisons of the document have their true ratio within
    /// theirs with 95 %, however often the runs were looked at. None with a single run, and in documents of
    /// before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// How the times of operations differ; none where they are not known of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyRatios>,
    /// What it means for the candidate, corrected over all comparisons.
    pub verdict: Outcome,
    /// Whether `verdict` follows from exact counts of requests × delay, because the times were too noisy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_requests: bool,
    /// Corrected p of "there is no difference".
    #[serde(default = "undecided")]
    pub p_different: f64,
    /// Corrected p of "they differ by more than the margin" (3 % unless another one was asked for).
    #[serde(default = "undecided")]
    pub p_same: f64,
    /// Runs of each version with which a difference of 5 % is found with a chance of 95 %, from the spread of
    /// these runs; none when the spread is not known or no number of runs would do.
    #[serde(default)]
    pub runs_to_detect: Option<u32>,
    /// Why, in one or two sentences with the numbers.
    pub reason: String,
    /// Why the verdict deserves less trust, one sentence each.
    #[serde(default)]
    pub doubts: Vec<String>,
}

impl Comparison {
    /// The experiment with its levels, as it is shown to people.
    #[must_use]
    pub fn name(&self) -> String {
        cell::labelled(named(&self.experiment, &self.levels), &self.label)
    }

    /// Returns the arm of the baseline.
    #[must_use]
    pub fn baseline_id(&self) -> ArmId {
        ArmId {
            arm: self.baseline_arm.clone(),
            version: self.baseline.clone(),
            delegations: self.baseline_delegations,
        }
    }

    /// Returns the arm of the candidate.
    #[must_use]
    pub fn candidate_id(&self) -> ArmId {
        ArmId {
            arm: self.candidate_arm.clone(),
            version: self.candidate.clone(),
            delegations: self.delegations,
        }
    }

    /// How the baseline is shown to people.
    #[must_use]
    pub fn baseline_name(&self) -> String {
        self.baseline_id().name()
    }

    /// How the candidate is shown to people.
    #[must_use]
    pub fn candidate_name(&self) -> String {
        self.candidate_id().name()
    }

    /// Its verdict in words. Where nothing was decided they say how much slower the candidate may be at most,
    /// as far as its interval tells; `better` is that of its metric.
    #[must_use]
    pub fn verdict_words(&self, better: Better) -> String {
        if self.by_requests {
            return format!("{} (by requests × delay)", self.verdict.words());
        }
        if self.verdict != Outcome::Unclear {
            return self.verdict.words().to_owned();
        }
        let Some([low, high]) = self.shown_interval() else { return self.verdict.words().to_owned() };
        let loss = if better == Better::Higher { 1.0 - low } else { high - 1.0 };
        format!("{}, at most {} slower", self.verdict.words(), percent(loss.max(0.0)))
    }

    /// The interval that is shown: the one that decides, or what an older document has.
    #[must_use]
    pub fn shown_interval(&self) -> Option<[f64; 2]> {
        self.interval.or(self.ci95)
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// A version, such as "3" or "4.1", or "either".
    pub recommend: String,
    /// One to three sentences.
    pub text: String,
    /// The profile that weighed the experiments.
    #[serde(default = "even")]
    pub profile: String,
    /// Its weights; empty when all weigh the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// For what the answer is another one, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flips: Vec<String>,
    /// Which settings of client and server changed most, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levers: Vec<String>,
}

fn even() -> String {
    "even".to_owned()
}

fn undecided() -> f64 {
    1.0
}
