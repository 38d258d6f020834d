//! One arm: the mean of its runs and how well it is known.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The confidence of every interval that is reported.
pub const CONFIDENCE: f64 = 0.95;

/// A closed interval, in the unit of what it belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Returns both ends, unless one is beyond every number.
    #[must_use]
    pub fn finite_ends(self) -> Option<[f64; 2]> {
        Some([self.low, self.high]).filter(|ends| ends.iter().all(|end| end.is_finite()))
    }

    /// Whether `value` lies inside, ends included.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The mean of one arm with its Student-t interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Arithmetic mean of the finite samples.
    pub mean: f64,
    /// The 95 % interval; none with fewer than two samples, a point when all are equal.
    pub interval: Option<Interval>,
    /// Samples used.
    pub count: usize,
    /// Samples left out because they were not finite.
    pub excluded: usize,
}

/// The mean of `samples` and its two-sided 95 % interval by Student's t with n − 1 degrees of freedom.
///
/// Samples that are not finite are left out and counted; with none left there is no estimate.
#[must_use]
pub fn estimate(samples: &[f64]) -> Option<Estimate> {
    let finite: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    let moments = Moments::of(&finite)?;
    let interval = moments.standard_error().map(|error| {
        let half = t_quantile(two_sided(CONFIDENCE), moments.degrees()) * error;
        Interval { low: moments.mean - half, high: moments.mean + half }
    });
    Some(Estimate {
        mean: moments.mean,
        interval,
        count: finite.len(),
        excluded: samples.len() - finite.len(),
    })
}

/// Mean and unbiased variance of a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub(super) count: f64,
    pub(super) mean: f64,
    /// With n − 1 in the denominator; zero for one sample.
    pub(super) variance: f64,
}

impl Moments {
    /// The moments of finite `samples`; none of no sample.
    pub(super) fn of(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() {
            return None;
        }
        let count = samples.len() as f64;
        if samples.iter().all(|sample| *sample == samples[0]) {
            // Exact counts are equal in every run; rounding must not turn them into a tiny spread.
            return Some(Self { count, mean: samples[0], variance: 0.0 });
        }
        let mean = samples.iter().sum::<f64>() / count;
        let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        Some(Self { count, mean, variance: squares / (count - 1.0) })
    }

    pub(super) fn degrees(&self) -> f64 {
        self.count - 1.0
    }

    /// Standard error of the mean; none for a single sample, whose spread is unknown.
    pub(super) fn standard_error(&self) -> Option<f64> {
        (self.count >= 2.0).then(|| (self.variance / self.count).sqrt())
    }
}

/// The probability below the upper end of a two-sided interval.
pub(super) fn two_sided(confidence: f64) -> f64 {
    0.5 + confidence / 2.0
}

/// Quantile of Student's t. `degrees` is positive: callers have at least two samples.
pub(super) fn t_quantile(probability: f64, degrees: f64) -> f64 {
    student(degrees).inverse_cdf(probability)
}

/// Probability that Student's t exceeds `t`.
pub(super) fn t_above(t: f64, degrees: f64) -> f64 {
    student(degrees).sf(t)
}

/// Mean and unbiased variance of `samples`; none of fewer than two.
#[must_use]
pub fn mean_and_variance(samples: &[f64]) -> Option<(f64, f64)> {
    let moments = Moments::of(samples).filter(|moments| moments.count >= 2.0)?;
    Some((moments.mean, moments.variance))
}

/// Standard errors to both sides that a two-sided interval with this chance of error has.
#[must_use]
pub fn t_half_width(error: f64, degrees: f64) -> f64 {
    t_quantile(two_sided(1.0 - error), degrees)
}

fn student(degrees: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees).expect("degrees of freedom are positive and finite")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::near;

    #[test]
    fn quantiles_agree_with_the_published_table() {
        // Two-sided 95 % column of the usual table of Student's t.
        for (degrees, quantile) in
            [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (9.0, 2.262), (30.0, 2.042), (120.0, 1.980)]
        {
            near(t_quantile(0.975, degrees), quantile, 0.0006);
        }
        for (degrees, quantile) in [(2.0, 2.920), (4.0, 2.132), (10.0, 1.812)] {
            near(t_quantile(0.95, degrees), quantile, 0.0006);
        }
        near(t_above(2.776_445, 4.0), 0.025, 1e-6);
    }

    #[test]
    fn an_interval_is_the_mean_and_t_standard_errors() {
        // Mean 3, s² = 2.5, standard error √0.5 = 0.70711, half-width 2.776445 × 0.70711 = 1.96324.
        let estimate = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let interval = estimate.interval.unwrap();
        near(estimate.mean, 3.0, 1e-12);
        near(interval.low, 3.0 - 1.963_243, 1e-5);
        near(interval.high, 3.0 + 1.963_243, 1e-5);
        assert!(interval.contains(3.0) && !interval.contains(5.0));
    }

    #[test]
    fn three_runs_have_a_half_width_of_2_48_deviations() {
        let interval = estimate(&[-1.0, 0.0, 1.0]).unwrap().interval.unwrap();
        near(interval.high, 2.484, 0.001);
    }

    #[test]
    fn one_run_has_a_mean_and_no_interval() {
        let estimate = estimate(&[7.0]).unwrap();
        assert_eq!((estimate.mean, estimate.interval, estimate.count), (7.0, None, 1));
    }

    #[test]
    fn equal_runs_have_an_interval_of_no_width() {
        let interval = estimate(&[0.1; 7]).unwrap().interval.unwrap();
        assert_eq!((interval.low, interval.high), (0.1, 0.1));
    }

    #[test]
    fn values_that_are_not_finite_are_left_out_and_counted() {
        let estimate = estimate(&[1.0, f64::NAN, 3.0, f64::INFINITY]).unwrap();
        assert_eq!((estimate.mean, estimate.count, estimate.excluded), (2.0, 2, 2));
        assert_eq!(super::estimate(&[f64::NAN]), None);
        assert_eq!(super::estimate(&[]), None);
    }
}
