//! Experiments: the question, the workload that answers it, and its sizes. Read from TOML.
//!
//! Owns the format of `experiments/*.toml` and what may stand in it. It knows nothing of clients, servers or
//! how a workload is carried out.

mod builtin;
mod byte_size;
pub mod composed;
mod error;
mod parse;
mod plan;
mod space;
mod variant;
mod workload;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use builtin::{builtin, comparing_versions, find, standard};
pub use composed::Composed;
pub use error::Error;
pub(crate) use error::nearest;
pub use parse::{CLIENTS_MAX, parse};
pub use plan::{Plan, Runs, SECONDS_MAX};
pub use space::Space;
pub use workload::{TreeMethod, Workload};

use crate::results::{Asked, Figure, Mark, Metric};
use crate::security::Security;

/// Round trips that a run sees at least: with fewer its first and last operations count for too much.
const ROUND_TRIPS_MIN: f64 = 25.0;
/// Longer than this a run does not become for the sake of its round trips.
const RUN_SECONDS_MAX: f64 = 10.0;

/// One question with the workload that answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Lower-case words joined by `-`; the name on the command line and in results.
    pub name: String,
    /// What it answers, in one sentence.
    pub question: String,
    /// Where it was published before.
    pub study: String,
    /// What is measured.
    pub metric: Metric,
    /// How its study drew it.
    pub figure: Figure,
    /// What was published.
    pub published: Vec<Mark>,
    /// The securities that it compares, the baseline first; empty for one that compares versions.
    pub security: Vec<Security>,
    /// The size of the default benchmark.
    pub default: Setup,
    /// The size for `--quick`; an experiment without one is left out of the quick benchmark.
    pub quick: Option<Setup>,
    /// What was published, with fewer and smaller files: minutes instead of hours.
    pub scaled: Option<Setup>,
    /// The size that was published.
    pub paper: Option<Setup>,
    /// The text that it was read from.
    pub source: String,
}

/// How large an experiment is run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Clients that run at the same time, 1 to [`CLIENTS_MAX`].
    pub clients: u32,
    /// How much later than the one before it each client starts.
    #[serde(default)]
    pub stagger_seconds: f64,
    /// Whether clients read ahead.
    #[serde(default = "yes")]
    pub readahead: bool,
    /// Whether clients keep what they have read.
    #[serde(default = "yes")]
    pub data_cache: bool,
    /// What each client does.
    pub workload: Workload,
    /// What is varied: parameters by name, each with the values that it takes. Every combination is measured.
    #[serde(default)]
    factors: BTreeMap<String, Vec<toml::Value>>,
    /// The combinations; none when nothing is varied.
    #[serde(skip)]
    points: Vec<Point>,
}

/// One combination of the levels of an experiment's factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Each factor with its level, as both stand in the file.
    pub levels: BTreeMap<String, String>,
    /// The set-up with these levels.
    pub setup: Setup,
}

impl Setup {
    /// Everything that is measured: one point without levels when nothing is varied.
    #[must_use]
    pub fn points(&self) -> Vec<Point> {
        if self.points.is_empty() {
            return vec![Point { levels: BTreeMap::new(), setup: self.clone() }];
        }
        self.points.clone()
    }

    /// The factors that are varied, by name.
    pub fn factors(&self) -> impl Iterator<Item = &str> {
        self.factors.keys().map(String::as_str)
    }

    /// The same for a network with this round-trip delay: runs that end after some time see 25 of them at
    /// least.
    #[must_use]
    pub fn at_delay(mut self, rtt_ms: f64) -> Self {
        let at_least = (ROUND_TRIPS_MIN * rtt_ms / 1000.0).min(RUN_SECONDS_MAX);
        self.workload = self.workload.lasting(at_least);
        self
    }

    /// How long one run of it takes at most, apart from what is under way then; none where only counts limit
    /// it.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        let stagger = self.stagger_seconds * f64::from(self.clients.saturating_sub(1));
        self.workload.seconds().map(|seconds| seconds + stagger)
    }
}

fn yes() -> bool {
    true
}

/// Which of an experiment's sizes to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Size {
    /// The default benchmark.
    Default,
    /// `--quick`.
    Quick,
    /// What was published, in minutes.
    Scaled,
    /// As it was published.
    Paper,
}

impl Size {
    /// Its name in the plan of a result.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Quick => "quick",
            Self::Scaled => "scaled",
            Self::Paper => "paper",
        }
    }
}

impl Experiment {
    /// What a report needs to know of it.
    #[must_use]
    pub fn asked(&self) -> Asked {
        Asked {
            name: self.name.clone(),
            question: self.question.clone(),
            study: self.study.clone(),
            figure: self.figure.clone(),
            published: self.published.clone(),
        }
    }

    /// The set-up of `size`, or the default one where the experiment has none of that size.
    #[must_use]
    pub fn setup(&self, size: Size) -> &Setup {
        let own = match size {
            Size::Default => None,
            Size::Quick => self.quick.as_ref(),
            Size::Scaled => self.scaled.as_ref(),
            Size::Paper => self.paper.as_ref(),
        };
        own.unwrap_or(&self.default)
    }
}
