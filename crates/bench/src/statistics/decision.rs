//! From a family of ratios to one word each.

use serde::{Deserialize, Serialize};

use super::family::{Corrected, holm};
use super::ratio::LogRatio;
use super::sample::Interval;

/// Ratios within this share of 1 count as "the same" in documents that name no other.
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

impl Better {
    /// Returns a value that is worse by a share of the work done in a time, or of the time itself.
    #[must_use]
    pub fn worse_by(self, value: f64, share: f64) -> f64 {
        match self {
            Self::Higher => value / (1.0 + share),
            Self::Lower => value * (1.0 + share),
        }
    }
}

/// What a comparison found about the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Better than the baseline.
    Faster,
    /// Worse than the baseline.
    Slower,
    /// Shown to be within the margin of the baseline.
    Same,
    /// The runs do not decide.
    Unclear,
}

impl Outcome {
    /// How it is said to people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Unclear => "not decided",
            decided => decided.as_str(),
        }
    }

    /// The word as it stands in results.
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

/// What one look saw of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookResult {
    /// The ratio of the runs that were there.
    pub ratio: LogRatio,
    /// The share of the error that the look may use: that of its [`Look`](super::Look).
    pub share: f64,
}

impl LookResult {
    /// What the only look saw.
    #[must_use]
    pub fn once(ratio: LogRatio) -> Self {
        Self { ratio, share: 1.0 }
    }
}

/// One comparison of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// What was seen, look by look. Nothing where there is no ratio, or no look was made yet.
    pub seen: Vec<LookResult>,
    /// Which direction is good.
    pub better: Better,
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
    /// The interval of the ratio that the word follows from: wholly beyond 1 where it is faster or slower,
    /// wholly within the margin where it is the same, around 1 where it is unclear. None without a ratio of
    /// two runs.
    pub interval: Option<Interval>,
}

/// Decides a whole family at once, so that the chance of any false claim in it stays at 5 %, however often it
/// was looked at. Ratios within `margin` (0.03 for 3 %) of 1 count as the same.
///
/// Both claims, "different" and "same within the margin", are corrected by Holm over the family; the looks at
/// one member are corrected by their shares of the error. "Same" wins where both hold: a difference that is
/// certain but within the margin is not worth a recommendation. A member without a ratio is unclear and does
/// not cost the others anything.
#[must_use]
pub fn decide(family: &[Member], margin: f64) -> Vec<Decision> {
    let known: Vec<&Member> = family.iter().filter(|member| !member.seen.is_empty()).collect();
    let smallest = |p: &dyn Fn(&LogRatio) -> f64| -> Vec<f64> {
        let of_looks = |member: &&Member| {
            member.seen.iter().map(|seen| (p(&seen.ratio) / seen.share).min(1.0)).fold(1.0, f64::min)
        };
        known.iter().map(of_looks).collect()
    };
    let different = holm(&smallest(&|ratio| ratio.p_different()), SIGNIFICANCE);
    let same = holm(&smallest(&|ratio| ratio.p_same(margin)), SIGNIFICANCE);
    let mut corrected = different.into_iter().zip(same);
    family
        .iter()
        .map(|member| {
            if member.seen.is_empty() {
                return Decision { outcome: Outcome::Unclear, p_different: 1.0, p_same: 1.0, interval: None };
            }
            let (different, same) = corrected.next().expect("one correction for each known member");
            member.decide(different, same)
        })
        .collect()
}

impl Member {
    fn decide(&self, different: Corrected, same: Corrected) -> Decision {
        // A test that there is no difference leaves half of its error to each side; each of the two tests of
        // sameness has one side alone.
        let (outcome, interval) = if same.p < SIGNIFICANCE {
            (Outcome::Same, self.interval(2.0 * same.level))
        } else {
            let interval = self.interval(different.level);
            let is_above = self.deciding().is_some_and(|ratio| ratio.mean_log > 0.0);
            let outcome = match different.p < SIGNIFICANCE {
                false => Outcome::Unclear,
                true if is_above == (self.better == Better::Higher) => Outcome::Faster,
                true => Outcome::Slower,
            };
            (outcome, interval)
        };
        Decision { outcome, p_different: different.p, p_same: same.p, interval }
    }

    /// The look that shows most clearly that there is a difference.
    fn deciding(&self) -> Option<LogRatio> {
        let p = |seen: &&LookResult| seen.ratio.p_different() / seen.share;
        self.seen.iter().min_by(|left, right| p(left).total_cmp(&p(right))).map(|seen| seen.ratio)
    }

