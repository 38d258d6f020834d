//! Workloads put together from single operations: phases, each with threads that go through a loop of steps
//! over sets of files.
//!
//! Owns what may be said, and what makes no sense. Carrying it out is the workloads' matter.

mod check;
mod file_size;
mod space;
mod step;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use file_size::FileSize;
pub use step::{Line, Mode, Offset, Step};

pub(super) use check::check;
pub(super) use words::unknown;

use super::byte_size::byte_size;

/// Pieces in which whole files are read and written, unless said otherwise: that of filebench.
const IO_BYTES: u64 = 1 << 20;
/// Entries in a directory, unless said otherwise.
const WIDTH: u64 = 100;

/// A workload of the user's own: sets of files, and phases that go over them one after the other.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Composed {
    /// Threads of each client in phases that do not say otherwise.
    #[serde(default = "one")]
    pub threads: u32,
    /// Pieces in which whole files are read and written.
    #[serde(default = "io_bytes", deserialize_with = "byte_size")]
    pub io_bytes: u64,
    /// The sets of files by name.
    pub sets: BTreeMap<String, FileSet>,
    /// What is done, in order. Each phase begins when all clients have finished the one before.
    pub phases: Vec<Phase>,
}

/// Files that steps pick from. Each client has its own copy of the set unless it is shared.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSet {
    /// Names in the set, whether there is a file of that name or not.
    pub entries: u64,
    /// How large its files are. The size of an entry follows from the seed.
    #[serde(default)]
    pub size: FileSize,
    /// Entries in each directory; more directories are made as they are needed, in a tree.
    #[serde(default = "width")]
    pub width: u64,
    /// The share of the entries that are there before the first phase, from 0 to 1.
    #[serde(default = "all")]
    pub preallocated: f64,
    /// How steps choose an entry.
    #[serde(default)]
    pub pick: Pick,
    /// Whether all clients work on the same files.
    #[serde(default)]
    pub shared: bool,
}

/// How steps choose an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// One after the other, and again from the beginning.
    #[default]
    Rotation,
    /// Any of them, by the seed.
    Random,
}

/// One part of a composed workload.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Lower-case words joined by `-`.
    pub name: String,
    /// Threads of each client; those of the workload unless said.
    pub threads: Option<u32>,
    /// Which clients take part.
    #[serde(default)]
    pub clients: Participants,
    /// How long.
    pub seconds: Option<f64>,
    /// How often each client goes through the loop, all its threads together.
    pub passes: Option<u64>,
    /// Whether clients forget everything that they keep of the sets before they begin.
    #[serde(default)]
    pub cold: bool,
    /// What each thread does before the clock starts.
    #[serde(default)]
    pub first: Vec<Line>,
    /// What each thread does again and again.
    #[serde(rename = "loop")]
    pub body: Vec<Line>,
    /// What each thread does at the end, inside the measured time.
    #[serde(default)]
    pub last: Vec<Line>,
    /// The steps that count as operations, by their first word; all but `think` when none is named.
    #[serde(default)]
    pub counts: Vec<String>,
    /// Whether the phase is a result; otherwise it only prepares the next one.
    #[serde(default = "yes")]
    pub measured: bool,
    /// The unit in which the phase is measured; that of the experiment unless said.
    pub unit: Option<String>,
}

/// Which clients take part in a phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Participants {
    /// All of them.
    #[default]
    All,
    /// The first one alone.
    First,
    /// All but the first one.
    Others,
}

impl Participants {
    /// Whether the client with this number takes part.
    #[must_use]
    pub fn includes(self, client: u32) -> bool {
        match self {
            Self::All => true,
            Self::First => client == 0,
            Self::Others => client > 0,
        }
    }
}

impl Composed {
    /// Threads of each client that takes part in a phase.
    #[must_use]
    pub fn threads_of(&self, phase: &Phase) -> u32 {
        phase.threads.unwrap_or(self.threads)
    }

    /// The phases that are results.
    pub fn measured(&self) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(|phase| phase.measured)
    }

    /// How long all phases together take at most; none when one of them is limited by its passes alone.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        self.phases.iter().map(|phase| phase.seconds).sum()
    }

    /// Whether the files of a set come and go or change their size. Such an entry is used by one thread at a
    /// time.
    #[must_use]
    pub fn changes(&self, set: &str) -> bool {
        self.phases.iter().any(|phase| {
            let mut open = None;
            phase.steps().any(|step| {
                if let Step::Open { set, .. } | Step::Create { set, .. } = step {
                    open = Some(set.as_str());
                }
                match step {
                    Step::Create { set: changed, .. }
                    | Step::Delete { set: changed }
                    | Step::Rename { set: changed } => changed == set,
                    Step::WriteWhole | Step::Append { .. } => open == Some(set),
                    _ => false,
                }
            })
        })
    }

    /// Whether each run has files of its own: those of a set that changes, and those that clients share and
    /// open for writing. A server remembers files that a delegation was recalled of, and delegates them to
    /// nobody for a while.
    #[must_use]
    pub fn is_made_anew(&self, set: &str) -> bool {
        let is_shared = self.sets.get(set).is_some_and(|set| set.shared);
        let is_for_writing = |step: &Step| match step {
            Step::Open { set: opened, mode, .. } => opened == set && *mode != Mode::Read,
            _ => false,
        };
        self.changes(set) || is_shared && self.phases.iter().any(|phase| phase.steps().any(is_for_writing))
    }
}

impl Phase {
    /// All that it does, in order.
    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.first.iter().chain(&self.body).chain(&self.last).map(|line| &line.step)
    }

    /// Whether a step with this first word counts as an operation.
    #[must_use]
    pub fn counts_step(&self, word: &str) -> bool {
        if self.counts.is_empty() { word != step::THINK } else { self.counts.iter().any(|name| name == word) }
    }
}

fn one() -> u32 {
    1
}

fn io_bytes() -> u64 {
    IO_BYTES
}

fn width() -> u64 {
    WIDTH
}

fn all() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}
