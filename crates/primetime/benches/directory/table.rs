//! The tables that are printed.

use bench::statistics::{LogRatio, paired_ratio};

use crate::listing::{Listed, VERSIONS};
use crate::lookups::Waits;
use crate::options::Options;
use crate::{Lookups, Measured, Memory};

pub fn print(options: &Options, measured: &Measured) {
    print_listings(options, measured);
    print_lookups(measured);
    print_memory(measured);
}

fn print_listings(options: &Options, measured: &Measured) {
    let seconds = |runs: &[Listed]| runs.iter().map(|run| run.seconds).collect::<Vec<_>>();
    let processor = |runs: &[Listed]| runs.iter().map(|run| run.processor_seconds).collect::<Vec<_>>();
    let rate = |runs: &[Listed]| grouped(options.entries as f64 * mean(runs.iter().map(|r| 1.0 / r.seconds)));
    println!(
        "| listing | version | entries | time ÷ local | processor's time ÷ local | requests | of the time, \
         the reader's own |"
    );
    println!("|---|---|---|---|---|---|---|");
    let local = &measured.local;
    println!("| local readdir and statx | | {} /s | | | | |", rate(local));
    let line = |title: &str, version: usize, runs: &[Listed]| {
        let reader = mean(runs.iter().map(|run| run.reader_seconds / run.seconds)) * 100.0;
        let (rate, time) = (rate(runs), ratio(&seconds(local), &seconds(runs)));
        let processor = ratio(&processor(local), &processor(runs));
        let requests = grouped(mean(runs.iter().map(|run| run.requests as f64)));
        let version = VERSIONS[version];
        println!("| {title} | {version} | {rate} /s | {time} | {processor} | {requests} | {reader:.0} % |");
    };
    for version in 0..VERSIONS.len() {
        let [cold, warm] = &measured.ours[version];
        line("primetime, just started", version, cold);
        line("primetime, again", version, warm);
        if !measured.ganesha[version].is_empty() {
            line("NFS-Ganesha", version, &measured.ganesha[version]);
        }
    }
}

fn print_lookups(measured: &Measured) {
    println!("\n| LOOKUP | version | median | 99th percentile | 99th ÷ alone | in a round |");
    println!("|---|---|---|---|---|---|");
    for (lookups, version) in measured.lookups.iter().zip(VERSIONS) {
        let Lookups { alone, beside_local, beside_listing, echo_alone, echo_beside_listing } = lookups;
        let slowest = |runs: &[Waits]| runs.iter().map(|run| run.percentile_99_us).collect::<Vec<_>>();
        for (title, alone, runs) in [
            ("alone", alone, alone),
            ("beside a local listing", alone, beside_local),
            ("beside a listing", alone, beside_listing),
            ("echo with stat(2), alone", echo_alone, echo_alone),
            ("echo beside a listing", echo_alone, echo_beside_listing),
        ] {
            println!(
                "| {title} | {version} | {:.0} µs | {:.0} µs | {} | {} |",
                mean(runs.iter().map(|run| run.median_us)),
                mean(slowest(runs).into_iter()),
                ratio(&slowest(alone), &slowest(runs)),
                grouped(mean(runs.iter().map(|run| run.count as f64))),
            );
        }
    }
}

fn print_memory(measured: &Measured) {
    println!("\n| server | resident before | after two listings | descriptors then |\n|---|---|---|---|");
    for (runs, version) in measured.memory.iter().zip(VERSIONS) {
        let of = |field: fn(&Memory) -> f64| mean(runs.iter().map(field));
        println!(
            "| primetime, {version} | {:.1} MB | {:.1} MB | {:.0} |",
            of(|run| run.before_bytes as f64) / 1e6,
            of(|run| run.after_bytes as f64) / 1e6,
            of(|run| run.descriptors_after as f64)
        );
    }
}

pub fn print_ganesha_memory(idle_bytes: u64, after_bytes: u64) {
    println!("| NFS-Ganesha | {:.1} MB | {:.1} MB | |", idle_bytes as f64 / 1e6, after_bytes as f64 / 1e6);
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// candidate ÷ baseline, of the runs of the same rounds.
fn ratio(baseline: &[f64], candidate: &[f64]) -> String {
    let pairs: Vec<_> = baseline.iter().copied().zip(candidate.iter().copied()).collect();
    let text = |ratio: &LogRatio| match ratio.interval() {
        Some(interval) => format!("{:.2} [{:.2}, {:.2}]", ratio.ratio(), interval.low, interval.high),
        None => format!("{:.2}", ratio.ratio()),
    };
    paired_ratio(&pairs).as_ref().map_or_else(|| "–".into(), text)
}
