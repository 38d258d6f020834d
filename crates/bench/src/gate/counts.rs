//! Gates on requests for each operation of the application.
//!
//! A count that is the same in every run of the baseline follows from the work alone and is held exactly.
//! Where counts vary with time (caches that expire, files that were finished or not), only their sum is held,
//! as a time is.

use std::collections::BTreeSet;

use super::{Finding, Limits};
use crate::diff::place;
use crate::results::{Cell, Run};
use crate::statistics::welch_ratio;
use crate::text::{per_operation, percent};

/// Judges the counts of one setting.
pub(super) fn judge(baseline: &Cell, cell: &Cell, limits: &Limits) -> Vec<Finding> {
    let (before, after) = (working(baseline), working(cell));
    if before.is_empty() || after.is_empty() {
        return vec![Finding::NotJudged(format!("The requests of {} are not known.", place(cell)))];
    }
    if before.len() < 2 {
        let text = format!(
            "The requests of {} have a baseline of one run, which does not tell what varies.",
            place(cell)
        );
        return vec![Finding::NotJudged(text)];
    }
    let names: BTreeSet<&String> = before.iter().chain(&after).flat_map(|run| run.rpcs.keys()).collect();
    let (exact, varying): (Vec<&String>, Vec<&String>) =
        names.into_iter().partition(|name| before.iter().all(|run| same(run, before[0], name)));
    let all = per(before[0].rpcs.values().sum(), before[0].operations);
    let mut findings: Vec<Finding> = exact
        .into_iter()
        .map(|name| exactly(before[0], &after, name, limits.count_tolerance * all, &place(cell)))
        .collect();
    if !varying.is_empty() && !limits.counts_only {
        findings.push(sum(&before, &after, limits, &place(cell)));
    }
    findings
}

/// Runs in which something was done.
fn working(cell: &Cell) -> Vec<&Run> {
    cell.run_details.iter().filter(|run| run.operations > 0).collect()
}

fn count(run: &Run, name: &str) -> u64 {
    run.rpcs.get(name).copied().unwrap_or_default()
}

fn per(count: u64, operations: u64) -> f64 {
    count as f64 / operations as f64
}

/// Whether two runs send as many for each operation, compared in whole numbers.
fn same(left: &Run, right: &Run, name: &str) -> bool {
    u128::from(count(left, name)) * u128::from(right.operations)
        == u128::from(count(right, name)) * u128::from(left.operations)
}

/// Holds every run to the count of the baseline, give or take `allowed` for each operation.
fn exactly(before: &Run, after: &[&Run], name: &str, allowed: f64, place: &str) -> Finding {
    let expected = per(count(before, name), before.operations);
    let worst = after.iter().map(|run| per(count(run, name), run.operations)).fold(0.0, f64::max);
    let more = after.iter().any(|run| {
        let found = per(count(run, name), run.operations);
        found > expected && !same(run, before, name) && found - expected > allowed
    });
    let [worst_words, expected_words] = [worst, expected].map(per_operation);
    if more {
        return Finding::Failed(format!(
            "{place} sends {worst_words} {name} for each operation, and the baseline {expected_words}."
        ));
    }
    let fewer = after.iter().all(|run| {
        let found = per(count(run, name), run.operations);
        found < expected && !same(run, before, name) && expected - found > allowed
    });
    if fewer {
        return Finding::Improved(format!(
            "{place} sends {worst_words} {name} for each operation instead of {expected_words}."
        ));
    }
    Finding::Passed
}

