//! The mathematics of the comparison: intervals, ratios, families of tests, fairness.
//!
//! Owns pure functions over plain numbers. It knows nothing of NFS, files, cells or how a number was measured.
//! The *run* is the unit of every sample here, never a second within a run.

mod decision;
mod fairness;
mod family;
mod percentile;
mod ratio;
mod sample;

pub use decision::{Better, Decision, Outcome, SAME_MARGIN, SIGNIFICANCE, decide};
pub use fairness::{jain_index, max_min_ratio};
pub use family::holm;
pub use percentile::percentile;
pub use ratio::{LogRatio, paired_ratio, welch_ratio};
pub use sample::{CONFIDENCE, Estimate, Interval, estimate};
