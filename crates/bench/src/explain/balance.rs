//! What speaks for each side, and which side follows from it.

use std::collections::BTreeMap;

use super::profile::Profile;
use crate::results::Comparison;
use crate::statistics::Outcome;

/// A side wins mixed results when its gains weigh this many times its losses.
const WIN_FACTOR: f64 = 2.0;
/// A gain or loss by more than this factor weighs no more: one huge ratio must not drown all others.
const WEIGHT_RATIO_MAX: f64 = 4.0;

/// What was decided, on the scale of logarithms.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Balance {
    gains: f64,
    losses: f64,
}

/// Who should be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Baseline,
    Candidate,
    Either,
}

impl Balance {
    /// Each experiment weighs what the profile says, however many settings it was measured in: its
    /// comparisons share that weight.
    pub(super) fn of<'a>(comparisons: impl IntoIterator<Item = &'a Comparison>, profile: &Profile) -> Self {
        let mut experiments: BTreeMap<&str, (f64, f64, u32)> = BTreeMap::new();
        for comparison in comparisons {
            let (gains, losses, count) = experiments.entry(&comparison.experiment).or_default();
            *count += 1;
            match comparison.verdict {
                Outcome::Faster => *gains += log_size(comparison).min(WEIGHT_RATIO_MAX.ln()),
                Outcome::Slower => *losses += log_size(comparison).min(WEIGHT_RATIO_MAX.ln()),
                Outcome::Same | Outcome::Unclear => {}
            }
        }
        let mut balance = Self::default();
        for (experiment, (gains, losses, count)) in experiments {
            let weight = profile.weight(experiment) / f64::from(count);
            balance.gains += gains * weight;
            balance.losses += losses * weight;
        }
        balance
    }

    pub(super) fn side(self) -> Side {
        if self.gains > 0.0 && self.gains >= self.losses * WIN_FACTOR {
            Side::Candidate
        } else if self.losses > 0.0 && self.losses >= self.gains * WIN_FACTOR {
            Side::Baseline
        } else {
            Side::Either
        }
    }

    /// Whether any difference was decided.
    pub(super) fn is_decided(self) -> bool {
        self.gains > 0.0 || self.losses > 0.0
    }

    /// What the candidate gains in all.
    pub(super) fn net(self) -> f64 {
        self.gains - self.losses
    }
}

/// How large a difference is, on the scale of logarithms.
pub(super) fn log_size(comparison: &Comparison) -> f64 {
    comparison.ratio.filter(|ratio| *ratio > 0.0).map_or(0.0, |ratio| ratio.ln().abs())
}
