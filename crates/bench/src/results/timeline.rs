//! Rates over the time of one run.

use serde::{Deserialize, Serialize};

/// How much was done in each slice of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Length of each slice, in seconds.
    pub slice_seconds: f64,
    /// The rate of all clients together in each slice, in the unit of the metric.
    pub values: Vec<f64>,
    /// The same for each client.
    pub clients: Vec<Vec<f64>>,
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
}
