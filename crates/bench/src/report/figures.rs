//! The rows that the figures are drawn from. `assets/report/*.js` turn them into pictures.

use serde::Serialize;

use super::over_time::{Bucket, Slice, buckets, slices};
use super::studies::{Study, studies};
use crate::results::{Cell, Comparison, Results};
use crate::text::{delay, number, per_operation, ratio};

/// Everything that the page's script needs.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    /// The experiments in their order, with what they ask.
    pub(super) experiments: Vec<Question>,
    /// Versions in their order, the baseline first.
    pub(super) versions: Vec<String>,
    /// Delays from the shortest, as they are shown.
    pub(super) delays: Vec<String>,
    pub(super) means: Vec<Mean>,
    pub(super) ratios: Vec<Ratio>,
    /// Ratios within this share of 1 count as the same.
    pub(super) same_within: f64,
    pub(super) requests: Vec<Requests>,
    /// Each experiment in the form of its study.
    pub(super) studies: Vec<Study>,
    /// Rates over time.
    pub(super) slices: Vec<Slice>,
    /// How many operations took how long.
    pub(super) buckets: Vec<Bucket>,
}

/// An experiment and what it asks, where that is known.
#[derive(Debug, Serialize)]
pub(super) struct Question {
    pub(super) name: String,
    pub(super) question: String,
}

/// A cell's mean with its interval.
#[derive(Debug, Serialize)]
pub(super) struct Mean {
    pub(super) experiment: String,
    pub(super) delay: String,
    pub(super) version: String,
    pub(super) unit: String,
    pub(super) mean: f64,
    /// The interval's ends, or the mean where there is none.
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) shown: String,
}

/// A comparison's ratio with its interval.
#[derive(Debug, Serialize)]
pub(super) struct Ratio {
    pub(super) row: String,
    pub(super) experiment: String,
    pub(super) ratio: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) verdict: String,
    pub(super) shown: String,
    pub(super) reason: String,
}

/// How often one operation was sent for each operation of the application.
#[derive(Debug, Serialize)]
pub(super) struct Requests {
    pub(super) experiment: String,
    pub(super) delay: String,
    pub(super) version: String,
    /// Empty where nothing was sent.
    pub(super) operation: String,
    pub(super) count: f64,
    /// All operations together, as it is shown.
    pub(super) total_shown: String,
    pub(super) total: f64,
}

impl Figures {
    pub(super) fn of(results: &Results) -> Self {
        // Those with factors would be a figure for each level; they are drawn in the form of their study.
        let plain: Vec<&Cell> = results.cells.iter().filter(|cell| cell.setting.levels.is_empty()).collect();
        let mut delays_ms: Vec<f64> = results.cells.iter().map(|cell| cell.setting.rtt_ms).collect();
        delays_ms.sort_by(f64::total_cmp);
        let mut versions = in_order(results.cells.iter().map(Cell::version_name));
        versions.sort();
        Self {
            experiments: questions(&plain, results),
            versions,
            delays: in_order(delays_ms.into_iter().map(delay)),
            means: plain.iter().map(|cell| mean(cell)).collect(),
            ratios: ratios(&results.comparisons),
            same_within: results.environment.same_within,
            requests: plain.iter().flat_map(|cell| requests(cell)).collect(),
            studies: studies(results),
            slices: slices(results),
            buckets: buckets(results),
        }
    }

    /// Whether any experiment has means at several delays, which a line can go through.
    pub(super) fn has_sweep(&self) -> bool {
        self.means.iter().any(|mean| {
            self.means.iter().any(|other| other.experiment == mean.experiment && other.delay != mean.delay)
        })
    }
}

/// What is new in `items`, in their order.
fn in_order<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

fn questions(plain: &[&Cell], results: &Results) -> Vec<Question> {
    in_order(plain.iter().map(|cell| cell.setting.experiment.clone()))
        .into_iter()
        .map(|name| {
            let known = results.experiments.iter().find(|asked| asked.name == name);
            Question { question: known.map_or_else(String::new, |known| known.question.clone()), name }
        })
        .collect()
}

