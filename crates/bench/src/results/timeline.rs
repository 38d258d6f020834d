//! Rates over the time of one run.

use serde::{Deserialize, Serialize};

/// How much was done in each slice of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Length of each slice, in seconds.
    pub slice_seconds: f64,
    /// The rate of all clients together in each slice, in the unit of the metric.
    pub values: Vec<f64>,
    /// The same for each client; empty where the experiment's figure is no timeline.
    pub clients: Vec<Vec<f64>>,
    /// The reads of all clients from the server in each slice, in the same unit; empty where that is not
    /// known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_reads: Vec<f64>,
}

impl Timeline {
    /// The share of the slices in which less than half of the mean was done; none without slices.
    #[must_use]
    pub fn slow_share(&self) -> Option<f64> {
        if self.values.is_empty() {
            return None;
        }
        let slices = self.values.len() as f64;
        let mean = self.values.iter().sum::<f64>() / slices;
        Some(self.values.iter().filter(|value| **value < mean / 2.0).count() as f64 / slices)
    }

    /// The mean rate of all clients in the first fifth of the time and in the last one; none without slices.
    #[must_use]
    pub fn ends(&self) -> Option<[f64; 2]> {
        ends(&self.values)
    }

    /// The same of the clients' reads from the server.
    #[must_use]
    pub fn client_read_ends(&self) -> Option<[f64; 2]> {
        ends(&self.client_reads)
    }
}

fn ends(values: &[f64]) -> Option<[f64; 2]> {
    let fifth = values.len().div_ceil(5);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (fifth > 0).then(|| [mean(&values[..fifth]), mean(&values[values.len() - fifth..])])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_below_half_of_the_mean_are_slow() {
        let timeline = |values: &[f64]| Timeline { values: values.to_vec(), ..Timeline::default() };
        assert_eq!(timeline(&[10.0, 10.0, 10.0, 0.0]).slow_share(), Some(0.25));
        assert_eq!(timeline(&[10.0, 9.0, 11.0, 8.0]).slow_share(), Some(0.0));
        assert_eq!(timeline(&[]).slow_share(), None);
    }

    #[test]
    fn ends_are_the_means_of_the_first_and_the_last_fifth() {
        let timeline = |values: &[f64]| Timeline {
            values: values.to_vec(),
            client_reads: values.iter().rev().copied().collect(),
            ..Timeline::default()
        };
        let rising = timeline(&[1.0, 3.0, 5.0, 5.0, 5.0, 7.0, 9.0, 9.0, 9.0, 11.0]);
        assert_eq!((rising.ends(), rising.client_read_ends()), (Some([2.0, 10.0]), Some([10.0, 2.0])));
        assert_eq!((timeline(&[4.0]).ends(), timeline(&[]).ends()), (Some([4.0, 4.0]), None));
    }
}
