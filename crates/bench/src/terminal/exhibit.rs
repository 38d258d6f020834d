//! The tables of an exhibit: every cell with the columns that the studies have, and published values beside
//! ours.

use super::Style;
use super::table::{align_right, finished, new_table, printable};
use crate::results::{Cell, Results, named, version_name};
use crate::text::{delay, measured, number, per_operation, percent, quantity};

const NONE: &str = "–";

/// Returns both tables, ending in a newline; the second is left out where nothing was published.
#[must_use]
pub fn exhibit(results: &Results, style: Style) -> String {
    let mut text = cells(&results.cells, style);
    if let Some(published) = published(results, style) {
        text.push_str(&format!("\n\n{published}"));
    }
    text.push('\n');
    text
}

/// Rate, latency, requests, and how busy processors and disk were.
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
        "disk",
    ]);
    for cell in cells {
        let time = |of: fn(&crate::results::Latency) -> f64| {
            cell.latency_ms.as_ref().map_or_else(|| NONE.to_owned(), |times| number(of(times)))
        };
        let busy = cell.resources.map_or_else(|| NONE.to_owned(), |used| percent(used.busy));
        let disk = cell.resources.and_then(|used| used.disk_busy).map_or_else(|| NONE.to_owned(), percent);
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
            disk,
        ]);
    }
    align_right(&mut table, [1, 3, 4, 5, 6, 7, 8, 9]);
    finished(&mut table)
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
}
