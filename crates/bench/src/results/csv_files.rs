//! The CSV files beside `results.json`: one table each, one header line, numbers unrounded.

use std::collections::BTreeMap;
use std::path::Path;

use super::csv_columns::{self, DISK, LATENCY, TIMELINES};
use super::file::write_whole;
use super::{Cell, Error, Floors, Latency, Resources, Results};

/// Writes `cells.csv`, `runs.csv`, `comparisons.csv`, `rpcs.csv` and `timelines.csv` into `directory`, which
/// exists.
///
/// # Errors
/// When a file cannot be written.
pub fn write_csv(results: &Results, directory: &Path) -> Result<(), Error> {
    write_table(
        &directory.join("cells.csv"),
        &[&CELLS[..], &DISK].concat(),
        results.cells.iter().map(cell_row),
    )?;
    write_table(&directory.join("runs.csv"), &RUNS, results.cells.iter().flat_map(run_rows))?;
    let header = [&COMPARISONS[..], &LATENCY].concat();
    write_table(&directory.join("comparisons.csv"), &header, comparison_rows(results))?;
    write_table(&directory.join("rpcs.csv"), &RPCS, results.cells.iter().flat_map(rpc_rows))?;
    let header = [&KEY[..], &["block"], &TIMELINES, &["label", "arm"]].concat();
    write_table(&directory.join("timelines.csv"), &header, results.cells.iter().flat_map(timeline_rows))
}

const KEY: [&str; 5] = ["experiment", "levels", "version", "delegations", "rtt_ms"];

const CELLS: [&str; 46] = [
    KEY[0],
    KEY[1],
    KEY[2],
    KEY[3],
    KEY[4],
    "server",
    "client",
    "clients",
    "threads",
    "io_bytes",
    "metric",
    "unit",
    "better",
    "runs",
    "mean",
    "ci95_low",
    "ci95_high",
    "seconds",
    "operations",
    "application_bytes",
    "application_read_bytes",
    "read_bytes",
    "rpcs_total",
    "wire_bytes_sent",
    "wire_bytes_received",
    "queue_ms",
    "wire_ms",
    "busy",
    "client_cpu_s",
    "server_cpu_s",
    "disk_busy",
    "latency_ms_mean",
    "latency_ms_p50",
    "latency_ms_p99",
    "latency_ms_max",
    "start_skew_ms",
    "fairness",
    "doubts",
    "label",
    "posix_floor",
    "compound_floor",
    "server_busy",
    "server_disk_busy",
    "arm",
    "latency_ms_p90",
    "latency_ms_p999",
];

const RUNS: [&str; 20] = [
    KEY[0],
    KEY[1],
    KEY[2],
    KEY[3],
    KEY[4],
    "block",
    "value",
    "seconds",
    "operations",
    "application_bytes",
    "wire_bytes_sent",
    "wire_bytes_received",
    "queue_ms",
    "wire_ms",
    "start_skew_ms",
    "fairness",
    "client_values",
    "doubts",
    "label",
    "arm",
];

const COMPARISONS: [&str; 20] = [
    "experiment",
    "levels",
    "rtt_ms",
    "baseline",
    "candidate",
    "delegations",
    "ratio",
    "ci95_low",
    "ci95_high",
    "verdict",
    "p_different",
    "p_same",
    "runs_to_detect",
    "reason",
    "doubts",
    "label",
    "interval_low",
    "interval_high",
    "baseline_arm",
    "candidate_arm",
];

const RPCS: [&str; 10] =
    [KEY[0], KEY[1], KEY[2], KEY[3], KEY[4], "block", "operation", "count", "label", "arm"];

fn write_table(path: &Path, header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Result<(), Error> {
    let csv_error = |source| Error::Csv { path: path.to_owned(), source };
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header).map_err(csv_error)?;
    for row in rows {
        writer.write_record(row).map_err(csv_error)?;
    }
    let contents = writer.into_inner().map_err(|error| csv_error(error.into_error().into()))?;
    write_whole(path, &contents)
}

fn key(cell: &Cell) -> Vec<String> {
    let setting = &cell.setting;
    vec![
        setting.experiment.clone(),
        levels(&setting.levels),
        setting.version.clone(),
        setting.delegations.to_string(),
        setting.rtt_ms.to_string(),
    ]
}

