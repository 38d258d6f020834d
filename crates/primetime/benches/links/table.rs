//! The table that is printed.

use bench::statistics::{LogRatio, jain_index, paired_ratio};

use crate::window::{Direction, Run};
use crate::{CROWDS, Measured, VERSIONS};

pub struct Table;

impl Table {
    /// Prints the head.
    pub fn new() -> Self {
        let [_, many] = CROWDS;
        println!(
            "| round trip | | version | one client | one TCP stream | client ÷ stream | requests per MB | \
             {many} clients | {many} streams | clients ÷ streams | Jain of clients (least) | Jain of streams \
             (least) |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
        Self
    }

    pub fn print(&self, round_trip_ms: f64, direction: Direction, measured: &Measured) {
        let what = match direction {
            Direction::ToClient => "read",
            Direction::ToServer => "write",
        };
        let [[stream, alone @ ..], [streams, crowds @ ..]] = measured;
        for ((version, alone), crowd) in VERSIONS.into_iter().zip(alone).zip(crowds) {
            println!(
                "| {round_trip_ms} ms | {what} | {version} | {} MB/s | {} MB/s | {} | {:.2} | {} MB/s | {} \
                 MB/s | {} | {} | {} |",
                mean(&rates(alone)),
                mean(&rates(stream)),
                ratio(stream, alone),
                alone.iter().map(|run| run.requests_per_megabyte).sum::<f64>() / alone.len() as f64,
                mean(&rates(crowd)),
                mean(&rates(streams)),
                ratio(streams, crowd),
                evenness(crowd),
                evenness(streams),
            );
        }
    }
}

fn rates(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.megabytes_per_second).collect()
}

fn mean(rates: &[f64]) -> String {
    format!("{:.1}", rates.iter().sum::<f64>() / rates.len() as f64)
}

/// candidate ÷ baseline, of the runs of the same rounds.
fn ratio(baseline: &[Run], candidate: &[Run]) -> String {
    let pairs: Vec<_> = rates(baseline).into_iter().zip(rates(candidate)).collect();
    let text = |ratio: &LogRatio| match ratio.interval() {
        Some(interval) => format!("{:.3} [{:.3}, {:.3}]", ratio.ratio(), interval.low, interval.high),
        None => format!("{:.3}", ratio.ratio()),
    };
    paired_ratio(&pairs).as_ref().map_or_else(|| "–".into(), text)
}

/// The mean of Jain's index over the runs, and the least.
fn evenness(runs: &[Run]) -> String {
    let indices: Vec<f64> = runs.iter().map(|run| jain_index(&run.shares).expect("shares")).collect();
    let mean = indices.iter().sum::<f64>() / indices.len() as f64;
    let least = indices.iter().copied().fold(1.0, f64::min);
    format!("{mean:.4} ({least:.4})")
}