    /// What all looks leave open with this level of error together; what the last one leaves, where that is
    /// nothing.
    fn interval(&self, level: f64) -> Option<Interval> {
        let of_look = |seen: &LookResult| seen.ratio.interval_at((1.0 - level * seen.share).max(0.0));
        let intervals: Vec<Interval> = self.seen.iter().filter_map(of_look).collect();
        let common = intervals.iter().copied().reduce(|left, right| Interval {
            low: left.low.max(right.low),
            high: left.high.min(right.high),
        })?;
        if common.low <= common.high { Some(common) } else { intervals.last().copied() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::paired_ratio;

    fn member(ratio: Option<LogRatio>, better: Better) -> Member {
        Member { seen: ratio.map(LookResult::once).into_iter().collect(), better }
    }

    fn decided(pairs: &[(f64, f64)], better: Better) -> Decision {
        decide(&[member(paired_ratio(pairs), better)], SAME_MARGIN)[0]
    }

    fn outcome_of(pairs: &[(f64, f64)], better: Better) -> Outcome {
        decided(pairs, better).outcome
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
        let alone = [member(borderline, Better::Higher)];
        assert_eq!(decide(&alone, SAME_MARGIN)[0].outcome, Outcome::Faster);
        let noise = paired_ratio(&[(10.0, 11.0), (10.0, 9.0), (10.0, 10.3)]);
        let family: Vec<_> = std::iter::once(borderline)
            .chain(std::iter::repeat_n(noise, 9))
            .map(|ratio| member(ratio, Better::Higher))
            .collect();
        assert_eq!(decide(&family, SAME_MARGIN)[0].outcome, Outcome::Unclear);
    }

    #[test]
    fn a_member_without_a_ratio_keeps_its_place_and_costs_nothing() {
        let double = paired_ratio(&[(10.0, 20.0), (10.0, 20.5), (10.0, 19.5)]);
        let family = [member(None, Better::Higher), member(double, Better::Higher)];
        let decided = decide(&family, SAME_MARGIN);
        assert_eq!(decided[0].outcome, Outcome::Unclear);
        assert_eq!(decided[1].outcome, Outcome::Faster);
        assert_eq!(decided[1].p_different, double.unwrap().p_different());
    }
    #[test]
    fn the_interval_shows_what_the_word_says() {
        let wide = [(10.0, 20.0), (20.0, 9.0), (10.0, 12.0)];
        let double = [(10.0, 20.0), (10.0, 20.5), (10.0, 19.5)];
        let equal = [(100.0, 101.0), (100.0, 101.01), (100.0, 100.99), (100.0, 101.0)];
        for (pairs, outcome) in
            [(&wide[..], Outcome::Unclear), (&double, Outcome::Faster), (&equal, Outcome::Same)]
        {
            let family: Vec<Member> = [pairs, &wide, &wide, &double]
                .map(|pairs| member(paired_ratio(pairs), Better::Higher))
                .into();
            let decision = decide(&family, SAME_MARGIN)[0];
            let Interval { low, high } = decision.interval.unwrap();
            assert_eq!(decision.outcome, outcome);
            match outcome {
                Outcome::Same => assert!(1.0 / 1.03 < low && high < 1.03, "{low} {high}"),
                Outcome::Faster => assert!(1.0 < low && high > 2.0, "{low} {high}"),
                _ => assert!(low < 1.0 && 1.0 < high, "{low} {high}"),
            }
        }
    }

    #[test]
    fn decision_of_an_early_look_stays() {
        let double = paired_ratio(&[(10.0, 20.0), (10.0, 20.5), (10.0, 19.5)]).unwrap();
        let noise = paired_ratio(&[(10.0, 20.0), (20.0, 9.0), (10.0, 12.0)]).unwrap();
        let looks = |seen: &[(LogRatio, f64)]| Member {
            seen: seen.iter().map(|(ratio, share)| LookResult { ratio: *ratio, share: *share }).collect(),
            better: Better::Lower,
        };
        let family = [looks(&[(double, 0.5), (noise, 0.5)]), looks(&[(noise, 0.5), (double, 0.5)])];
        for decision in decide(&family, SAME_MARGIN) {
            assert_eq!(decision.outcome, Outcome::Slower);
            assert!(decision.interval.unwrap().low > 1.0, "{decision:?}");
        }
        // The same p is worth less where the look had a smaller share.
        let shy = decide(&[looks(&[(double, 0.005)])], SAME_MARGIN)[0];
        assert_eq!(shy.outcome, Outcome::Unclear);
        assert!((shy.p_different - 200.0 * double.p_different()).abs() < 1e-12);
    }
}
