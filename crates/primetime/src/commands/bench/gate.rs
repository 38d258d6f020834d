//! `primetime bench gate`: whether results are as good as they were, for continuous integration.

use std::path::PathBuf;

use bench::gate::{Limits, Report, RequestLimit, against_baseline, request_limits};
use bench::share::parse_share;
use clap::Args;

use super::{load, print};
use crate::failure::Failure;

const EXAMPLES: &str = "\
A speed fails only when it is lower than what is allowed and than what repeats of the baseline show by chance:
name the baseline with two repeats or more, or the speed is not judged. Requests for each operation that are \
the
same in every run of the first baseline are exact: one more fails. Where they vary, the interval of their sum
counts. What the baseline has and the results lack fails.

Examples:
  primetime bench gate --baseline before-1 --baseline before-2 --baseline before-3 primetime-report
  primetime bench gate --baseline before.json --counts-only primetime-report     on another machine
  primetime bench gate --max-requests locked-read:4.1=0.4 primetime-report       without a baseline

Exit codes: 0 all gates held, 1 a gate failed, 3 wrong usage, or something that is no result.";

/// Arguments of `primetime bench gate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// What is judged: a directory with results.json, or the file
    #[arg(value_name = "RESULTS")]
    results: PathBuf,

    /// What it is held against: a directory with results.json, or the file; given again, repeats of it, which
    /// tell how far the speed moves by chance
    #[arg(long, value_name = "FILE", required_unless_present = "max_requests")]
    baseline: Vec<PathBuf>,

    /// How much of its speed a setting may lose
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = parse_share)]
    max_slowdown: f64,

    /// How many more requests of one kind are allowed, of all requests of the baseline
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = parse_share)]
    count_tolerance: f64,

    /// Judge only what never varies, not the speed: for a baseline of another machine
    #[arg(long)]
    counts_only: bool,

    /// The most requests for each operation of an experiment over a version, at every delay; may be given
    /// again
    #[arg(long, value_name = "EXPERIMENT:VERSION=N")]
    max_requests: Vec<RequestLimit>,
}

/// Judges, prints a sentence for each gate that failed, and fails when there is one.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let results = load(&arguments.results)?;
    let mut report = request_limits(&results, &arguments.max_requests);
    if !arguments.baseline.is_empty() {
        let limits = Limits {
            max_slowdown: arguments.max_slowdown,
            count_tolerance: arguments.count_tolerance,
            counts_only: arguments.counts_only,
        };
        let baselines: Vec<_> = arguments.baseline.iter().map(|path| load(path)).collect::<Result<_, _>>()?;
        report = report.and(against_baseline(&baselines, &results, &limits));
    }
    print(&text(&report))?;
    if report.failed.is_empty() { Ok(()) } else { Err(Failure::told()) }
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    let parts =
        [("FAILED", &report.failed), ("improved", &report.improved), ("not judged", &report.not_judged)];
    for (word, sentences) in parts {
        for sentence in sentences {
            text.push_str(&format!("{word}: {sentence}\n"));
        }
    }
    text.push_str(&format!("{} gates held, {} failed\n", report.passed, report.failed.len()));
    text.chars().filter(|character| *character == '\n' || !character.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_has_a_line_and_the_numbers_come_last() {
        let report = Report {
            passed: 3,
            failed: vec!["a\u{1b}[31m.".to_owned()],
            improved: vec!["b.".to_owned()],
            not_judged: vec!["c.".to_owned()],
        };
        assert_eq!(text(&report), "FAILED: a[31m.\nimproved: b.\nnot judged: c.\n3 gates held, 1 failed\n");
    }
}
