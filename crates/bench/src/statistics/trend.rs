//! Whether the runs of an arm drift: the straight line through their logarithms.

use super::sample::t_above;

/// Fewer runs than this lie on too many lines.
pub const TREND_RUNS_MIN: usize = 4;

/// A straight line through the logarithms of the runs in the order in which they were made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Last ÷ first value on the line.
    pub change: f64,
    /// Two-sided p of "there is no slope".
    pub p: f64,
}

/// The trend of `values`; none with fewer than [`TREND_RUNS_MIN`] of them, or with one that is not positive
/// and finite.
#[must_use]
pub fn trend(values: &[f64]) -> Option<Trend> {
    let sound = values.iter().all(|value| value.is_finite() && *value > 0.0);
    if values.len() < TREND_RUNS_MIN || !sound {
        return None;
    }
    let count = values.len() as f64;
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mean = logs.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let points = || logs.iter().enumerate().map(|(index, log)| (index as f64 - middle, log - mean));
    let spread: f64 = points().map(|(x, _)| x * x).sum();
    let slope = points().map(|(x, y)| x * y).sum::<f64>() / spread;
    let residual: f64 = points().map(|(x, y)| (y - slope * x).powi(2)).sum();
    let error = (residual / (count - 2.0) / spread).sqrt();
    let p = if error > 0.0 {
        (2.0 * t_above((slope / error).abs(), count - 2.0)).min(1.0)
    } else {
        f64::from(slope == 0.0)
    };
    Some(Trend { change: (slope * (count - 1.0)).exp(), p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_agrees_with_a_worked_example() {
        // y = 2, 3, 5, 4, 6 over x = 0 … 4: slope 0.9, residual 1.9, standard error √(1.9 / 3 / 10) =
        // 0.251661, t = 3.576237 with 3 degrees; its p is between 0.05 (3.182) and 0.02 (4.541).
        let found = trend(&[2.0, 3.0, 5.0, 4.0, 6.0].map(f64::exp)).unwrap();
        assert!((found.change.ln() - 3.6).abs() < 1e-9, "{found:?}");
        assert!((found.p - 0.0374).abs() < 0.0001, "{found:?}");
    }

    #[test]
    fn level_runs_have_no_trend_and_few_or_unsound_ones_none_at_all() {
        assert_eq!(trend(&[3.0; 6]), Some(Trend { change: 1.0, p: 1.0 }));
        assert_eq!(trend(&[1.0, 2.0, 3.0]), None);
        assert_eq!(trend(&[1.0, 0.0, 3.0, 4.0]), None);
    }
}
