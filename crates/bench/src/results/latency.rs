//! How long the operations of the application took.

use std::collections::BTreeMap;

use hdrhistogram::Histogram as Micros;
use serde::{Deserialize, Serialize};

const BUCKETS_EACH_DOUBLING: f64 = 4.0;

/// Times of single operations in milliseconds; a percentile is the time that this share of them did not
/// exceed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

impl Latency {
    /// What `micros`, a histogram in microseconds, says; none when it is empty.
    pub(crate) fn of(micros: &Micros<u32>) -> Option<Self> {
        let at = |percent| micros.value_at_percentile(percent) as f64 / 1000.0;
        (!micros.is_empty()).then(|| Self {
            mean: micros.mean() / 1000.0,
            p50: at(50.0),
            p90: at(90.0),
            p99: at(99.0),
            p999: at(99.9),
            max: micros.max() as f64 / 1000.0,
        })
    }
}

/// The median and the 99th percentile of two arms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyRatios {
    /// Of the medians.
    pub p50: LatencyRatio,
    /// Of the 99th percentiles.
    pub p99: LatencyRatio,
}

/// A percentile of two arms, and their ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyRatio {
    /// The mean over the baseline's runs, in milliseconds.
    pub baseline_ms: f64,
    /// The mean over the candidate's runs, in milliseconds.
    pub candidate_ms: f64,
    /// Candidate ÷ baseline, a geometric mean over the blocks that have both; none when it is beyond every
    /// number.
    pub ratio: Option<f64>,
    /// Its 95 % interval by itself, uncorrected: no verdict follows from it. None with a single run.
    pub ci95: Option<[f64; 2]>,
}

/// How many operations took how long.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram {
    /// The longest time of a bucket in milliseconds, and the operations in it; four buckets for each
    /// doubling, without those that are empty.
    pub buckets: Vec<(f64, u64)>,
}

impl Histogram {
    /// The latencies of `micros`, a histogram in microseconds.
    pub(crate) fn of(micros: &Micros<u32>) -> Self {
        let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
        for value in micros.iter_recorded() {
            let place = (BUCKETS_EACH_DOUBLING * (value.value_iterated_to().max(1) as f64).log2()).ceil();
            *counts.entry(place as i32).or_default() += u64::from(value.count_at_value());
        }
        let ends_ms = |place: i32| 2_f64.powf(f64::from(place) / BUCKETS_EACH_DOUBLING) / 1000.0;
        Self { buckets: counts.into_iter().map(|(place, count)| (ends_ms(place), count)).collect() }
    }

    /// Adds up the operations of several runs.
    pub(crate) fn sum<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut buckets: Vec<(f64, u64)> = all.flat_map(|one| one.buckets.iter().copied()).collect();
        buckets.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        buckets.dedup_by(|(next_ms, more), (last_ms, count)| {
            let is_same = next_ms == last_ms;
            if is_same {
                *count = count.saturating_add(*more);
            }
            is_same
        });
        Self { buckets }
    }

    /// Whether no operation was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// All operations.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_histogram() {
        let mut micros = Micros::new(3).unwrap();
        for value in 1..=1000 {
            micros.record(value * 1000).unwrap();
        }
        let latency = Latency::of(&micros).unwrap();
        for (found, expected) in
            [(latency.p50, 500.0), (latency.p90, 900.0), (latency.p99, 990.0), (latency.max, 1000.0)]
        {
            assert!((found / expected - 1.0_f64).abs() < 0.002, "{found} instead of {expected}");
        }
        assert_eq!(Latency::of(&Micros::new(3).unwrap()), None);
    }

    #[test]
    fn buckets_have_every_operation_once_and_add_up() {
        let mut micros = Micros::new(3).unwrap();
        for value in [1, 2, 4, 1000, 1024, 1024, 3_600_000_000] {
            micros.record(value).unwrap();
        }
        let histogram = Histogram::of(&micros);
        assert_eq!(histogram.operations(), 7);
        assert_eq!(&histogram.buckets[..4], [(0.001, 1), (0.002, 1), (0.004, 1), (1.024, 3)]);
        let sum = Histogram::sum([&histogram, &histogram].into_iter());
        assert_eq!((sum.operations(), sum.buckets.len()), (14, histogram.buckets.len()));
        assert_eq!(sum.buckets[3], (1.024, 6));
        assert!(Histogram::of(&Micros::new(3).unwrap()).is_empty());
    }
}
