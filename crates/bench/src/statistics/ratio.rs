//! Two arms: the ratio candidate ÷ baseline on the log scale, with its interval and its tests.

use super::sample::{CONFIDENCE, Interval, Moments, t_above, t_quantile, two_sided};

/// The logarithm of a ratio and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogRatio {
    /// Mean of ln(candidate ÷ baseline), of many pairs without the wildest.
    pub mean_log: f64,
    /// Its standard error; none when an arm has a single run, zero when nothing varied.
    pub standard_error: Option<f64>,
    /// Degrees of freedom of the t that belongs to it; meaningless without a standard error.
    pub degrees: f64,
    /// Pairs used, or the runs of the smaller arm.
    pub count: usize,
    /// Pairs or runs left out because a value was zero, negative or not finite.
    pub excluded: usize,
}

/// Pairs from which on the wildest are left out of the mean. With fewer, leaving some out costs more than it
/// gains.
pub(super) const TRIMMED_FROM: usize = 24;

/// The share of the pairs that is left out at each end.
const TRIMMED_SHARE: f64 = 0.2;

/// The ratio of runs that were made in pairs: a paired t on the logarithms, from 24 pairs on of the mean
/// without the fifth of them at each end (Yuen's t, Biometrika 61, 1974).
///
/// A machine that does something else for a moment makes a few pairs wild. Since the arms of a block take
/// turns in random order, equal arms differ as often and as much in either direction, and leaving both ends
/// out favours neither.
///
/// `pairs` are (baseline, candidate). A pair with a value that is not positive and finite is left out;
/// with none left there is no ratio.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<LogRatio> {
    let logs: Vec<f64> = pairs
        .iter()
        .filter(|(baseline, candidate)| has_log(*baseline) && has_log(*candidate))
        .map(|(baseline, candidate)| candidate.ln() - baseline.ln())
        .collect();
    let (count, excluded) = (logs.len(), pairs.len() - logs.len());
    if count >= TRIMMED_FROM {
        return Some(LogRatio { excluded, ..trimmed(logs) });
    }
    let moments = Moments::of(&logs)?;
    let (standard_error, degrees) = (moments.standard_error(), moments.degrees());
    Some(LogRatio { mean_log: moments.mean, standard_error, degrees, count, excluded })
}

/// The mean without both ends, with the standard error that takes account of them: they stand where the
/// outermost of the others are (Tukey and McLaughlin, Sankhya A 25, 1963).
fn trimmed(mut logs: Vec<f64>) -> LogRatio {
    logs.sort_by(f64::total_cmp);
    let count = logs.len();
    let cut = (count as f64 * TRIMMED_SHARE) as usize;
    let kept = count - 2 * cut;
    let mean_log = logs[cut..cut + kept].iter().sum::<f64>() / kept as f64;
    let (lowest, highest) = (logs[cut], logs[cut + kept - 1]);
    let drawn_in: Vec<f64> = logs.iter().map(|log| log.clamp(lowest, highest)).collect();
    let variance = Moments::of(&drawn_in).map_or(0.0, |moments| moments.variance);
    let kept = kept as f64;
    let squares = variance * (count as f64 - 1.0);
    LogRatio {
        mean_log: if squares == 0.0 { lowest } else { mean_log },
        standard_error: Some((squares / (kept * (kept - 1.0))).sqrt()),
        degrees: kept - 1.0,
        count,
        excluded: 0,
    }
}

/// The ratio of runs that were not made in pairs: Welch's t on the logarithms.
///
/// Values that are not positive and finite are left out; with an empty arm there is no ratio.
#[must_use]
pub fn welch_ratio(baseline: &[f64], candidate: &[f64]) -> Option<LogRatio> {
    let baseline_logs = logs(baseline);
    let candidate_logs = logs(candidate);
    let (left, right) = (Moments::of(&baseline_logs)?, Moments::of(&candidate_logs)?);
    let standard_error =
        left.standard_error().zip(right.standard_error()).map(|(left, right)| left.hypot(right));
    Some(LogRatio {
        mean_log: right.mean - left.mean,
        standard_error,
        degrees: welch_degrees(&left, &right),
        count: baseline_logs.len().min(candidate_logs.len()),
        excluded: baseline.len() + candidate.len() - baseline_logs.len() - candidate_logs.len(),
    })
}

