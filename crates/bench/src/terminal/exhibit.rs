//! The tables of an exhibit: every cell with the columns that the studies have, and published values beside
//! ours.

use super::Style;
use super::table::{align_right, finished, new_table, printable};
use crate::report::disk_work;
use crate::results::{Cell, Form, Results, named, version_name};
use crate::text::{delay, measured, number, per_operation, percent, quantity};

const NONE: &str = "–";

/// Returns the tables, ending in a newline: of the cells, of rates over time where the exhibit has any, and
/// of what was published.
#[must_use]
pub fn exhibit(results: &Results, style: Style) -> String {
    let mut text = cells(&results.cells, style);
    for table in [over_time(results, style), published(results, style)].into_iter().flatten() {
        text.push_str(&format!("\n\n{table}"));
    }
    text.push('\n');
    text
}

/// Rate, latency, requests, how busy the server's processors and disk were (those of this machine unless an
/// agent tells), and what the disk under the export did.
fn cells(cells: &[Cell], style: Style) -> String {
    let mut table = new_table(style);
    table.set_header([
        "experiment",
        "delay",
        "arm",
        "mean",
        "requests/op",
        "median ms",
        "99 % ms",
        "client wait ms",
        "CPU",
        "I/O wait",
        "disk",
        "disk writes, bytes, flushes, commits/op",
    ]);
    for cell in cells {
        let time = |of: fn(&crate::results::Latency) -> f64| {
            cell.latency_ms.as_ref().map_or_else(|| NONE.to_owned(), |times| number(of(times)))
        };
        let share = |share: Option<f64>| share.map_or_else(|| NONE.to_owned(), percent);
        let busy = share(cell.resources.map(|used| used.server_busy.unwrap_or(used.busy)));
        table.add_row([
            printable(&cell.setting.name()),
            delay(cell.setting.rtt_ms),
            printable(&cell.version_name()),
            printable(&format!("{} {}", measured(cell.mean, cell.ci95), cell.setting.metric.unit)),
            cell.rpcs_per_operation().map_or_else(|| NONE.to_owned(), per_operation),
            time(|times| times.p50),
            time(|times| times.p99),
            number(cell.queue_ms),
            busy,
            share(cell.resources.and_then(|used| used.server_io_wait.or(used.io_wait))),
            share(cell.resources.and_then(|used| used.server_disk_busy.or(used.disk_busy))),
            disk_work(cell, cell.resources.and_then(|used| used.export_disk())),
        ]);
    }
    align_right(&mut table, [1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    finished(&mut table)
}

/// How rates changed within the median run, of experiments whose figure shows it.
fn over_time(results: &Results, style: Style) -> Option<String> {
    let mut table = new_table(style);
    table.set_header([
        "over time",
        "delay",
        "arm",
        "first fifth",
        "last fifth",
        "clients read first",
        "clients read last",
        "unit",
    ]);
    let mut rows = 0;
    let is_shown = |cell: &&Cell| {
        let asked = results.experiments.iter().find(|asked| asked.name == cell.setting.experiment);
        asked.is_some_and(|asked| asked.figure.form == Form::Timeline)
    };
    for cell in results.cells.iter().filter(is_shown) {
        let timeline = cell.median_run().and_then(|run| run.timeline.as_ref());
        let Some(([first, last], timeline)) = timeline.and_then(|own| Some((own.ends()?, own))) else {
            continue;
        };
        let reads =
            timeline.client_read_ends().map_or([NONE, NONE].map(str::to_owned), |ends| ends.map(number));
        let [first_read, last_read] = reads;
        table.add_row([
            printable(&cell.setting.name()),
            delay(cell.setting.rtt_ms),
            printable(&cell.version_name()),
            number(first),
            number(last),
            first_read,
            last_read,
            printable(&cell.setting.metric.unit),
        ]);
        rows += 1;
    }
    align_right(&mut table, [1, 3, 4, 5, 6]);
    (rows > 0).then(|| finished(&mut table))
}

/// Published values, and ours of the same setting.
fn published(results: &Results, style: Style) -> Option<String> {
    let mut table = new_table(style);
    table.set_header(["published for", "delay", "version", "published", "here", "whose"]);
    let mut rows = 0;
    for asked in &results.experiments {
        for mark in &asked.published {
            let ours = mark.ours(&asked.name, results).map_or_else(|| NONE.to_owned(), number);
            table.add_row([
                printable(&named(&asked.name, &mark.levels)),
                delay(mark.rtt_ms),
                printable(&version_name(&mark.version, true)),
                printable(&format!("{} {}", number(mark.value), quantity(&mark.unit, &mark.of))),
                ours,
                printable(&format!("{}: {}", mark.label, mark.difference)),
            ]);
            rows += 1;
        }
    }
    align_right(&mut table, [1, 3, 4]);
    (rows > 0).then(|| finished(&mut table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Timeline;
    use crate::samples;

    #[test]
    fn every_cell_and_every_published_value_has_a_line() {
        let results = samples::results();
        let text = exhibit(&results, Style::Plain);
        let marks: usize = results.experiments.iter().map(|asked| asked.published.len()).sum();
        assert!(marks > 0);
        assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), results.cells.len() + marks + 2);
        let locked =
            text.lines().find(|line| line.starts_with("locked-read ") && line.contains("v3")).unwrap();
        assert!(locked.contains("op/s") && locked.contains(" %"), "{locked}");
    }

    #[test]
    fn rates_over_time_have_a_line_where_the_figure_shows_them() {
        let mut results = samples::results();
        let timeline = Timeline {
            slice_seconds: 1.0,
            values: vec![100.0, 200.0, 300.0],
            clients: vec![vec![100.0, 200.0, 300.0]],
            client_reads: vec![90.0, 50.0, 10.0],
        };
        for run in &mut results.cells[0].run_details {
            run.timeline = Some(timeline.clone());
        }
        assert!(!exhibit(&results, Style::Plain).contains("over time"), "its figure has bars");
        results.experiments[0].figure.form = Form::Timeline;
        let text = exhibit(&results, Style::Plain);
        let line = text.lines().find(|line| line.contains("90.0")).unwrap();
        assert!(line.contains("100") && line.contains("300") && line.contains("10.0"), "{line}");
    }
}
