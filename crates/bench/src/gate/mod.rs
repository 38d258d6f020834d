//! Gates for continuous integration: what must not have become worse.
//!
//! Owns the rules. A speed fails only when it lies beyond what is allowed and beyond what repeats of the
//! baseline show, because a gate that fails by chance is soon switched off; a count that never varies is held
//! exactly. It knows nothing of exit codes.

mod counts;
mod requests;
mod times;

pub use requests::RequestLimit;
pub use times::REPEATS_MIN;

use crate::compare::matching::{matched, partner};
use crate::diff::{other_delay, place};
use crate::results::{Cell, Results};
use times::Judged;

/// What is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The share of its speed that a setting may lose: 0.05 for 5 %.
    pub max_slowdown: f64,
    /// How many more requests of one kind are allowed, as a share of all requests of the baseline: 0 for
    /// none.
    pub count_tolerance: f64,
    /// Whether only counts are judged, as on a machine that is not the baseline's.
    pub counts_only: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_slowdown: 0.05, count_tolerance: 0.0, counts_only: false }
    }
}

/// What the gates found, one sentence each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How many held.
    pub passed: usize,
    /// Those that did not.
    pub failed: Vec<String>,
    /// What is better than the baseline.
    pub improved: Vec<String>,
    /// What could not be judged, and why.
    pub not_judged: Vec<String>,
}

impl Report {
    /// Both reports as one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.improved.extend(other.improved);
        self.not_judged.extend(other.not_judged);
        self
    }

    fn add(&mut self, finding: Finding) {
        match finding {
            Finding::Passed => self.passed += 1,
            Finding::Improved(text) => {
                self.passed += 1;
                self.improved.push(text);
            }
            Finding::Failed(text) => self.failed.push(text),
            Finding::NotJudged(text) => self.not_judged.push(text),
        }
    }
}

/// What one gate found.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Finding {
    Passed,
    Improved(String),
    Failed(String),
    NotJudged(String),
}

/// Holds every setting of the first of `baselines` against the same one of `results`; the others are its
/// repeats, and tell how far the speed moves by chance. A setting that is missing has failed; one that the
/// baseline lacks is nothing to hold.
#[must_use]
pub fn against_baseline(baselines: &[Results], results: &Results, limits: &Limits) -> Report {
    let mut report = Report::default();
    let Some((baseline, repeats)) = baselines.split_first() else { return report };
    let sides = matched(&baseline.cells, &results.cells);
    for cell in sides.only_first {
        report.add(Finding::Failed(format!("{} is in the baseline and was not measured.", place(cell))));
    }
    if !limits.counts_only {
        let mut judged = Vec::new();
        for (baseline, cell) in &sides.both {
            match other_delay(baseline, cell) {
                Some(delays) => report.add(Finding::NotJudged(format!(
                    "The speed of {} was measured at different delays, {delays}; only its counts are held.",
                    place(baseline)
                ))),
                None => judged.push(Judged { baselines: with_repeats(baseline, repeats), cell }),
            }
        }
        times::judge(&judged, limits).into_iter().for_each(|finding| report.add(finding));
    }
    for (baseline, cell) in sides.both {
        for finding in counts::judge(baseline, cell, limits) {
            report.add(finding);
        }
    }
    report
}

/// The cell of the same setting in the baseline and in each of its repeats that has it.
fn with_repeats<'a>(cell: &'a Cell, repeats: &'a [Results]) -> Vec<&'a Cell> {
    std::iter::once(cell).chain(repeats.iter().filter_map(|results| partner(cell, &results.cells))).collect()
}

/// Holds the results against numbers of requests that were named.
#[must_use]
pub fn request_limits(results: &Results, limits: &[RequestLimit]) -> Report {
    let mut report = Report::default();
    for finding in limits.iter().flat_map(|limit| limit.judge(&results.cells)) {
        report.add(finding);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn speed_at_another_delay_is_not_judged_and_counts_are() {
        let baseline = samples::results();
        let mut results = baseline.clone();
        results.cells.iter_mut().for_each(|cell| {
            cell.setting.rtt_ms *= 1.04;
            cell.runs.iter_mut().for_each(|value| *value /= 3.0);
        });
        let report = against_baseline(&vec![baseline; 6], &results, &Limits::default());
        let moved = results.cells.iter().filter(|cell| cell.setting.rtt_ms > 0.0).count();
        let not_judged = |text: &&String| text.contains("was measured at different delays,");
        assert_eq!(report.not_judged.iter().filter(not_judged).count(), moved);
        assert!(report.failed.iter().all(|text| text.contains(" at 0 ms")), "{:?}", report.failed);
        assert!(report.passed >= moved, "counts: {report:?}");
    }

    #[test]
    fn a_result_passes_against_itself() {
        let results = samples::results();
        let report = against_baseline(std::slice::from_ref(&results), &results, &Limits::default());
        assert_eq!((report.failed, report.improved), (vec![], vec![]));
        assert!(report.passed >= results.cells.len(), "{}", report.passed);
    }

    #[test]
    fn a_setting_that_is_missing_fails_and_one_that_is_new_does_not() {
        let all = samples::results();
        let mut fewer = samples::results();
        let gone = fewer.cells.remove(0);
        let report = against_baseline(std::slice::from_ref(&all), &fewer, &Limits::default());
        assert_eq!(report.failed, [format!("{} is in the baseline and was not measured.", place(&gone))]);
        assert_eq!(against_baseline(&[fewer], &all, &Limits::default()).failed, Vec::<String>::new());
    }
}
