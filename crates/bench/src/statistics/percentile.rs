//! Percentiles of a sample.

/// The `percent`-th percentile (0 to 100, others are clamped) by linear interpolation between closest ranks.
///
/// Values that are not finite are left out; none when nothing is left or `percent` is not a number.
#[must_use]
pub fn percentile(samples: &[f64], percent: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    if sorted.is_empty() || percent.is_nan() {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    let position = percent.clamp(0.0, 100.0) / 100.0 * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = position.ceil() as usize;
    Some(sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_interpolate_between_closest_ranks() {
        let samples = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(percentile(&samples, 0.0), Some(1.0));
        assert_eq!(percentile(&samples, 50.0), Some(2.5));
        assert_eq!(percentile(&samples, 75.0), Some(3.25));
        assert_eq!(percentile(&samples, 100.0), Some(4.0));
    }

    #[test]
    fn an_empty_sample_has_no_percentile() {
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(percentile(&[f64::NAN], 50.0), None);
        assert_eq!(percentile(&[8.0], f64::NAN), None);
        assert_eq!(percentile(&[8.0], 250.0), Some(8.0));
    }
}
