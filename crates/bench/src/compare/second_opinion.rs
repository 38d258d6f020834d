//! Whether ranks see what the means see: a t test believes one wild run, ranks do not.

use crate::statistics::{LogRatio, SIGNIFICANCE, signed_rank};

/// With fewer pairs no choice of signs is rare enough to say anything.
const PAIRS_MIN: usize = 6;
/// The tests disagree when one is below the level and the other above this. Between the two lies what chance
/// alone does.
const DOUBTFUL: f64 = 0.10;

/// Why the t test's word on these pairs deserves less trust; none when Wilcoxon's signed ranks say the same,
/// or when there are too few pairs to ask them. Both tests are taken without the correction for the family.
pub(super) fn doubt(pairs: &[(f64, f64)], by_means: &LogRatio) -> Option<String> {
    let differences: Vec<f64> = pairs
        .iter()
        .map(|(baseline, candidate)| candidate.ln() - baseline.ln())
        .filter(|difference| difference.is_finite())
        .collect();
    if differences.len() < PAIRS_MIN {
        return None;
    }
    let by_ranks = signed_rank(&differences)?;
    let p = by_means.p_different();
    let times = crate::text::times(by_ranks.location.exp());
    if p < SIGNIFICANCE && (by_ranks.p > DOUBTFUL || by_ranks.location * by_means.mean_log < 0.0) {
        Some(format!(
            "The mean sees a difference that the ranks of the runs do not (Wilcoxon p = {:.2}, median ratio \
             {times}): single runs decide it.",
            by_ranks.p
        ))
    } else if p > DOUBTFUL && by_ranks.p < SIGNIFICANCE {
        Some(format!(
            "The ranks of the runs see a difference (Wilcoxon p = {:.3}, median ratio {times}) that single \
             wild runs hide from the mean.",
            by_ranks.p
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::paired_ratio;

    fn doubt_of(ratios: &[f64]) -> Option<String> {
        let pairs: Vec<(f64, f64)> = ratios.iter().map(|ratio| (10.0, 10.0 * ratio)).collect();
        doubt(&pairs, &paired_ratio(&pairs).unwrap())
    }

    #[test]
    fn one_wild_run_that_hides_a_difference_is_told() {
        let found =
            doubt_of(&[1.10, 1.11, 1.09, 1.12, 1.105, 1.08, 0.2, 1.13, 1.07, 1.115, 1.085, 1.095]).unwrap();
        assert!(found.contains("hide from the mean") && found.contains("1.09"), "{found}");
    }

    #[test]
    fn a_difference_that_few_runs_make_is_told() {
        let means_only = doubt_of(&[0.99, 0.98, 1.65, 1.65, 1.66, 1.64]).unwrap();
        assert!(means_only.contains("the ranks of the runs do not"), "{means_only}");
    }

    #[test]
    fn agreement_and_few_pairs_raise_no_doubt() {
        assert_eq!(doubt_of(&[1.10, 1.11, 1.09, 1.12, 1.10, 1.08]), None);
        assert_eq!(doubt_of(&[1.01, 0.99, 1.02, 0.98, 1.01, 0.985]), None);
        assert_eq!(doubt_of(&[1.10, 1.11, 1.09, 1.12, 0.2]), None);
    }
}
