//! The cures within TCP beside the card as it is: runs with a split, the ratio of flows, and their cost.
//!
//! Owns pure functions over the document.

use super::document::{HashCast, Measurement};
use super::options::{BBR, CLAMPED_WINDOW, VEGAS};
use crate::statistics::percentile;
use crate::text::{list, number, percent};

/// The scenario that the cures are compared with.
const PLAIN: &str = "card";

/// The heads of the table.
pub(super) const HEADS: [&str; 7] =
    ["workload", "TCP", "runs split", "best ÷ worst", "all, Mbit/s", "÷ plain", "published"];

/// The published value of a scenario (Chen et al., SIGMETRICS 2015).
fn published(scenario: &str) -> &'static str {
    match scenario {
        PLAIN => "split",
        VEGAS => "cured",
        CLAMPED_WINDOW => "cured with cwnd at most 64",
        _ => "–",
    }
}

/// Whether a scenario is a cure within TCP.
pub(super) fn is_cure(measurement: &Measurement) -> bool {
    [VEGAS, BBR, CLAMPED_WINDOW].contains(&measurement.scenario.as_str())
}

/// Returns a row for the card and each cure of each workload; none when no cure was measured.
pub(super) fn rows(document: &HashCast) -> Vec<[String; 7]> {
    let cures = || document.measurements.iter().filter(|measurement| is_cure(measurement));
    let is_shown = |measurement: &&Measurement| {
        let has_cures = cures().any(|cure| cure.workload == measurement.workload);
        is_cure(measurement) || (measurement.scenario == PLAIN && has_cures)
    };
    document.measurements.iter().filter(is_shown).map(|measurement| row(document, measurement)).collect()
}

fn row(document: &HashCast, measurement: &Measurement) -> [String; 7] {
    let plain = document.measurement(&measurement.workload, PLAIN);
    let share = plain.filter(|_| is_cure(measurement)).and_then(|plain| share_of(measurement, plain));
    [
        measurement.workload.clone(),
        label(measurement),
        format!("{} of {}", splits(measurement), measurement.runs.len()),
        ratio(measurement).map_or_else(|| "∞".to_owned(), number),
        number(measurement.total() * 8.0 / 1e6),
        share.map_or_else(|| "–".to_owned(), percent),
        published(&measurement.scenario).to_owned(),
    ]
}

/// How the settings of TCP are named.
fn label(measurement: &Measurement) -> String {
    let control = measurement.congestion_control.as_deref().unwrap_or("the kernel\u{2019}s");
    match measurement.window_clamp_bytes {
        Some(bytes) => format!("{control}, window ≤ {bytes}"),
        None => control.to_owned(),
    }
}

/// Returns how many runs had winners and losers.
fn splits(measurement: &Measurement) -> usize {
    measurement.runs.iter().filter(|run| run.groups.len() > 1).count()
}

/// Returns the median over the runs of the fastest flow ÷ the slowest; `None` when the slowest got nothing in
/// most of them.
fn ratio(measurement: &Measurement) -> Option<f64> {
    let ratios: Vec<f64> =
        measurement.runs.iter().map(|run| run.max_min_ratio.unwrap_or(f64::INFINITY)).collect();
    percentile(&ratios, 50.0).filter(|ratio| ratio.is_finite())
}

/// Returns the median over the runs of the total ÷ that of the same run on the card as it is.
fn share_of(measurement: &Measurement, plain: &Measurement) -> Option<f64> {
    let pairs = measurement.runs.iter().zip(&plain.runs);
    let shares: Vec<f64> = pairs
        .filter(|(_, plain)| plain.total_bytes_per_second > 0.0)
        .map(|(cure, plain)| cure.total_bytes_per_second / plain.total_bytes_per_second)
        .collect();
    percentile(&shares, 50.0)
}

/// Returns a sentence about the cures of a workload; `None` when none was measured.
pub(super) fn sentence(document: &HashCast, workload: &str) -> Option<String> {
    let plain = document.measurement(workload, PLAIN)?;
    let of_workload = |measurement: &&Measurement| measurement.workload == workload && is_cure(measurement);
    let cures: Vec<String> = document
        .measurements
        .iter()
        .filter(of_workload)
        .map(|cure| {
            let share = share_of(cure, plain)
                .map_or_else(String::new, |share| format!(" at {} of the total throughput", percent(share)));
            format!("{} with {}{share}", splits(cure), name(cure))
        })
        .collect();
    if cures.is_empty() {
        return None;
    }
    let runs = plain.runs.len();
    Some(format!("Of {runs} runs {} had a split as it is, {}.", splits(plain), list(&cures)))
}

fn name(cure: &Measurement) -> &str {
    match cure.scenario.as_str() {
        VEGAS => "Vegas",
        BBR => "BBR",
        _ => "clamped windows",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_cast::samples;

    #[test]
    fn every_cure_stands_beside_the_card_as_it_is() {
        let document = samples::document();
        let rows = rows(&document);
        let tcp: Vec<&[String; 7]> = rows.iter().filter(|row| row[0] == "tcp").collect();
        assert_eq!(rows.len(), 6);
        let column = |column: usize| tcp.iter().map(|row| row[column].as_str()).collect::<Vec<_>>();
        assert_eq!(column(1), ["cubic", "bbr", "cubic, window ≤ 31250"]);
        assert_eq!(column(2), ["3 of 3", "3 of 3", "0 of 3"]);
        assert_eq!(column(5), ["–", "100 %", "100.0 %"]);
        assert_eq!(column(6), ["split", "–", "cured with cwnd at most 64"]);
        let sentence = sentence(&document, "tcp").unwrap();
        assert!(sentence.starts_with("Of 3 runs 3 had a split as it is, 3 with BBR at 100 %"), "{sentence}");
    }

    #[test]
    fn without_cures_there_is_no_table_of_them() {
        let mut document = samples::document();
        document.measurements.retain(|measurement| !is_cure(measurement));
        assert!(rows(&document).is_empty());
        assert_eq!(sentence(&document, "tcp"), None);
    }

    #[test]
    fn flow_that_got_nothing_has_no_ratio() {
        let mut document = samples::document();
        for run in &mut document.measurements[1].runs {
            run.max_min_ratio = None;
        }
        assert_eq!(rows(&document)[1][3], "∞");
    }
}
