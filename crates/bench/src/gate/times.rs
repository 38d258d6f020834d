//! Gates on what was measured in time: only a loss that is beyond what is allowed and beyond what repeats of
//! the baseline show by chance fails.
//!
//! One benchmark moves against the next by more than its runs can tell. How far is learned from repeats of
//! the baseline: their means spread, and a new result has to lie beyond the band in which another repeat
//! would.

use super::{Finding, Limits};
use crate::diff::{document_means, place};
use crate::results::Cell;
use crate::statistics::{Better, Interval, SIGNIFICANCE, Spread, mean_and_variance, moderated, t_half_width};
use crate::text::percent;

/// Repeats of the baseline without which the speed is not judged.
pub const REPEATS_MIN: usize = 3;

/// One setting: its cell in each repeat of the baseline, and the one that is judged.
pub(super) struct Judged<'a> {
    pub(super) baselines: Vec<&'a Cell>,
    pub(super) cell: &'a Cell,
}

/// Judges the speed of every setting; all of them are one family, with a chance of 5 % that any of them fails
/// or improves without reason.
pub(super) fn judge(all: &[Judged<'_>], limits: &Limits) -> Vec<Finding> {
    let known: Vec<(&Judged<'_>, Option<Moved>)> =
        all.iter().map(|judged| (judged, Moved::of(judged))).collect();
    let repeats = all.iter().map(|judged| judged.baselines.len()).min().unwrap_or_default();
    let variances: Vec<f64> =
        known.iter().map(|(_, moved)| moved.as_ref().map_or(0.0, |moved| moved.variance)).collect();
    let spreads = moderated(&variances, repeats as f64 - 1.0);
    let level = SIGNIFICANCE / all.len().max(1) as f64;
    known
        .iter()
        .zip(spreads)
        .map(|((judged, moved), spread)| match moved {
            Some(moved) if repeats >= REPEATS_MIN => moved.judge(judged.cell, spread, level, limits),
            _ => Finding::NotJudged(format!(
                "The speed of {} has no band: it takes {REPEATS_MIN} repeats of the baseline.",
                place(judged.cell)
            )),
        })
        .collect()
}

/// How a setting has moved against the repeats of its baseline, in logarithms.
struct Moved {
    by: f64,
    variance: f64,
    repeats: f64,
}

impl Moved {
    /// None where a value is missing.
    fn of(judged: &Judged<'_>) -> Option<Self> {
        let logs: Vec<f64> = document_means(&judged.baselines)?.iter().map(|mean| mean.ln()).collect();
        let now = document_means(&[judged.cell])?.first()?.ln();
        let (mean, variance) = mean_and_variance(&logs)?;
        Some(Self { by: now - mean, variance, repeats: logs.len() as f64 })
    }

    fn judge(&self, cell: &Cell, spread: Spread, level: f64, limits: &Limits) -> Finding {
        // The band of one more repeat.
        let error = (spread.variance * (1.0 + 1.0 / self.repeats)).sqrt();
        let half = t_half_width(level, spread.degrees) * error;
        let change = self.change(cell.setting.metric.better, half);
        let words = |share: f64, low: f64, high: f64| {
            format!("{} [{}, {}]", percent(share), percent(low), percent(high))
        };
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

    fn change(&self, better: Better, half: f64) -> Change {
        let [low, mean, high] = [self.by - half, self.by, self.by + half].map(f64::exp);
        match better {
            Better::Higher => {
                Change { mean: 1.0 - mean, loss: Interval { low: 1.0 - high, high: 1.0 - low } }
            }
            Better::Lower => Change { mean: mean - 1.0, loss: Interval { low: low - 1.0, high: high - 1.0 } },
        }
    }
}

/// The share of its speed that a setting has lost: of the rate where more is better, in time where less is.
struct Change {
    mean: f64,
    /// The band; negative numbers are gains.
    loss: Interval,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Run, Setting};
    use crate::samples;

    fn cell(better: Better, value: f64) -> Cell {
        let mut setting = Setting { experiment: "create".to_owned(), ..samples::setting("4.1", 10.0) };
        setting.metric.better = better;
        let runs = [0.99, 1.0, 1.01].map(|factor| Run { value: value * factor, ..Run::default() });
        Cell::from_runs(setting, runs.into()).unwrap()
    }

    fn judged(better: Better, before: &[f64], after: f64, limits: &Limits) -> Finding {
        let cells: Vec<Cell> = before.iter().map(|value| cell(better, *value)).collect();
        let now = cell(better, after);
        judge(&[Judged { baselines: cells.iter().collect(), cell: &now }], limits).remove(0)
    }

    #[test]
    fn only_a_slowdown_that_is_certain_to_exceed_the_limit_fails() {
        let before = [100.0, 101.0, 99.0, 100.5];
        let limits = Limits::default();
        let Finding::Failed(text) = judged(Better::Higher, &before, 80.0, &limits) else {
            panic!("a loss of 20 % was let through");
        };
        assert!(text.starts_with("create at 10 ms over v4.1 is slower by 20 % [1"), "{text}");
        assert!(text.ends_with("and 5 % is allowed."), "{text}");
        assert_eq!(judged(Better::Higher, &before, 97.0, &limits), Finding::Passed);
        let wide = [80.0, 120.0, 95.0, 105.0];
        assert_eq!(judged(Better::Higher, &wide, 80.0, &limits), Finding::Passed, "repeats do that, too");
        let limits = Limits { max_slowdown: 0.3, ..limits };
        assert_eq!(judged(Better::Higher, &before, 80.0, &limits), Finding::Passed);
    }

    #[test]
    fn less_time_is_faster() {
        let before = [10.0, 10.1, 9.9, 10.05];
        let limits = Limits::default();
        assert!(matches!(judged(Better::Lower, &before, 12.0, &limits), Finding::Failed(_)));
        let Finding::Improved(text) = judged(Better::Lower, &before, 5.0, &limits) else {
            panic!("half the time is an improvement");
        };
        assert!(text.contains("faster by 50 % ["), "{text}");
    }

    #[test]
    fn speed_is_not_judged_without_repeats() {
        let found = judged(Better::Higher, &[100.0, 101.0], 50.0, &Limits::default());
        let Finding::NotJudged(text) = found else { panic!("{found:?}") };
        assert!(text.contains("3 repeats of the baseline"), "{text}");
    }
}
