//! The tables of times: percentiles of both arms side by side, and one operation at a time in the columns of
//! fio.

use super::escape::escape;
use super::tables::{cell_key, column_names, table};
use crate::results::{Cell, Comparison, LatencyRatio, Results};
use crate::text::{delay, number, percent, ratio};

const NONE: &str = "–";

/// The ratios of the median and the 99th percentile: "0.98, 1.31"; a dash where they are not known.
pub(crate) fn latency_ratios(comparison: &Comparison) -> String {
    let of = |one: LatencyRatio| ratio(one.ratio, None);
    comparison
        .latency
        .map_or_else(|| NONE.to_owned(), |latency| format!("{}, {}", of(latency.p50), of(latency.p99)))
}

/// The percentiles of every comparison; `None` where no times are known.
pub(super) fn latencies(results: &Results) -> Option<String> {
    let row = |comparison: &Comparison| {
        let latency = comparison.latency?;
        let columns = |one: LatencyRatio| {
            let values = [number(one.baseline_ms), number(one.candidate_ms), ratio(one.ratio, one.ci95)];
            values.map(|value| format!("<td class=\"n\">{}</td>", escape(&value))).concat()
        };
        Some(format!(
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td>{}{}</tr>\n",
            escape(&comparison.name()),
            escape(&delay(comparison.rtt_ms)),
            columns(latency.p50),
            columns(latency.p99)
        ))
    };
    let rows: String = results.comparisons.iter().filter_map(row).collect();
    let names = column_names(&results.comparisons);
    let heads = ["p50, ms", "p99, ms"].map(|of| names.clone().map(|name| format!("{of}: {name}")));
    let [[left, right], [left_99, right_99]] = &heads;
    let heads = ["Experiment", "Delay", left, right, "Ratio [95 %]", left_99, right_99, "Ratio [95 %]"];
    (!rows.is_empty()).then(|| {
        table(
            "latencies",
            "Times of one operation: means of the runs\u{2019} percentiles, and their ratio with the \
             interval of each by itself",
            &heads,
            &rows,
        )
    })
}

/// Whether operations come one after the other, so that each has a time of its own to be split.
pub(super) fn is_one_at_a_time(cell: &Cell) -> bool {
    cell.setting.clients == 1 && cell.setting.threads == 1 && cell.latency_ms.is_some()
}

/// The columns of fio for settings with one operation at a time; `None` without any.
pub(super) fn fio(cells: &[Cell]) -> Option<String> {
    let rows: String = cells.iter().filter(|cell| is_one_at_a_time(cell)).filter_map(fio_row).collect();
    let heads = [
        "Experiment",
        "Delay",
        "Version",
        "IOPS, MB/s",
        "slat, ms",
        "clat, ms",
        "lat, ms",
        "50, 90, 99, 99.9 %, longest, ms",
        "CPU: clients, server",
    ];
    (!rows.is_empty()).then(|| {
        table(
            "fio",
            "One operation at a time, in the columns of fio: slat is the wait of its requests in the client, \
             clat the rest of its time, CPU the time of processors in each second of the median run",
            &heads,
            &rows,
        )
    })
}

fn fio_row(cell: &Cell) -> Option<String> {
    let times = cell.latency_ms?;
    let submission_ms = (cell.queue_ms * cell.rpcs_per_operation().unwrap_or_default()).min(times.mean);
    let each_second =
        |count: f64| if cell.seconds > 0.0 { number(count / cell.seconds) } else { NONE.to_owned() };
    let processor = |seconds: Option<f64>| {
        let share = seconds.filter(|_| cell.seconds > 0.0).map(|seconds| percent(seconds / cell.seconds));
        share.unwrap_or_else(|| NONE.to_owned())
    };
    let percentiles = [times.p50, times.p90, times.p99, times.p999, times.max].map(number);
    let used = cell.resources;
    Some(format!(
        "<tr>{}<td class=\"n\">{}, {}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
         <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}, {}</td></tr>\n",
        cell_key(cell),
        each_second(cell.operations as f64),
        each_second(cell.application_bytes as f64 / 1e6),
        number(submission_ms),
        number(times.mean - submission_ms),
        number(times.mean),
        percentiles.join(", "),
        processor(used.map(|used| used.client_seconds)),
        processor(used.and_then(|used| used.server_seconds))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Latency;
    use crate::samples;

    #[test]
    fn percentiles_of_every_comparison_stand_side_by_side() {
        let results = samples::results();
        let text = latencies(&results).unwrap();
        assert_eq!(text.matches("<tr><th scope=\"row\"").count(), results.comparisons.len());
        assert!(text.contains("p99, ms: v4.1"), "{text}");
        let latency = results.comparisons[0].latency.unwrap();
        for value in [latency.p50.baseline_ms, latency.p99.candidate_ms] {
            assert!(text.contains(&format!("<td class=\"n\">{}</td>", number(value))), "{value}");
        }
        assert!(latency_ratios(&results.comparisons[0]).contains(", "));
        let mut without = results;
        without.comparisons.iter_mut().for_each(|comparison| comparison.latency = None);
        assert_eq!((latencies(&without), latency_ratios(&without.comparisons[0])), (None, NONE.to_owned()));
    }

    #[test]
    fn submission_and_completion_are_all_of_the_time() {
        let mut cell = samples::results().cells.remove(0);
        assert_eq!(fio(std::slice::from_ref(&cell)), None, "five clients have operations at the same time");
        (cell.setting.clients, cell.setting.threads) = (1, 1);
        (cell.operations, cell.rpcs_total, cell.queue_ms, cell.seconds) = (1000, 2000, 0.05, 2.0);
        (cell.application_bytes, cell.latency_ms) =
            (4_000_000, Some(Latency { mean: 0.4, p50: 0.3, ..Latency::default() }));
        let text = fio(std::slice::from_ref(&cell)).unwrap();
        let columns = "<td class=\"n\">500, 2.00</td><td class=\"n\">0.100</td><td class=\"n\">0.300</td>\
                       <td class=\"n\">0.400</td><td class=\"n\">0.300, 0, 0, 0, 0</td>\
                       <td class=\"n\">10 %, 5 %</td>";
        assert!(text.contains(columns), "{text}");
        cell.seconds = 0.0;
        assert!(fio(&[cell]).unwrap().contains("<td class=\"n\">–, –</td>"), "a window of no length");
    }
}
