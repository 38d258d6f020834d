//! The table that is printed.

use bench::statistics::{LogRatio, paired_ratio};

use crate::Measured;
use crate::rows::{Durability, Rate, Row};
use crate::target::Target;

pub const VERSIONS: [&str; 2] = ["3", "4.1"];

pub struct Table {
    others: Vec<&'static str>,
    /// Of each other target, whether its replies to CREATE promise as much as ours.
    are_durable: Vec<bool>,
    /// What requests took of the servers' processors, to be printed at the end.
    processor: Vec<String>,
}

impl Table {
    /// Prints the head. The first of the targets is ours.
    pub fn new(targets: &[Target]) -> Self {
        let others: Vec<_> = targets[1..].iter().map(|target| target.name).collect();
        let are_durable = targets[1..].iter().map(|target| target.asynchronous.is_some()).collect();
        let columns: String = others.iter().map(|name| format!(" {name} | ours ÷ it |")).collect();
        println!("| row | version | primetime |{columns} limits, and ours ÷ them |");
        println!("|---|---|---|{}---|", "---|---|".repeat(others.len()));
        Self { others, are_durable, processor: Vec::new() }
    }

    /// Prints what a request takes of each server's processor, in user space and in the kernel.
    pub fn print_processor(&self) {
        let columns: String = self.others.iter().map(|name| format!(" {name} |")).collect();
        println!(
            "\n| a request takes | version | primetime |{columns}\n|---|---|---|{}",
            "---|".repeat(self.others.len())
        );
        self.processor.iter().for_each(|line| println!("{line}"));
    }

    pub fn print(&mut self, row: &Row, measured: &Measured) {
        let unit = if row.megabytes_each().is_some() { "MB/s" } else { "/s" };
        let title = format!("{} {}×{}", row.name, row.connections, row.in_flight);
        for (version, name) in VERSIONS.into_iter().enumerate() {
            let runs = || measured.targets.iter().map(|target| &target[version][..]);
            self.processor.push(format!("| {title} | {name} |{}", runs().map(processor).collect::<String>()));
            let ours = &per_second(&measured.targets[0][version]);
            let mut line = format!("| {title} | {name} | {} {unit} |", rate(ours));
            for (other, is_durable) in runs().skip(1).zip(&self.are_durable) {
                let other = &per_second(other);
                let is_weaker = row.durability == Durability::OursSynced && !is_durable;
                let note = if is_weaker { " not synced" } else { "" };
                line += &format!(" {} {unit}{note} | {} |", rate(other), ratio(other, ours));
            }
            let limits = row.limits.iter().zip(&measured.limits);
            let limits: Vec<_> = limits
                .map(|(limit, rates)| {
                    format!("{} {} {unit}: {}", limit.name(), rate(rates), ratio(rates, ours))
                })
                .collect();
            println!("{line} {} |", limits.join("; "));
        }
        let [v3, v4] = &measured.targets[0].each_ref().map(|runs| per_second(runs));
        let empty = " |".repeat(2 * self.others.len());
        println!("| | 4.1 ÷ 3 | {} |{empty} |", ratio(v3, v4));
    }
}

fn per_second(runs: &[Rate]) -> Vec<f64> {
    runs.iter().map(|run| run.per_second).collect()
}

/// The mean of the runs, where the server's process can be seen.
fn processor(runs: &[Rate]) -> String {
    let all: Option<Vec<f64>> = runs.iter().map(|run| run.processor_us).collect();
    all.map_or_else(
        || " – |".to_owned(),
        |all| format!(" {:.1} µs |", all.iter().sum::<f64>() / all.len() as f64),
    )
}

pub fn rate(rates: &[f64]) -> String {
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let digits = format!("{mean:.0}");
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
pub fn ratio(baseline: &[f64], candidate: &[f64]) -> String {
    let pairs: Vec<_> = baseline.iter().copied().zip(candidate.iter().copied()).collect();
    let text = |ratio: &LogRatio| match ratio.interval() {
        Some(interval) => format!("{:.2} [{:.2}, {:.2}]", ratio.ratio(), interval.low, interval.high),
        None => format!("{:.2}", ratio.ratio()),
    };
    paired_ratio(&pairs).as_ref().map_or_else(|| "–".into(), text)
}