fn cell_row(cell: &Cell) -> Vec<String> {
    let setting = &cell.setting;
    let better = match setting.metric.better {
        crate::statistics::Better::Higher => "higher",
        crate::statistics::Better::Lower => "lower",
    };
    let [low, high] = ends(cell.ci95);
    let latency = |of: fn(&Latency) -> f64| optional(cell.latency_ms.as_ref().map(of));
    let used = |of: fn(Resources) -> Option<f64>| optional(cell.resources.and_then(of));
    let floor = |of: fn(Floors) -> f64| optional(cell.floors.map(of));
    let mut row = key(cell);
    row.extend([
        setting.server.clone(),
        setting.client.clone(),
        setting.clients.to_string(),
        setting.threads.to_string(),
        setting.io_bytes.to_string(),
        setting.metric.name.clone(),
        setting.metric.unit.clone(),
        better.to_owned(),
        cell.runs.len().to_string(),
        cell.mean.to_string(),
        low,
        high,
        cell.seconds.to_string(),
        cell.operations.to_string(),
        cell.application_bytes.to_string(),
        cell.application_read_bytes.to_string(),
        cell.read_bytes.to_string(),
        cell.rpcs_total.to_string(),
        cell.wire_bytes.sent.to_string(),
        cell.wire_bytes.received.to_string(),
        cell.queue_ms.to_string(),
        cell.wire_ms.to_string(),
        used(|used| Some(used.busy)),
        used(|used| Some(used.client_seconds)),
        used(|used| used.server_seconds),
        used(|used| used.disk_busy),
        latency(|times| times.mean),
        latency(|times| times.p50),
        latency(|times| times.p99),
        latency(|times| times.max),
        cell.start_skew_ms.to_string(),
        optional(cell.fairness),
        cell.doubts.join("; "),
        setting.label.clone(),
        floor(|floors| floors.posix),
        floor(|floors| floors.compound),
        used(|used| used.server_busy),
        used(|used| used.server_disk_busy),
        setting.arm.clone(),
        latency(|times| times.p90),
        latency(|times| times.p999),
    ]);
    row.extend(csv_columns::disk(cell));
    row
}

fn run_rows(cell: &Cell) -> impl Iterator<Item = Vec<String>> {
    cell.run_details.iter().map(|run| {
        let mut row = key(cell);
        row.extend([
            run.block.to_string(),
            run.value.to_string(),
            run.seconds.to_string(),
            run.operations.to_string(),
            run.application_bytes.to_string(),
            run.wire_bytes.sent.to_string(),
            run.wire_bytes.received.to_string(),
            run.queue_ms.to_string(),
            run.wire_ms.to_string(),
            run.start_skew_ms.to_string(),
            optional(run.fairness),
            run.client_values.iter().map(f64::to_string).collect::<Vec<_>>().join(" "),
            run.doubts.join("; "),
            cell.setting.label.clone(),
            cell.setting.arm.clone(),
        ]);
        row
    })
}

fn comparison_rows(results: &Results) -> impl Iterator<Item = Vec<String>> {
    results.comparisons.iter().map(|comparison| {
        let [low, high] = ends(comparison.ci95);
        let [decided_low, decided_high] = ends(comparison.interval);
        let mut row = vec![
            comparison.experiment.clone(),
            levels(&comparison.levels),
            comparison.rtt_ms.to_string(),
            comparison.baseline.clone(),
            comparison.candidate.clone(),
            comparison.delegations.to_string(),
            optional(comparison.ratio),
            low,
            high,
            comparison.verdict.as_str().to_owned(),
            comparison.p_different.to_string(),
            comparison.p_same.to_string(),
            comparison.runs_to_detect.map_or_else(String::new, |runs| runs.to_string()),
            comparison.reason.clone(),
            comparison.doubts.join("; "),
            comparison.label.clone(),
            decided_low,
            decided_high,
            comparison.baseline_arm.clone(),
            comparison.candidate_arm.clone(),
        ];
        row.extend(csv_columns::latency(comparison));
        row
    })
}

fn timeline_rows(cell: &Cell) -> impl Iterator<Item = Vec<String>> {
    let timelines = cell.run_details.iter().filter_map(|run| Some((run.block, run.timeline.as_ref()?)));
    timelines.flat_map(move |(block, timeline)| {
        csv_columns::slices(timeline).map(move |slice| {
            let mut row = key(cell);
            row.push(block.to_string());
            row.extend(slice);
            row.extend([cell.setting.label.clone(), cell.setting.arm.clone()]);
            row
        })
    })
}

