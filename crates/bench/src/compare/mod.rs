//! From cells to comparisons: which cells belong together, how they differ, and why.
//!
//! The only place that brings results, statistics and explanation together. It knows nothing of how a result
//! is shown.

use std::collections::BTreeMap;

use crate::explain::{self, Profile};
use crate::results::{Asked, Cell, Comparison, Environment, Results, Run, SCHEMA};
use crate::statistics::{
    Decision, Interval, LogRatio, LookResult, Member, Outcome, PLANNED_DIFFERENCE, PLANNED_POWER,
    SIGNIFICANCE, decide, paired_ratio, pairs_needed, welch_ratio,
};

mod by_requests;
pub(crate) mod forecast;
mod latency;
pub(crate) mod matching;
mod merge;
pub(crate) mod outlook;
mod pairing;
mod second_opinion;
#[cfg(test)]
mod simulation;

pub use merge::{MergeError, merge};
pub(crate) use pairing::paired;

/// The whole result document of these cells.
#[must_use]
pub fn results(
    environment: Environment,
    experiments: Vec<Asked>,
    cells: Vec<Cell>,
    profile: &Profile,
) -> Results {
    let comparisons = comparisons(&cells, environment.same_within);
    let verdict = explain::recommend(&comparisons, &cells, profile, environment.same_within);
    Results { schema: SCHEMA, environment, experiments, cells, comparisons, verdict, partial: false }
}

/// Compares every cell with the cells of other arms that it belongs with. All comparisons are one family.
/// Ratios within `margin` of 1 count as the same.
#[must_use]
pub fn comparisons(cells: &[Cell], margin: f64) -> Vec<Comparison> {
    let pairs = paired(cells);
    let decisions = decisions(&pairs, margin);
    pairs
        .iter()
        .zip(&decisions)
        .map(|((baseline, candidate), decision)| {
            let ratio = log_ratio(baseline, candidate);
            let by_requests = (decision.outcome == Outcome::Unclear)
                .then(|| by_requests::outcome(baseline, candidate, margin))
                .flatten();
            let decision = &Decision { outcome: by_requests.unwrap_or(decision.outcome), ..*decision };
            Comparison {
                by_requests: by_requests.is_some(),
                runs_to_detect: ratio.and_then(|ratio| runs_to_detect(&ratio, pairs.len())),
                ..comparison(baseline, candidate, ratio, decision)
            }
        })
        .collect()
}

/// What the looks that were made say of all `pairs` of a baseline and a candidate.
pub(crate) fn decisions(pairs: &[(&Cell, &Cell)], margin: f64) -> Vec<Decision> {
    let family: Vec<Member> = pairs
        .iter()
        .map(|(baseline, candidate)| Member {
            seen: seen(baseline, candidate),
            better: candidate.setting.metric.better,
        })
        .collect();
    decide(&family, margin)
}

/// Returns baseline and candidate of each block that has both, with the block's number.
fn numbered_pairs(baseline: &Cell, candidate: &Cell) -> Vec<(u32, (f64, f64))> {
    let partners: BTreeMap<u32, f64> =
        baseline.run_details.iter().map(|run| (run.block, run.value)).collect();
    let of_run = |run: &Run| Some((run.block, (*partners.get(&run.block)?, run.value)));
    candidate.run_details.iter().filter_map(of_run).collect()
}

/// Returns baseline and candidate of each block that has both.
fn pairs(baseline: &Cell, candidate: &Cell) -> Vec<(f64, f64)> {
    numbered_pairs(baseline, candidate).into_iter().map(|(_, pair)| pair).collect()
}

/// What each look saw that was made: with all of its blocks. Cells without planned looks had one, at their
/// end.
fn seen(baseline: &Cell, candidate: &Cell) -> Vec<LookResult> {
    let looks = &candidate.looks;
    let pairs = numbered_pairs(baseline, candidate);
    if looks.is_empty() || pairs.is_empty() {
        return log_ratio(baseline, candidate).map(LookResult::once).into_iter().collect();
    }
    let complete = baseline.blocks().min(candidate.blocks());
    looks
        .iter()
        .filter(|look| look.blocks <= complete)
        .filter_map(|look| {
            let first = pairs.iter().filter(|(block, _)| *block < look.blocks);
            let ratio = paired_ratio(&first.map(|(_, pair)| *pair).collect::<Vec<_>>())?;
            Some(LookResult { ratio, share: look.share })
        })
        .collect()
}

/// Of all runs: paired where the cells have blocks in common, by Welch where they were not measured together.
fn log_ratio(baseline: &Cell, candidate: &Cell) -> Option<LogRatio> {
    let pairs = pairs(baseline, candidate);
    if pairs.is_empty() { welch_ratio(&baseline.runs, &candidate.runs) } else { paired_ratio(&pairs) }
}

/// Blocks that find a difference of 5 % with the spread that was seen, where a family of `members` is
/// corrected for. None where the spread is not known, or where more would be needed than anybody makes.
///
/// The correction is that of the least favourable place in Holm's order, so the plan errs on the side of more
/// runs.
fn runs_to_detect(ratio: &LogRatio, members: usize) -> Option<u32> {
    let deviation = ratio.deviation()?;
    let significance = SIGNIFICANCE / members.max(1) as f64;
    pairs_needed(PLANNED_DIFFERENCE.ln_1p(), deviation, significance, PLANNED_POWER)
}

