//! What is still open, and how many more runs will probably settle it.

use super::{decisions, paired, seen};
use crate::results::Cell;
use crate::statistics::{LogRatio, Look, Outcome, SIGNIFICANCE};

/// A comparison that is not decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Open<'a> {
    /// Its candidate.
    pub(crate) candidate: &'a Cell,
    /// Blocks of the look that will probably decide it; none where no look will, as far as the runs can tell.
    pub(crate) blocks: Option<u32>,
}

/// Every comparison that the looks made so far leave open.
pub(crate) fn open(cells: &[Cell], margin: f64) -> Vec<Open<'_>> {
    let pairs = paired(cells);
    let decisions = decisions(&pairs, margin);
    let undecided = decisions.iter().filter(|decision| decision.outcome == Outcome::Unclear).count();
    // Holm's level for the first of those that are left.
    let level = SIGNIFICANCE / undecided.max(1) as f64;
    pairs
        .iter()
        .zip(&decisions)
        .filter(|(_, decision)| decision.outcome == Outcome::Unclear)
        .map(|((baseline, candidate), _)| {
            let last = seen(baseline, candidate).last().map(|seen| seen.ratio);
            Open {
                candidate,
                blocks: last.and_then(|ratio| outlook(&ratio, &candidate.looks, level, margin)),
            }
        })
        .collect()
}

/// The first later look at which runs like these would decide: with the same mean and the same spread of the
/// blocks.
fn outlook(ratio: &LogRatio, looks: &[Look], level: f64, margin: f64) -> Option<u32> {
    let deviation = ratio.deviation()?;
    let later = looks.iter().filter(|look| look.blocks as usize > ratio.count);
    let decides = |look: &&Look| {
        let then = LogRatio {
            standard_error: Some(deviation / f64::from(look.blocks).sqrt()),
            degrees: f64::from(look.blocks) - 1.0,
            ..*ratio
        };
        let level = level * look.share;
        then.p_different() < level || then.p_same(margin) < level
    };
    later.into_iter().find(decides).map(|look| look.blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{paired_ratio, sequence};

    fn outlook_of(values: &[f64]) -> Option<u32> {
        let pairs: Vec<(f64, f64)> = values.iter().map(|value| (10.0, *value)).collect();
        outlook(&paired_ratio(&pairs).unwrap(), &sequence(), 0.05, 0.03)
    }

    #[test]
    fn more_noise_asks_for_a_later_look_and_too_much_for_none() {
        let around = |spread: f64| [11.0 - spread, 11.0 + spread, 11.0 - spread, 11.0 + spread, 11.0, 11.0];
        assert_eq!(outlook_of(&around(0.6)), Some(12));
        assert_eq!(outlook_of(&around(1.5)), Some(24));
        assert_eq!(outlook_of(&[1.0, 40.0, 2.0, 60.0, 11.0, 9.0]), None);
    }

    #[test]
    fn equal_versions_need_the_look_that_is_narrow_enough() {
        assert_eq!(outlook_of(&[9.8, 10.2, 9.9, 10.1, 10.0, 10.0]), Some(12));
        assert_eq!(outlook_of(&[9.5, 10.5, 9.5, 10.5, 10.0, 10.0]), Some(24));
    }
}