fn rpc_rows(cell: &Cell) -> impl Iterator<Item = Vec<String>> {
    cell.run_details.iter().flat_map(|run| {
        run.rpcs.iter().map(|(operation, count)| {
            let mut row = key(cell);
            row.extend([
                run.block.to_string(),
                operation.clone(),
                count.to_string(),
                cell.setting.label.clone(),
                cell.setting.arm.clone(),
            ]);
            row
        })
    })
}

/// "phase=rewrite;threads=8".
pub(crate) fn levels(levels: &BTreeMap<String, String>) -> String {
    let levels: Vec<String> = levels.iter().map(|(factor, level)| format!("{factor}={level}")).collect();
    levels.join(";")
}

fn ends(interval: Option<[f64; 2]>) -> [String; 2] {
    interval.map_or_else(Default::default, |ends| ends.map(|end| end.to_string()))
}

pub(super) fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::Timeline;
    use super::*;
    use crate::samples;

    fn rows(directory: &Path, name: &str) -> Vec<csv::StringRecord> {
        csv::Reader::from_path(directory.join(name)).unwrap().records().map(Result::unwrap).collect()
    }

    #[test]
    fn each_table_has_a_row_for_each_of_its_things() {
        let directory = tempfile::tempdir().unwrap();
        let results = samples::results();
        write_csv(&results, directory.path()).unwrap();
        let runs: usize = results.cells.iter().map(|cell| cell.runs.len()).sum();
        let counts: usize =
            results.cells.iter().flat_map(|cell| &cell.run_details).map(|run| run.rpcs.len()).sum();
        assert_eq!(rows(directory.path(), "cells.csv").len(), results.cells.len());
        assert_eq!(rows(directory.path(), "runs.csv").len(), runs);
        assert_eq!(rows(directory.path(), "comparisons.csv").len(), results.comparisons.len());
        assert_eq!(rows(directory.path(), "rpcs.csv").len(), counts);
        assert_eq!(rows(directory.path(), "timelines.csv").len(), 0, "the sample has none");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 5);
    }

    #[test]
    fn each_slice_of_a_timeline_is_a_row_with_its_time() {
        let directory = tempfile::tempdir().unwrap();
        let mut results = samples::results();
        results.cells[1].run_details[2].timeline = Some(Timeline {
            slice_seconds: 0.5,
            values: vec![3.0, 5.0],
            clients: vec![vec![1.0, 2.0], vec![2.0, 3.0]],
            client_reads: vec![6.0],
        });
        write_csv(&results, directory.path()).unwrap();
        let rows = rows(directory.path(), "timelines.csv");
        let fields: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().skip(5).collect()).collect();
        assert_eq!(
            fields,
            [["2", "0", "0.5", "3", "6", "1 2", "", ""], ["2", "0.5", "0.5", "5", "", "2 3", "", ""]]
        );
    }

    #[test]
    fn text_with_commas_quotes_and_lines_survives() {
        let directory = tempfile::tempdir().unwrap();
        let mut results = samples::results();
        results.comparisons[0].reason = "a, \"b\"\nc".to_owned();
        write_csv(&results, directory.path()).unwrap();
        assert_eq!(&rows(directory.path(), "comparisons.csv")[0][13], "a, \"b\"\nc");
    }

    #[test]
    fn unknown_value_is_an_empty_field() {
        let directory = tempfile::tempdir().unwrap();
        let mut results = samples::results();
        results.cells[0].floors = Some(Floors { posix: 1.0, compound: 0.0625 });
        results.cells[1].floors = None;
        results.cells[1].resources = None;
        results.comparisons[0].ratio = None;
        results.comparisons[0].ci95 = None;
        write_csv(&results, directory.path()).unwrap();
        let row = &rows(directory.path(), "comparisons.csv")[0];
        assert_eq!((&row[6], &row[7], &row[8]), ("", "", ""));
        assert!(
            row[20].parse::<f64>().is_ok() && row[29].parse::<f64>().is_ok(),
            "percentiles of both: {row:?}"
        );
        let cells = rows(directory.path(), "cells.csv");
        assert_eq!((&cells[0][39], &cells[0][40]), ("1", "0.0625"));
        assert_eq!((&cells[0][41], &cells[0][42]), ("0.3", "0.1"));
        assert_eq!((&cells[1][39], &cells[1][40], &cells[1][41]), ("", "", ""));
        assert_eq!((&cells[0][46], &cells[0][48], &cells[0][52]), ("0.02", "2", "true"));
        assert_eq!((&cells[1][46], &cells[1][48], &cells[1][52]), ("", "", ""));
    }
}
