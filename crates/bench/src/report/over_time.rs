//! The rows of the figures of rates over time and of how many operations took how long.

use serde::Serialize;

use super::latency_tables::is_one_at_a_time;
use crate::results::{Cell, Results};
use crate::text::delay;

/// More places than this are too many for one page; settings that come later are left out.
const PLACES_MAX: usize = 20_000;

/// The rate of all clients together in one slice of the median run.
#[derive(Debug, Serialize)]
pub(super) struct Slice {
    pub(super) experiment: String,
    pub(super) panel: String,
    pub(super) version: String,
    pub(super) unit: String,
    pub(super) seconds: f64,
    /// The reader or writer: `APPLICATION` or `CLIENT`.
    pub(super) whose: &'static str,
    pub(super) rate: f64,
}

pub(super) const APPLICATION: &str = "applications";
pub(super) const CLIENT: &str = "clients from the server";

/// The rates over time of all settings that have one.
pub(super) fn slices(results: &Results) -> Vec<Slice> {
    let mut slices = Vec::new();
    for cell in &results.cells {
        let own = slices_of(cell);
        if slices.len() + own.len() > PLACES_MAX {
            break;
        }
        slices.extend(own);
    }
    slices
}

fn slices_of(cell: &Cell) -> Vec<Slice> {
    let Some(timeline) = cell.median_run().and_then(|run| run.timeline.as_ref()) else { return Vec::new() };
    let of = |whose: &'static str, values: &[f64]| {
        let slice = |(nth, rate): (usize, &f64)| Slice {
            experiment: cell.setting.experiment.clone(),
            panel: panel(cell),
            version: cell.version_name(),
            unit: cell.setting.metric.unit.clone(),
            seconds: nth as f64 * timeline.slice_seconds,
            whose,
            rate: *rate,
        };
        values.iter().enumerate().map(slice).collect::<Vec<_>>()
    };
    let mut slices = of(APPLICATION, &timeline.values);
    slices.extend(of(CLIENT, &timeline.client_reads));
    slices
}

/// The share of the operations in one bucket.
#[derive(Debug, Serialize)]
pub(super) struct Bucket {
    pub(super) experiment: String,
    pub(super) panel: String,
    pub(super) version: String,
    /// The longest time in it, in milliseconds.
    pub(super) ends_ms: f64,
    pub(super) share: f64,
}

/// The histograms of all settings with one operation at a time.
pub(super) fn buckets(results: &Results) -> Vec<Bucket> {
    let own = results.cells.iter().filter(|cell| is_one_at_a_time(cell));
    let mut buckets: Vec<Bucket> = own.flat_map(buckets_of).collect();
    buckets.truncate(PLACES_MAX);
    buckets
}

fn buckets_of(cell: &Cell) -> Vec<Bucket> {
    let all = cell.latency_histogram.operations().max(1) as f64;
    let bucket = |(ends_ms, count): &(f64, u64)| Bucket {
        experiment: cell.setting.experiment.clone(),
        panel: panel(cell),
        version: cell.version_name(),
        ends_ms: *ends_ms,
        share: *count as f64 / all,
    };
    // A logarithmic axis has no place for others.
    let is_drawn = |(ends_ms, _): &&(f64, u64)| ends_ms.is_finite() && *ends_ms > 0.0;
    cell.latency_histogram.buckets.iter().filter(is_drawn).map(bucket).collect()
}

/// The difference of a setting from the others of its experiment.
fn panel(cell: &Cell) -> String {
    let levels = cell.setting.name();
    let levels = levels.strip_prefix(&cell.setting.experiment).unwrap_or_default();
    format!("{}{levels}", delay(cell.setting.rtt_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Timeline;
    use crate::samples;

    #[test]
    fn rates_of_applications_and_clients_stand_side_by_side() {
        let mut results = samples::results();
        assert!(slices(&results).is_empty(), "the sample has no timeline");
        let timeline = Timeline {
            slice_seconds: 0.5,
            values: vec![3.0, 9.0],
            clients: Vec::new(),
            client_reads: vec![3.0, 1.0],
        };
        let median = results.cells[0].median_run().unwrap().block;
        for run in results.cells[0].run_details.iter_mut().filter(|run| run.block == median) {
            run.timeline = Some(timeline.clone());
        }
        results.cells[0].setting.levels.insert("threads".to_owned(), "4".to_owned());
        let slices = slices(&results);
        let shown: Vec<(&str, f64, f64)> =
            slices.iter().map(|slice| (slice.whose, slice.seconds, slice.rate)).collect();
        assert_eq!(
            shown,
            [(APPLICATION, 0.0, 3.0), (APPLICATION, 0.5, 9.0), (CLIENT, 0.0, 3.0), (CLIENT, 0.5, 1.0)]
        );
        assert_eq!(slices[0].panel, "0 ms · threads 4");
    }

    #[test]
    fn more_slices_than_a_page_holds_are_left_out() {
        let mut results = samples::results();
        let long = Timeline { slice_seconds: 1.0, values: vec![1.0; 15_000], ..Timeline::default() };
        for run in results.cells.iter_mut().flat_map(|cell| &mut cell.run_details) {
            run.timeline = Some(long.clone());
        }
        assert_eq!(slices(&results).len(), 15_000);
    }

    #[test]
    fn shares_of_the_buckets_add_up() {
        let mut results = samples::results();
        assert!(buckets(&results).is_empty(), "five clients have operations at the same time");
        (results.cells[0].setting.clients, results.cells[0].setting.threads) = (1, 1);
        let buckets = buckets(&results);
        let sum: f64 = buckets.iter().map(|bucket| bucket.share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
}
