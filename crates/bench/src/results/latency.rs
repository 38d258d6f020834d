//! How long the operations of the application took.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Times of single operations in milliseconds; a percentile is the time that this share of them did not exceed.
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
    pub(crate) fn of(micros: &Histogram<u32>) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_histogram() {
        let mut micros = Histogram::new(3).unwrap();
        for value in 1..=1000 {
            micros.record(value * 1000).unwrap();
        }
        let latency = Latency::of(&micros).unwrap();
        for (found, expected) in
            [(latency.p50, 500.0), (latency.p90, 900.0), (latency.p99, 990.0), (latency.max, 1000.0)]
        {
            assert!((found / expected - 1.0_f64).abs() < 0.002, "{found} instead of {expected}");
        }
        assert_eq!(Latency::of(&Histogram::new(3).unwrap()), None);
    }
}