impl LogRatio {
    /// The ratio candidate ÷ baseline (a geometric mean).
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.mean_log.exp()
    }

    /// The standard deviation of one pair's difference of logarithms; arms measured apart (Welch) come near
    /// enough. None with a single run.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        Some(self.standard_error? * (self.count as f64).sqrt())
    }

    /// The 95 % interval of the ratio; none with a single run.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        self.interval_at(CONFIDENCE)
    }

    /// The interval of the ratio with a confidence of 0 to 1; none with a single run.
    #[must_use]
    pub fn interval_at(&self, confidence: f64) -> Option<Interval> {
        let error = self.standard_error?;
        let half = if error > 0.0 { t_quantile(two_sided(confidence), self.degrees) * error } else { 0.0 };
        Some(Interval { low: (self.mean_log - half).exp(), high: (self.mean_log + half).exp() })
    }

    /// [`LogRatio::ratio`], unless it is beyond every number.
    #[must_use]
    pub fn finite_ratio(&self) -> Option<f64> {
        Some(self.ratio()).filter(|ratio| ratio.is_finite())
    }

    /// The ends of [`LogRatio::interval`], unless they are beyond every number, as those of two runs that
    /// differ wildly can be.
    #[must_use]
    pub fn finite_interval(&self) -> Option<[f64; 2]> {
        self.interval()?.finite_ends()
    }

    /// Two-sided p of "the ratio is 1". One run decides nothing (1); a difference without spread is certain
    /// (0).
    #[must_use]
    pub fn p_different(&self) -> f64 {
        match self.standard_error {
            None => 1.0,
            Some(0.0) => f64::from(self.mean_log == 0.0),
            Some(error) => (2.0 * t_above((self.mean_log / error).abs(), self.degrees)).min(1.0),
        }
    }

    /// p of the two one-sided tests against "the ratio is off by more than `margin`" (0.03 for 3 %):
    /// the margins are 1 + `margin` and its inverse. A small p says that the arms are the same.
    #[must_use]
    pub fn p_same(&self, margin: f64) -> f64 {
        let bound = margin.ln_1p();
        match self.standard_error {
            None => 1.0,
            Some(0.0) => f64::from(self.mean_log.abs() >= bound),
            Some(error) => {
                let not_below = t_above((self.mean_log + bound) / error, self.degrees);
                let not_above = t_above((bound - self.mean_log) / error, self.degrees);
                not_below.max(not_above)
            }
        }
    }
}

fn has_log(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|value| has_log(*value)).map(f64::ln).collect()
}

