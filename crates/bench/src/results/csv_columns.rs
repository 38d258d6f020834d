//! Columns of the CSV files that belong together: of the disk, and of percentiles of two arms.

use super::csv_files::optional;
use super::{Cell, Comparison, LatencyRatio, Timeline};

/// Of the cells: waiting for disks, and what the disk under the export did for each operation.
pub(super) const DISK: [&str; 7] = [
    "io_wait",
    "server_io_wait",
    "disk_writes_per_op",
    "disk_bytes_per_op",
    "disk_flushes_per_op",
    "journal_commits_per_op",
    "disk_is_of_export",
];

/// The fields of [`DISK`]; those that are not known are empty.
pub(super) fn disk(cell: &Cell) -> [String; 7] {
    let disk = cell.resources.and_then(|used| used.export_disk());
    let each = |count: Option<u64>| {
        let count = count.filter(|_| cell.operations > 0)?;
        Some(count as f64 / cell.operations as f64)
    };
    [
        optional(cell.resources.and_then(|used| used.io_wait)),
        optional(cell.resources.and_then(|used| used.server_io_wait)),
        optional(each(disk.map(|disk| disk.writes))),
        optional(each(disk.map(|disk| disk.written_bytes))),
        optional(each(disk.and_then(|disk| disk.flushes))),
        optional(each(disk.and_then(|disk| disk.journal_commits))),
        disk.map_or_else(String::new, |disk| disk.is_of_export.to_string()),
    ]
}

/// Of the comparisons: percentiles of baseline and candidate in milliseconds, and their ratios.
pub(super) const LATENCY: [&str; 10] = [
    "p50_ms_baseline",
    "p50_ms_candidate",
    "p50_ratio",
    "p50_ci95_low",
    "p50_ci95_high",
    "p99_ms_baseline",
    "p99_ms_candidate",
    "p99_ratio",
    "p99_ci95_low",
    "p99_ci95_high",
];

/// The fields of [`LATENCY`]; those that are not known are empty.
pub(super) fn latency(comparison: &Comparison) -> Vec<String> {
    let Some(latency) = comparison.latency else { return vec![String::new(); LATENCY.len()] };
    let fields = |ratio: LatencyRatio| {
        let [low, high] = ratio.ci95.map_or([None, None], |ends| ends.map(Some));
        let values = [Some(ratio.baseline_ms), Some(ratio.candidate_ms), ratio.ratio, low, high];
        values.map(optional)
    };
    [latency.p50, latency.p99].into_iter().flat_map(fields).collect()
}

/// Of the timelines, after those that name the run.
pub(super) const TIMELINES: [&str; 5] = ["second", "slice_seconds", "value", "client_reads", "client_values"];

/// The fields of [`TIMELINES`] for each slice.
pub(super) fn slices(timeline: &Timeline) -> impl Iterator<Item = [String; 5]> {
    timeline.values.iter().enumerate().map(|(nth, value)| {
        let of_clients = timeline.clients.iter().filter_map(|values| values.get(nth));
        [
            (nth as f64 * timeline.slice_seconds).to_string(),
            timeline.slice_seconds.to_string(),
            value.to_string(),
            optional(timeline.client_reads.get(nth).copied()),
            of_clients.map(f64::to_string).collect::<Vec<_>>().join(" "),
        ]
    })
}