fn comparison(
    baseline: &Cell,
    candidate: &Cell,
    log_ratio: Option<LogRatio>,
    decision: &Decision,
) -> Comparison {
    Comparison {
        experiment: candidate.setting.experiment.clone(),
        levels: candidate.setting.levels.clone(),
        rtt_ms: candidate.setting.rtt_ms,
        baseline_arm: baseline.setting.arm.clone(),
        candidate_arm: candidate.setting.arm.clone(),
        baseline: baseline.setting.version.clone(),
        baseline_delegations: baseline.setting.delegations,
        candidate: candidate.setting.version.clone(),
        delegations: candidate.setting.delegations,
        label: candidate.setting.label.clone(),
        ratio: log_ratio.and_then(|ratio| ratio.finite_ratio()),
        ci95: log_ratio.and_then(|ratio| ratio.finite_interval()),
        interval: decision.interval.and_then(Interval::finite_ends),
        latency: latency::ratios(baseline, candidate),
        verdict: decision.outcome,
        by_requests: false,
        p_different: decision.p_different,
        p_same: decision.p_same,
        runs_to_detect: None,
        reason: explain::reason(baseline, candidate, decision.outcome),
        doubts: log_ratio
            .and_then(|ratio| second_opinion::doubt(&pairs(baseline, candidate), &ratio))
            .into_iter()
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::statistics::{Look, Outcome, SAME_MARGIN};

    fn cell(version: &str, rtt_ms: f64, values: &[f64]) -> Cell {
        let runs = values
            .iter()
            .zip(0..)
            .map(|(value, block)| Run { block, value: *value, ..Run::default() })
            .collect();
        Cell::from_runs(samples::setting(version, rtt_ms), runs).unwrap()
    }

    #[test]
    fn cells_are_compared_within_their_setting() {
        let cells = [
            cell("3", 0.0, &[10.0, 20.0, 40.0]),
            cell("4.1", 10.0, &[5.0, 5.0, 5.0]),
            cell("4.1", 0.0, &[20.0, 40.5, 79.0]),
            cell("3", 10.0, &[5.0, 5.0, 5.0]),
            cell("4.2", 1.0, &[1.0]),
        ];
        let found = comparisons(&cells, SAME_MARGIN);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].rtt_ms, found[0].verdict), (10.0, Outcome::Same));
        assert_eq!((found[1].rtt_ms, found[1].verdict), (0.0, Outcome::Faster));
        let [low, high] = found[1].ci95.unwrap();
        assert!(low > 1.9 && high < 2.1, "pairs cancel what the blocks have in common: {low} {high}");
    }

    #[test]
    fn version_is_compared_with_itself_without_delegations() {
        let with = |delegations: bool, values: &[f64]| {
            let mut cell = cell("4.1", 0.0, values);
            cell.setting.delegations = delegations;
            cell
        };
        let found =
            comparisons(&[with(true, &[20.0, 20.5, 19.5]), with(false, &[10.0, 10.1, 9.9])], SAME_MARGIN);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].verdict, found[0].delegations), (Outcome::Faster, true));
        assert_eq!(found[0].baseline_name(), "v4.1 without delegations");
    }

    #[test]
    fn cells_without_common_blocks_are_compared_unpaired() {
        let baseline = cell("3", 0.0, &[10.0, 11.0, 10.5]);
        let mut candidate = cell("4.1", 0.0, &[20.0, 21.0, 20.5]);
        for run in &mut candidate.run_details {
            run.block += 100;
        }
        assert_eq!(comparisons(&[baseline, candidate], SAME_MARGIN)[0].verdict, Outcome::Faster);
    }

    #[test]
    fn an_arm_of_zeros_has_no_ratio_and_no_verdict() {
        let found = comparisons(&[cell("3", 0.0, &[0.0; 3]), cell("4.1", 0.0, &[1.0; 3])], SAME_MARGIN);
        assert_eq!((found[0].ratio, found[0].ci95, found[0].verdict), (None, None, Outcome::Unclear));
    }

    #[test]
    fn an_interval_without_end_is_left_out() {
        let found =
            comparisons(&[cell("3", 0.0, &[1e-300, 1e300]), cell("4.1", 0.0, &[1e300, 1e-3])], SAME_MARGIN);
        assert_eq!(found[0].ci95, None);
    }

    #[test]
    fn runs_after_the_last_complete_look_do_not_decide() {
        let looks = vec![Look { blocks: 3, share: 0.5 }, Look { blocks: 6, share: 0.5 }];
        let sequence = |version, values: &[f64]| Cell { looks: looks.clone(), ..cell(version, 0.0, values) };
        let double = [20.0, 40.5, 79.0, 20.1, 40.2];
        let both = |candidate: &[f64]| {
            let cells = [sequence("3", &[10.0, 20.0, 40.0, 10.0, 20.0, 10.0]), sequence("4.1", candidate)];
            comparisons(&cells, SAME_MARGIN).remove(0)
        };
        assert_eq!(both(&double).verdict, Outcome::Faster);
        let late = both(&[9.0, 25.0, 44.0, 90.0, 91.0]);
        assert_eq!(late.verdict, Outcome::Unclear, "two blocks more are no look");
        let [low, high] = late.interval.unwrap();
        assert!(low < 1.0 && high > 1.0 && late.ratio.unwrap() > 1.5, "{late:?}");
        assert_eq!(both(&double[..2]).interval, None, "no look was made");
    }
}
