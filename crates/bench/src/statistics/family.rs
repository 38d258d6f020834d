//! Many tests at once: Holm's step-down correction.

/// What Holm's correction makes of one test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corrected {
    /// The adjusted p.
    pub p: f64,
    /// The level that the p of this test alone was held against. The claim is made when, and only when, its
    /// own p is below it.
    pub level: f64,
}

/// Holm's correction of each of `p_values`, in their order: the chance of any false claim in the whole family
/// stays below `level`. A p that is not a number counts as 1.
#[must_use]
pub fn holm(p_values: &[f64], level: f64) -> Vec<Corrected> {
    let p_values: Vec<f64> =
        p_values.iter().map(|p| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }).collect();
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|left, right| p_values[*left].total_cmp(&p_values[*right]));
    let mut corrected = vec![Corrected { p: 1.0, level }; p_values.len()];
    let mut largest = 0.0_f64;
    // All that are held back are held against the level at which the first of them was.
    let mut stopped_at = None;
    for (rank, index) in order.into_iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        largest = largest.max((p_values[index] * remaining).min(1.0));
        let own = stopped_at.unwrap_or(level / remaining);
        if largest >= level {
            stopped_at = Some(own);
        }
        corrected[index] = Corrected { p: largest, level: own };
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adjusted(p_values: &[f64]) -> Vec<f64> {
        holm(p_values, 0.05).iter().map(|one| one.p).collect()
    }

    #[test]
    fn holm_agrees_with_a_worked_example() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") of R gives 0.03 0.06 0.06 0.02.
        let adjusted = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        for (left, right) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((left - right).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn an_adjusted_p_never_exceeds_one_and_keeps_the_order() {
        assert_eq!(adjusted(&[0.9, 0.8, f64::NAN]), vec![1.0, 1.0, 1.0]);
        assert_eq!(adjusted(&[0.02]), vec![0.02]);
        assert!(adjusted(&[]).is_empty());
    }

    #[test]
    fn a_claim_is_made_where_the_own_p_is_below_its_level() {
        let p_values = [0.01, 0.04, 0.03, 0.005, 0.9, 0.0125];
        for (p, corrected) in p_values.iter().zip(holm(&p_values, 0.05)) {
            assert_eq!(*p < corrected.level, corrected.p < 0.05, "{p}: {corrected:?}");
        }
        let levels: Vec<f64> = holm(&[0.001, 0.002, 0.5, 0.6], 0.06).iter().map(|one| one.level).collect();
        let expected = [0.015, 0.02, 0.03, 0.03];
        assert!(levels.iter().zip(expected).all(|(left, right)| (left - right).abs() < 1e-12), "{levels:?}");
    }
}
