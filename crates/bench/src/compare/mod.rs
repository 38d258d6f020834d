//! From cells to comparisons: which cells belong together, how they differ, and why.
//!
//! The only place that brings results, statistics and explanation together. It knows nothing of how a result is shown.

use crate::explain::{self, Profile};
use crate::results::{Asked, Cell, Comparison, Environment, Results, SCHEMA};
use crate::statistics::{
    Decision, Design, LogRatio, PLANNED_DIFFERENCE, PLANNED_POWER, SIGNIFICANCE, decide, paired_ratio,
    runs_needed, welch_ratio,
};

pub(crate) mod matching;
mod second_opinion;
#[cfg(test)]
mod simulation;

/// The version that the others are compared with.
pub const BASELINE: &str = "3";

/// The whole result document of these cells.
#[must_use]
pub fn results(
    environment: Environment,
    experiments: Vec<Asked>,
    cells: Vec<Cell>,
    profile: &Profile,
) -> Results {
    let comparisons = comparisons(&cells, BASELINE);
    let verdict = explain::recommend(&comparisons, &cells, profile);
    Results { schema: SCHEMA, environment, experiments, cells, comparisons, verdict, partial: false }
}

/// Compares every cell of another version with the cell of `baseline` that has the same setting otherwise. All
/// comparisons are one family.
#[must_use]
pub fn comparisons(cells: &[Cell], baseline: &str) -> Vec<Comparison> {
    let pairs: Vec<(&Cell, &Cell)> = cells
        .iter()
        .filter(|cell| cell.setting.version != baseline)
        .filter_map(|candidate| Some((baseline_of(candidate, cells, baseline)?, candidate)))
        .collect();
    let ratios: Vec<Option<LogRatio>> =
        pairs.iter().map(|(baseline, candidate)| log_ratio(baseline, candidate)).collect();
    let family: Vec<_> = pairs
        .iter()
        .zip(&ratios)
        .map(|((_, candidate), ratio)| (*ratio, candidate.setting.metric.better))
        .collect();
    let decisions = decide(&family);
    pairs
        .iter()
        .zip(&ratios)
        .zip(&decisions)
        .map(|(((baseline, candidate), ratio), decision)| Comparison {
            runs_to_detect: ratio.and_then(|ratio| runs_to_detect(&ratio, family.len())),
            ..comparison(baseline, candidate, *ratio, decision)
        })
        .collect()
}

fn baseline_of<'a>(candidate: &Cell, cells: &'a [Cell], baseline: &str) -> Option<&'a Cell> {
    cells.iter().find(|cell| {
        cell.setting.version == baseline && cell.setting.differs_only_in_version(&candidate.setting)
    })
}

/// Baseline and candidate of each block that has both.
fn pairs(baseline: &Cell, candidate: &Cell) -> Vec<(f64, f64)> {
    candidate
        .run_details
        .iter()
        .filter_map(|run| {
            let partner = baseline.run_details.iter().find(|other| other.block == run.block)?;
            Some((partner.value, run.value))
        })
        .collect()
}

/// Paired where the cells have blocks in common, by Welch where they were not measured together.
fn log_ratio(baseline: &Cell, candidate: &Cell) -> Option<LogRatio> {
    let pairs = pairs(baseline, candidate);
    if pairs.is_empty() { welch_ratio(&baseline.runs, &candidate.runs) } else { paired_ratio(&pairs) }
}

/// Blocks that find a difference of 5 % with the spread that was seen, where a family of `members` is corrected for. None
/// where the spread is not known, or where more would be needed than anybody makes.
///
/// The correction is that of the least favourable place in Holm's order, so the plan errs on the side of more runs.
fn runs_to_detect(ratio: &LogRatio, members: usize) -> Option<u32> {
    // The deviation of one pair's difference; arms measured apart (Welch) come near enough.
    let deviation = ratio.standard_error? * (ratio.count as f64).sqrt();
    let significance = SIGNIFICANCE / members.max(1) as f64;
    runs_needed(Design::Paired, PLANNED_DIFFERENCE.ln_1p(), deviation, significance, PLANNED_POWER)
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
        baseline: baseline.setting.version.clone(),
        candidate: candidate.setting.version.clone(),
        delegations: candidate.setting.delegations,
        label: candidate.setting.label.clone(),
        ratio: log_ratio.and_then(|ratio| ratio.finite_ratio()),
        ci95: log_ratio.and_then(|ratio| ratio.finite_interval()),
        verdict: decision.outcome,
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
    use crate::results::Run;
    use crate::samples;
    use crate::statistics::Outcome;

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
        let found = comparisons(&cells, "3");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].rtt_ms, found[0].verdict), (10.0, Outcome::Same));
        assert_eq!((found[1].rtt_ms, found[1].verdict), (0.0, Outcome::Faster));
        let [low, high] = found[1].ci95.unwrap();
        assert!(low > 1.9 && high < 2.1, "pairs cancel what the blocks have in common: {low} {high}");
    }

    #[test]
    fn cells_without_common_blocks_are_compared_unpaired() {
        let baseline = cell("3", 0.0, &[10.0, 11.0, 10.5]);
        let mut candidate = cell("4.1", 0.0, &[20.0, 21.0, 20.5]);
        for run in &mut candidate.run_details {
            run.block += 100;
        }
        assert_eq!(comparisons(&[baseline, candidate], "3")[0].verdict, Outcome::Faster);
    }

    #[test]
    fn an_arm_of_zeros_has_no_ratio_and_no_verdict() {
        let found = comparisons(&[cell("3", 0.0, &[0.0; 3]), cell("4.1", 0.0, &[1.0; 3])], "3");
        assert_eq!((found[0].ratio, found[0].ci95, found[0].verdict), (None, None, Outcome::Unclear));
    }

    #[test]
    fn an_interval_without_end_is_left_out() {
        let found = comparisons(&[cell("3", 0.0, &[1e-300, 1e300]), cell("4.1", 0.0, &[1e300, 1e-3])], "3");
        assert_eq!(found[0].ci95, None);
    }
}