/// Welch–Satterthwaite; with no spread at all the pooled degrees, so that the answer stays a number.
fn welch_degrees(left: &Moments, right: &Moments) -> f64 {
    let (a, b) = (left.variance / left.count, right.variance / right.count);
    let below = a * a / left.degrees().max(1.0) + b * b / right.degrees().max(1.0);
    if below > 0.0 { (a + b).powi(2) / below } else { (left.count + right.count - 2.0).max(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::near;

    #[test]
    fn a_paired_ratio_is_the_t_of_the_log_differences() {
        // ln ratios 0.6, 0.7, 0.8: mean 0.7, standard error 0.1/√3 = 0.0577350, t(2) = 4.302653.
        let pairs: Vec<(f64, f64)> = [0.6, 0.7, 0.8].iter().map(|log: &f64| (5.0, 5.0 * log.exp())).collect();
        let ratio = paired_ratio(&pairs).unwrap();
        let interval = ratio.interval().unwrap();
        near(ratio.ratio(), 0.7_f64.exp(), 1e-12);
        near(interval.low.ln(), 0.7 - 0.248_414, 1e-5);
        near(interval.high.ln(), 0.7 + 0.248_414, 1e-5);
        // t = 12.1244 with 2 degrees: p = 1 − t/√(t² + 2) = 0.0067342.
        near(ratio.p_different(), 0.006_734_2, 1e-6);
    }

    #[test]
    fn few_wild_pairs_among_many_move_nothing() {
        // 24 pairs around 5 %, with a spread of 1 %; four more are wild.
        let spread = |place: usize| 0.01 * (place as f64 - 11.5) / 7.0;
        let mut logs: Vec<f64> = (0..24).map(|place| 0.05 + spread(place)).collect();
        logs.extend([-1.0, 1.2, 0.9, -0.8]);
        let pairs: Vec<(f64, f64)> = logs.iter().map(|log| (7.0, 7.0 * log.exp())).collect();
        let ratio = paired_ratio(&pairs).unwrap();
        near(ratio.mean_log, 0.05, 0.002);
        assert!(ratio.standard_error.unwrap() < 0.004, "{ratio:?}");
        assert_eq!((ratio.count, ratio.degrees), (28, 17.0));
        let exact = paired_ratio(&[(3.0, 6.0); 30]).unwrap();
        assert_eq!((exact.standard_error, exact.p_different()), (Some(0.0), 0.0));
    }

    #[test]
    fn trimmed_mean_agrees_with_a_worked_example() {
        // Of 1 … 30 a fifth, 6, goes at each end: the mean of 7 … 24 is 15.5. With 7 and 24 in their places
        // the sum of squares is Σ(7 … 24 − 15.5)² + 12 × 8.5² = 484.5 + 867, over 18 × 17: standard error
        // √(1351.5/306) = 2.101587.
        let pairs: Vec<(f64, f64)> = (1..=30).map(|log| (1.0, f64::from(log).exp())).collect();
        let ratio = paired_ratio(&pairs).unwrap();
        near(ratio.mean_log, 15.5, 1e-9);
        near(ratio.standard_error.unwrap(), 2.101_587, 1e-5);
    }

    #[test]
    fn pairing_removes_what_a_block_has_in_common() {
        let pairs = [(10.0, 11.0), (100.0, 111.0), (1000.0, 1099.0)];
        let (baseline, candidate): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        assert!(paired_ratio(&pairs).unwrap().p_different() < 0.01);
        assert!(welch_ratio(&baseline, &candidate).unwrap().p_different() > 0.9);
    }

    #[test]
    fn welch_agrees_with_a_worked_example() {
        // Logs {1,2,3,4} against {2,4,6,8}: means 2.5 and 5, variances 5/3 and 20/3,
        // standard error √(5/12 + 20/12) = 1.443376, df = (25/12)² / ((25/144 + 400/144)/3) = 4.411765.
        let exp = |values: [f64; 4]| values.map(f64::exp);
        let ratio = welch_ratio(&exp([1.0, 2.0, 3.0, 4.0]), &exp([2.0, 4.0, 6.0, 8.0])).unwrap();
        near(ratio.mean_log, 2.5, 1e-12);
        near(ratio.standard_error.unwrap(), 1.443_376, 1e-6);
        near(ratio.degrees, 4.411_765, 1e-6);
        // t = 1.732051 lies between the 80 % and 90 % columns for 4 degrees (1.533, 2.132).
        assert!(ratio.p_different() > 0.10 && ratio.p_different() < 0.20);
    }

    #[test]
    fn equivalence_needs_both_one_sided_tests() {
        let tight = paired_ratio(&[(100.0, 100.1), (100.0, 99.9), (100.0, 100.2), (100.0, 99.8)]).unwrap();
        assert!(tight.p_same(0.03) < 0.001);
        let wide = paired_ratio(&[(100.0, 120.0), (100.0, 84.0), (100.0, 110.0), (100.0, 90.0)]).unwrap();
        assert!(wide.p_same(0.03) > 0.05 && wide.p_different() > 0.05);
        let off = paired_ratio(&[(100.0, 110.0), (100.0, 110.1), (100.0, 109.9)]).unwrap();
        assert!(off.p_same(0.03) > 0.99);
    }

    #[test]
    fn the_margin_of_sameness_is_itself_a_ratio() {
        let up = LogRatio {
            mean_log: 1.0299_f64.ln(),
            standard_error: Some(0.0),
            degrees: 4.0,
            count: 5,
            excluded: 0,
        };
        let down = LogRatio { mean_log: -up.mean_log, ..up };
        assert_eq!((up.p_same(0.03), down.p_same(0.03)), (0.0, 0.0));
        let out = LogRatio { mean_log: 1.0301_f64.ln(), ..up };
        assert_eq!(out.p_same(0.03), 1.0);
    }

    #[test]
    fn one_pair_has_a_ratio_and_decides_nothing() {
        let ratio = paired_ratio(&[(2.0, 3.0)]).unwrap();
        near(ratio.ratio(), 1.5, 1e-12);
        assert_eq!((ratio.interval(), ratio.p_different(), ratio.p_same(0.03)), (None, 1.0, 1.0));
        let welch = welch_ratio(&[2.0], &[3.0, 3.1]).unwrap();
        assert_eq!((welch.interval(), welch.p_different()), (None, 1.0));
    }

    #[test]
    fn counts_that_never_vary_give_a_certain_answer() {
        let halved = paired_ratio(&[(60_000.0, 30_000.0); 3]).unwrap();
        let interval = halved.interval().unwrap();
        near(interval.low, 0.5, 1e-12);
        assert_eq!((interval.low, halved.p_different()), (interval.high, 0.0));
        let equal = welch_ratio(&[3.0; 3], &[3.0; 3]).unwrap();
        assert_eq!((equal.p_different(), equal.p_same(0.03)), (1.0, 0.0));
    }

    #[test]
    fn values_without_a_logarithm_are_left_out_and_counted() {
        let ratio =
            paired_ratio(&[(0.0, 1.0), (1.0, -1.0), (f64::NAN, 1.0), (1.0, 2.0), (1.0, 2.0)]).unwrap();
        assert_eq!((ratio.count, ratio.excluded), (2, 3));
        assert_eq!(paired_ratio(&[(0.0, 0.0)]), None);
        assert_eq!(paired_ratio(&[]), None);
        assert_eq!(welch_ratio(&[0.0, f64::INFINITY], &[1.0]), None);
    }
}
