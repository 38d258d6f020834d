//! The mathematics of the comparison: intervals, ratios, families of tests, fairness.
//!
//! Owns pure functions over plain numbers. It knows nothing of NFS, files, cells or how a number was
//! measured. The *run* is the unit of every sample here, never a second within a run.

mod decision;
mod fairness;
mod family;
mod looks;
mod moderated;
mod percentile;
mod power;
#[cfg(test)]
mod published;
mod ratio;
mod sample;
mod signed_rank;
mod trend;

pub use decision::{Better, Decision, LookResult, Member, Outcome, SAME_MARGIN, SIGNIFICANCE, decide};
pub use fairness::{jain_index, max_min_ratio};
pub use family::{Corrected, holm};
pub use looks::{Look, detection, sequence, single};
pub use moderated::{Spread, moderated};
pub use percentile::percentile;
pub use power::{Design, PLANNED_DIFFERENCE, PLANNED_POWER, RUNS_MAX, pairs_needed, power, runs_needed};
pub use ratio::{LogRatio, paired_ratio, welch_ratio};
pub use sample::{CONFIDENCE, Estimate, Interval, estimate, mean_and_variance, t_half_width};
pub use signed_rank::{SignedRank, signed_rank};
pub use trend::{TREND_RUNS_MIN, Trend, trend};

/// Fails unless two numbers differ by at most `tolerance`.
#[cfg(test)]
fn near(left: f64, right: f64, tolerance: f64) {
    assert!((left - right).abs() <= tolerance, "{left} is not within {tolerance} of {right}");
}
