//! The mathematics of the comparison: intervals, ratios, families of tests, fairness.
//!
//! Owns pure functions over plain numbers. It knows nothing of NFS, files, cells or how a number was measured.
//! The *run* is the unit of every sample here, never a second within a run.

mod decision;
mod fairness;
mod family;
mod percentile;
mod power;
#[cfg(test)]
mod published;
mod ratio;
mod sample;
mod signed_rank;
mod trend;

pub use decision::{Better, Decision, Outcome, SAME_MARGIN, SIGNIFICANCE, decide};
pub use fairness::{jain_index, max_min_ratio};
pub use family::holm;
pub use percentile::percentile;
pub use power::{Design, PLANNED_DIFFERENCE, PLANNED_POWER, RUNS_MAX, power, runs_needed};
pub use ratio::{LogRatio, paired_ratio, welch_ratio};
pub use sample::{CONFIDENCE, Estimate, Interval, estimate};
pub use signed_rank::{SignedRank, signed_rank};
pub use trend::{TREND_RUNS_MIN, Trend, trend};
