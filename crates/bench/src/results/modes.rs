//! Runs of one setting that are of two kinds: in some the client asked far more than in others.
//!
//! A server that delegates files in some runs only, or a cache that was warm in some, makes a mean of two
//! things that do not belong together.

use super::Run;
use crate::text::per_operation;

/// Two groups of runs whose requests differ by this factor at least are two modes.
const FACTOR_MIN: f64 = 2.0;
/// Fewer requests for each operation than this differ by accident: one request of a whole run counts for
/// much.
const REQUESTS_MIN: f64 = 0.05;
/// A single run that stands apart is an accident, not a mode.
const RUNS_MIN: usize = 2;

/// Says so when the runs are of two kinds.
pub(super) fn two_modes(runs: &[Run]) -> Option<String> {
    let mut requests: Vec<f64> = runs.iter().filter_map(Run::rpcs_per_operation).collect();
    requests.sort_by(f64::total_cmp);
    let (few, many) = widest_gap(&requests)?;
    let [fewest, most] = [few, many].map(|group| group.iter().sum::<f64>() / group.len() as f64);
    (most >= REQUESTS_MIN).then(|| {
        format!(
            "The runs are of two kinds: {} of them sent {} requests for each operation, and {} sent {}. A \
             server that delegates, or a cache that is warm, in some runs only does that; the mean is of \
             neither kind.",
            few.len(),
            per_operation(fewest),
            many.len(),
            per_operation(most)
        )
    })
}

/// The sorted values on both sides of the widest gap, where it is wide enough and both sides have members
/// enough.
fn widest_gap(sorted: &[f64]) -> Option<(&[f64], &[f64])> {
    let last = sorted.len().checked_sub(RUNS_MIN)?;
    let factor = |place: &usize| sorted[*place] / sorted[place - 1].max(f64::MIN_POSITIVE);
    let place = (RUNS_MIN..=last).max_by(|one, other| factor(one).total_cmp(&factor(other)))?;
    (factor(&place) >= FACTOR_MIN).then(|| sorted.split_at(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(requests: &[u64]) -> Option<String> {
        let run = |requests: &u64| Run {
            operations: 1000,
            rpcs: [("READ".to_owned(), *requests)].into(),
            ..Run::default()
        };
        two_modes(&requests.iter().map(run).collect::<Vec<_>>())
    }

    #[test]
    fn runs_with_and_without_delegations_are_told_apart() {
        let found = modes(&[1900, 80, 2010, 84, 1950, 79]).unwrap();
        assert!(
            found.contains("3 of them sent 0.08 requests") && found.contains("and 3 sent 1.95"),
            "{found}"
        );
    }

    #[test]
    fn even_runs_single_ones_and_next_to_nothing_are_one_kind() {
        assert_eq!(modes(&[1900, 1950, 2010, 1800]), None);
        assert_eq!(modes(&[1900, 1950, 2010, 80]), None);
        assert_eq!(modes(&[1, 1, 4, 4]), None);
        assert_eq!(modes(&[0, 0, 0]), None);
        assert_eq!(modes(&[]), None);
    }
}
