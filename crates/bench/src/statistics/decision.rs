//! From a family of ratios to one word each.

use serde::{Deserialize, Serialize};

use super::family::holm;
use super::ratio::LogRatio;

/// Ratios within this share of 1 count as "the same".
pub const SAME_MARGIN: f64 = 0.03;

/// A claim is made when its adjusted p is below this.
pub const SIGNIFICANCE: f64 = 0.05;

/// Which direction of a metric is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better, as for throughput.
    Higher,
    /// Less is better, as for latency.
    Lower,
}

/// What a comparison found about the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Better than the baseline.
    Faster,
    /// Worse than the baseline.
    Slower,
    /// Shown to be within [`SAME_MARGIN`] of the baseline.
    Same,
    /// The runs do not decide.
    Unclear,
}

impl Outcome {
    /// The word as it stands in results and tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Unclear => "unclear",
        }
    }
}

/// The outcome of one member of a family, with the adjusted p of both claims.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The word.
    pub outcome: Outcome,
    /// Adjusted p of "there is no difference".
    pub p_different: f64,
    /// Adjusted p of "the difference exceeds the margin".
    pub p_same: f64,
}

/// Decides a whole family at once, so that the chance of any false claim in it stays at 5 %.
///
/// Both claims, "different" and "same within 3 %", are corrected by Holm over the family. "Same" wins where
/// both hold: a difference that is certain but within the margin is not worth a recommendation. A member without a
/// ratio is unclear and does not cost the others anything.
#[must_use]
pub fn decide(family: &[(Option<LogRatio>, Better)]) -> Vec<Decision> {
    let known: Vec<&LogRatio> = family.iter().filter_map(|(ratio, _)| ratio.as_ref()).collect();
    let different = holm(&known.iter().map(|ratio| ratio.p_different()).collect::<Vec<_>>());
    let same = holm(&known.iter().map(|ratio| ratio.p_same(SAME_MARGIN)).collect::<Vec<_>>());
    let mut adjusted = different.into_iter().zip(same);
    family
        .iter()
        .map(|(ratio, better)| match ratio {
            None => Decision { outcome: Outcome::Unclear, p_different: 1.0, p_same: 1.0 },
            Some(ratio) => {
                let (p_different, p_same) = adjusted.next().expect("one adjusted p for each known ratio");
                let outcome = outcome(ratio.mean_log, *better, p_different, p_same);
                Decision { outcome, p_different, p_same }
            }
        })
        .collect()
}

fn outcome(mean_log: f64, better: Better, p_different: f64, p_same: f64) -> Outcome {
    if p_same < SIGNIFICANCE {
        return Outcome::Same;
    }
    if p_different >= SIGNIFICANCE {
        return Outcome::Unclear;
    }
    if (mean_log > 0.0) == (better == Better::Higher) { Outcome::Faster } else { Outcome::Slower }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::paired_ratio;

    fn outcome_of(pairs: &[(f64, f64)], better: Better) -> Outcome {
        decide(&[(paired_ratio(pairs), better)])[0].outcome
    }

    #[test]
    fn the_direction_follows_the_metric() {
        let double = [(10.0, 20.0), (10.0, 20.5), (10.0, 19.5)];
        assert_eq!(outcome_of(&double, Better::Higher), Outcome::Faster);
        assert_eq!(outcome_of(&double, Better::Lower), Outcome::Slower);
        let half = [(20.0, 10.0), (20.5, 10.0), (19.5, 10.0)];
        assert_eq!(outcome_of(&half, Better::Higher), Outcome::Slower);
        assert_eq!(outcome_of(&half, Better::Lower), Outcome::Faster);
    }

    #[test]
    fn a_certain_difference_within_the_margin_is_the_same() {
        let pairs = [(100.0, 101.0), (100.0, 101.01), (100.0, 100.99), (100.0, 101.0)];
        assert!(paired_ratio(&pairs).unwrap().p_different() < 0.001);
        assert_eq!(outcome_of(&pairs, Better::Higher), Outcome::Same);
    }

    #[test]
    fn too_much_spread_and_too_few_runs_are_unclear() {
        assert_eq!(outcome_of(&[(10.0, 20.0), (20.0, 9.0), (10.0, 12.0)], Better::Higher), Outcome::Unclear);
        assert_eq!(outcome_of(&[(10.0, 99.0)], Better::Higher), Outcome::Unclear);
        assert_eq!(outcome_of(&[(0.0, 99.0)], Better::Higher), Outcome::Unclear);
    }

    #[test]
    fn a_family_asks_more_of_each_member_than_a_test_alone() {
        let borderline = paired_ratio(&[(10.0, 11.0), (10.0, 12.0), (10.0, 12.5)]);
        let p = borderline.unwrap().p_different();
        assert!(p > 0.01 && p < 0.05, "{p}");
        assert_eq!(decide(&[(borderline, Better::Higher)])[0].outcome, Outcome::Faster);
        let noise = paired_ratio(&[(10.0, 11.0), (10.0, 9.0), (10.0, 10.3)]);
        let family: Vec<_> = std::iter::once(borderline)
            .chain(std::iter::repeat_n(noise, 9))
            .map(|ratio| (ratio, Better::Higher))
            .collect();
        assert_eq!(decide(&family)[0].outcome, Outcome::Unclear);
    }

    #[test]
    fn a_member_without_a_ratio_keeps_its_place_and_costs_nothing() {
        let double = paired_ratio(&[(10.0, 20.0), (10.0, 20.5), (10.0, 19.5)]);
        let decided = decide(&[(None, Better::Higher), (double, Better::Higher)]);
        assert_eq!(decided[0].outcome, Outcome::Unclear);
        assert_eq!(decided[1].outcome, Outcome::Faster);
        assert_eq!(decided[1].p_different, double.unwrap().p_different());
    }
}