/// Holds the sum of all requests for each operation to the interval of the baseline's.
fn sum(before: &[&Run], after: &[&Run], limits: &Limits, place: &str) -> Finding {
    let totals = |runs: &[&Run]| -> Vec<f64> {
        runs.iter().map(|run| per(run.rpcs.values().sum(), run.operations)).collect()
    };
    let ratio = welch_ratio(&totals(before), &totals(after));
    let Some((ratio, interval)) = ratio.and_then(|ratio| Some((ratio, ratio.interval()?))) else {
        return Finding::NotJudged(format!(
            "The requests of {place} vary, and have no interval: it takes two runs on both sides."
        ));
    };
    let words =
        |share: f64, low: f64, high: f64| format!("{} [{}, {}]", percent(share), percent(low), percent(high));
    if interval.low - 1.0 > limits.max_slowdown {
        let more = words(ratio.ratio() - 1.0, interval.low - 1.0, interval.high - 1.0);
        return Finding::Failed(format!(
            "{place} sends {more} more requests for each operation, and {} is allowed.",
            percent(limits.max_slowdown)
        ));
    }
    if interval.high < 1.0 {
        let fewer = words(1.0 - ratio.ratio(), 1.0 - interval.high, 1.0 - interval.low);
        return Finding::Improved(format!("{place} sends {fewer} fewer requests for each operation."));
    }
    Finding::Passed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Setting;
    use crate::samples;

    /// A cell whose runs are operations with their LOOKUP and READ counts.
    fn cell(runs: &[(u64, u64, u64)]) -> Cell {
        let setting = Setting { experiment: "scan".to_owned(), ..samples::setting("3", 0.0) };
        let runs = runs
            .iter()
            .map(|(operations, lookups, reads)| Run {
                value: 1.0,
                operations: *operations,
                rpcs: [("LOOKUP".to_owned(), *lookups), ("READ".to_owned(), *reads)].into(),
                ..Run::default()
            })
            .collect();
        Cell::from_runs(setting, runs).unwrap()
    }

    fn judged(before: &[(u64, u64, u64)], after: &[(u64, u64, u64)], limits: &Limits) -> Vec<Finding> {
        judge(&cell(before), &cell(after), limits)
    }

    #[test]
    fn one_request_more_in_one_run_fails_where_the_baseline_never_varies() {
        let before = [(100, 100, 200), (50, 50, 100)];
        let found = judged(&before, &[(70, 70, 140), (10, 10, 21)], &Limits::default());
        assert_eq!(
            found,
            [
                Finding::Passed,
                Finding::Failed(
                    "scan at 0 ms over v3 sends 2.10 READ for each operation, and the baseline 2.00."
                        .to_owned()
                )
            ]
        );
        // One of ten operations more is 0.1, a thirtieth of the baseline's three requests.
        let tolerant = Limits { count_tolerance: 0.04, ..Limits::default() };
        let found = judged(&before, &[(70, 70, 140), (10, 10, 21)], &tolerant);
        assert_eq!(found, [Finding::Passed, Finding::Passed]);
        let strict = Limits { count_tolerance: 0.03, ..Limits::default() };
        assert!(matches!(judged(&before, &[(70, 70, 140), (10, 10, 21)], &strict)[1], Finding::Failed(_)));
    }

    #[test]
    fn fewer_requests_in_every_run_are_an_improvement() {
        let found = judged(&[(10, 10, 20), (10, 10, 20)], &[(10, 0, 20), (10, 5, 20)], &Limits::default());
        assert_eq!(
            found[0],
            Finding::Improved(
                "scan at 0 ms over v3 sends 0.50 LOOKUP for each operation instead of 1.00.".to_owned()
            )
        );
        assert_eq!(found[1], Finding::Passed);
    }

    #[test]
    fn a_request_that_the_baseline_never_sends_fails() {
        let found = judged(&[(10, 0, 20), (12, 0, 24)], &[(10, 1, 20), (10, 0, 20)], &Limits::default());
        assert!(matches!(&found[0], Finding::Failed(text) if text.contains("0.10 LOOKUP")), "{found:?}");
    }

    #[test]
    fn counts_that_vary_are_held_by_the_interval_of_their_sum() {
        let before = [(100, 100, 200), (100, 101, 201), (100, 99, 199)];
        let more = [(100, 150, 250), (100, 151, 251), (100, 149, 252)];
        let found = judged(&before, &more, &Limits::default());
        assert!(matches!(&found[..], [Finding::Failed(text)] if text.contains("more requests")), "{found:?}");
        assert_eq!(judged(&before, &before, &Limits::default()), [Finding::Passed]);
        let counts_only = Limits { counts_only: true, ..Limits::default() };
        assert_eq!(judged(&before, &more, &counts_only), []);
        let found = judged(&more, &before, &Limits::default());
        assert!(matches!(&found[..], [Finding::Improved(_)]), "{found:?}");
    }

    #[test]
    fn a_baseline_of_one_run_is_no_measure() {
        let found = judged(&[(10, 10, 20)], &[(10, 90, 20)], &Limits::default());
        assert!(matches!(found[..], [Finding::NotJudged(_)]), "{found:?}");
    }
}