fn mean(cell: &Cell) -> Mean {
    let [low, high] = cell.ci95.unwrap_or([cell.mean; 2]);
    Mean {
        experiment: cell.setting.name(),
        delay: delay(cell.setting.rtt_ms),
        version: cell.version_name(),
        unit: cell.setting.metric.unit.clone(),
        mean: cell.mean,
        low: low.max(0.0),
        high,
        shown: number(cell.mean),
    }
}

/// A logarithmic axis has no place for ratios that are not positive; they stand in the table only.
fn ratios(comparisons: &[Comparison]) -> Vec<Ratio> {
    let several = comparisons.iter().any(|one| one.candidate_id() != comparisons[0].candidate_id());
    comparisons
        .iter()
        .filter_map(|comparison| {
            let value = comparison.ratio.filter(|ratio| *ratio > 0.0)?;
            let [low, high] = comparison.shown_interval().filter(|[low, _]| *low > 0.0).unwrap_or([value; 2]);
            let mut row = format!("{} · {}", comparison.name(), delay(comparison.rtt_ms));
            if several {
                row = format!("{row} · {}", comparison.candidate_name());
            }
            Some(Ratio {
                row,
                experiment: comparison.name(),
                ratio: value,
                low,
                high,
                verdict: comparison.verdict.words().to_owned(),
                shown: ratio(comparison.ratio, comparison.shown_interval()),
                reason: comparison.reason.clone(),
            })
        })
        .collect()
}

fn requests(cell: &Cell) -> Vec<Requests> {
    let Some(total) = cell.rpcs_per_operation() else { return Vec::new() };
    let row = |operation: &str, count: u64| Requests {
        experiment: cell.setting.name(),
        delay: delay(cell.setting.rtt_ms),
        version: cell.version_name(),
        operation: operation.to_owned(),
        count: count as f64 / cell.operations as f64,
        total_shown: per_operation(total),
        total,
    };
    if cell.rpcs.is_empty() {
        return vec![row("", 0)];
    }
    cell.rpcs.iter().map(|(operation, count)| row(operation, *count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn every_cell_and_comparison_is_in_a_figure() {
        let results = samples::results();
        let figures = Figures::of(&results);
        assert_eq!(figures.means.len(), results.cells.len());
        assert_eq!(figures.ratios.len(), results.comparisons.len());
        assert_eq!(figures.delays, ["0 ms", "1 ms", "10 ms"]);
        assert_eq!(figures.versions, ["v3", "v4.1"]);
        assert!(figures.experiments.iter().all(|experiment| experiment.question.ends_with('?')));
    }

    #[test]
    fn requests_are_counted_for_each_operation_of_the_application() {
        let figures = Figures::of(&samples::results());
        let create: f64 = figures
            .requests
            .iter()
            .filter(|row| row.experiment == "create" && row.version == "v4.1" && row.delay == "0 ms")
            .map(|row| row.count)
            .sum();
        assert!((create - 2.0).abs() < 1e-9, "{create}");
    }

    #[test]
    fn client_without_requests_has_a_row_that_says_so() {
        let mut results = samples::results();
        for cell in &mut results.cells {
            cell.rpcs.clear();
            cell.rpcs_total = 0;
        }
        let requests = Figures::of(&results).requests;
        assert_eq!(requests.len(), results.cells.len());
        assert!(requests.iter().all(|row| row.operation.is_empty() && row.total_shown == "0"));
    }

    #[test]
    fn value_of_zero_stays_off_a_logarithmic_axis() {
        let mut results = samples::results();
        results.comparisons[0].ratio = None;
        results.comparisons[1].ratio = Some(0.0);
        results.comparisons[2].interval = Some([0.0, 2.0]);
        let ratios = Figures::of(&results).ratios;
        assert_eq!(ratios.len(), results.comparisons.len() - 2);
        assert_eq!((ratios[0].low, ratios[0].high), (ratios[0].ratio, ratios[0].ratio));
    }
}
