//! Gates on what was measured in time: only an interval that lies wholly beyond the limit fails.

use super::{Finding, Limits};
use crate::diff::place;
use crate::results::Cell;
use crate::statistics::{Better, Interval, welch_ratio};
use crate::text::percent;

/// Judges the metric of one setting.
pub(super) fn judge(baseline: &Cell, cell: &Cell, limits: &Limits) -> Finding {
    let Some(change) = change(baseline, cell) else {
        return Finding::NotJudged(format!(
            "The speed of {} has no interval: it takes two runs on both sides.",
            place(cell)
        ));
    };
    let words =
        |share: f64, low: f64, high: f64| format!("{} [{}, {}]", percent(share), percent(low), percent(high));
    if change.loss.low > limits.max_slowdown {
        return Finding::Failed(format!(
            "{} is slower by {}, and {} is allowed.",
            place(cell),
            words(change.mean, change.loss.low, change.loss.high),
            percent(limits.max_slowdown)
        ));
    }
    if change.loss.high < 0.0 {
        let gain = words(-change.mean, -change.loss.high, -change.loss.low);
        return Finding::Improved(format!("{} is faster by {gain}.", place(cell)));
    }
    Finding::Passed
}

/// The share of its speed that a setting has lost: of the rate where more is better, in time where less is.
struct Change {
    mean: f64,
    /// Its 95 % interval; negative numbers are gains.
    loss: Interval,
}

fn change(baseline: &Cell, cell: &Cell) -> Option<Change> {
    let ratio = welch_ratio(&baseline.runs, &cell.runs)?;
    let interval = ratio.interval()?;
    Some(match cell.setting.metric.better {
        Better::Higher => Change {
            mean: 1.0 - ratio.ratio(),
            loss: Interval { low: 1.0 - interval.high, high: 1.0 - interval.low },
        },
        Better::Lower => Change {
            mean: ratio.ratio() - 1.0,
            loss: Interval { low: interval.low - 1.0, high: interval.high - 1.0 },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Run, Setting};
    use crate::samples;

    fn cell(better: Better, values: &[f64]) -> Cell {
        let mut setting = Setting { experiment: "create".to_owned(), ..samples::setting("4.1", 10.0) };
        setting.metric.better = better;
        let runs = values.iter().map(|value| Run { value: *value, ..Run::default() }).collect();
        Cell::from_runs(setting, runs).unwrap()
    }

    fn judged(better: Better, before: &[f64], after: &[f64]) -> Finding {
        judge(&cell(better, before), &cell(better, after), &Limits::default())
    }

    #[test]
    fn only_a_slowdown_that_is_certain_to_exceed_the_limit_fails() {
        let before = [100.0, 101.0, 99.0];
        let Finding::Failed(text) = judged(Better::Higher, &before, &[88.0, 87.5, 88.5]) else {
            panic!("a loss of 12 % was let through");
        };
        assert!(text.starts_with("create at 10 ms over v4.1 is slower by 12 % [1"), "{text}");
        assert!(text.ends_with("and 5 % is allowed."), "{text}");
        assert_eq!(judged(Better::Higher, &before, &[97.0, 96.0, 96.5]), Finding::Passed);
        assert_eq!(
            judged(Better::Higher, &before, &[70.0, 110.0, 80.0]),
            Finding::Passed,
            "it may be chance"
        );
        let limits = Limits { max_slowdown: 0.2, ..Limits::default() };
        let slow = cell(Better::Higher, &[88.0, 87.5, 88.5]);
        assert_eq!(judge(&cell(Better::Higher, &before), &slow, &limits), Finding::Passed);
    }

    #[test]
    fn less_time_is_faster() {
        assert!(matches!(judged(Better::Lower, &[10.0, 10.1, 9.9], &[12.0, 12.1, 11.9]), Finding::Failed(_)));
        let Finding::Improved(text) = judged(Better::Lower, &[10.0, 10.1, 9.9], &[5.0, 5.1, 4.9]) else {
            panic!("half the time is an improvement");
        };
        assert!(text.contains("faster by 50 % ["), "{text}");
    }

    #[test]
    fn single_runs_are_not_judged() {
        assert!(matches!(judged(Better::Higher, &[10.0], &[1.0]), Finding::NotJudged(_)));
    }
}
