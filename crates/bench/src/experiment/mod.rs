//! Experiments: the question, the workload that answers it, and its sizes. Read from TOML.
//!
//! Owns the format of `experiments/*.toml` and what may stand in it. It knows nothing of clients, servers or
//! how a workload is carried out.

mod builtin;
mod byte_size;
mod error;
mod parse;
mod plan;
mod workload;

use serde::Deserialize;

pub use builtin::{builtin, find};
pub use error::Error;
pub use parse::{CLIENTS_MAX, parse};
pub use plan::Plan;
pub use workload::Workload;

use crate::results::Metric;

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
    /// The size of the default benchmark.
    pub default: Setup,
    /// The size for `--quick`; an experiment without one is left out of the quick benchmark.
    pub quick: Option<Setup>,
    /// The size that was published.
    pub paper: Option<Setup>,
}

/// How large an experiment is run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Clients that run at the same time, 1 to [`CLIENTS_MAX`].
    pub clients: u32,
    /// What each client does.
    pub workload: Workload,
}

/// Which of an experiment's sizes to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// The default benchmark.
    Default,
    /// `--quick`.
    Quick,
    /// As it was published.
    Paper,
}

impl Experiment {
    /// The set-up of `size`, or the default one where the experiment has none of that size.
    #[must_use]
    pub fn setup(&self, size: Size) -> &Setup {
        let own = match size {
            Size::Default => None,
            Size::Quick => self.quick.as_ref(),
            Size::Paper => self.paper.as_ref(),
        };
        own.unwrap_or(&self.default)
    }
}
