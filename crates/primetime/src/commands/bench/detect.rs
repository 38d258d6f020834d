//! `primetime bench detect`: whether there is a difference of a given size, with an exit code.

use bench::results::Results;
use bench::share::parse_share;
use bench::statistics::Outcome;
use clap::Args;

use super::measure::{self, Measure};
use crate::failure::Failure;

const EXAMPLES: &str = "\
The first twelve blocks of runs show the spread. From it follow the number of runs and the time after which a
difference of that size is found with a chance of 95 %, and they are printed. --time bounds the time.

Examples:
  primetime bench detect 5% --experiment create --rtt-ms 0
  primetime bench detect 5% --arm old='builtin?exe=./old' --arm new=builtin --experiment locked-read
  primetime bench detect 3% --server nfs://fileserver/export --versions 3,4.2

Exit codes: 0 nothing is slower by that much, 1 something is slower, 2 not decided, or the measurement
cannot be trusted, 3 wrong usage or set-up.";

/// What to search for.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The size of the difference, such as 5%
    #[arg(value_name = "PERCENT", value_parser = parse_share)]
    size: f64,
    #[command(flatten)]
    measure: Measure,
}

/// Measures until a difference of that size would have been found, prints what was found, and fails when
/// something is slower.
pub(super) fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { size, mut measure } = arguments;
    measure.detect(size);
    judge(&measure::measured(measure)?)
}

fn judge(results: &Results) -> Result<(), Failure> {
    let count = |outcome: Outcome| results.comparisons.iter().filter(|one| one.verdict == outcome).count();
    let all = results.comparisons.len();
    match (count(Outcome::Slower), count(Outcome::Unclear)) {
        (0, 0) if all > 0 => Ok(()),
        (0, 0) => Err(Failure::invalid_run("nothing was compared; name two versions or arms")),
        (0, open) => Err(Failure::invalid_run(format!(
            "{open} of {all} comparisons were not decided; give it more time, or fewer experiments"
        ))),
        (slower, _) => Err(Failure::refused(format!("{slower} of {all} comparisons are slower"))),
    }
}
