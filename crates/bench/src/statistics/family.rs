//! Many tests at once: Holm's step-down correction.

/// Holm's adjusted p for each of `p_values`, in their order: the chance of any false claim in the whole
/// family stays below the level that an adjusted p is held against. A p that is not a number counts as 1.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let p_values: Vec<f64> =
        p_values.iter().map(|p| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }).collect();
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|left, right| p_values[*left].total_cmp(&p_values[*right]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        largest = largest.max((p_values[index] * remaining).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_agrees_with_a_worked_example() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") of R gives 0.03 0.06 0.06 0.02.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (left, right) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((left - right).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn an_adjusted_p_never_exceeds_one_and_keeps_the_order() {
        assert_eq!(holm(&[0.9, 0.8, f64::NAN]), vec![1.0, 1.0, 1.0]);
        assert_eq!(holm(&[0.02]), vec![0.02]);
        assert!(holm(&[]).is_empty());
    }
}
