//! `primetime bench diff`: two results, setting by setting.

use std::path::PathBuf;

use bench::diff::diff;
use bench::terminal::{Style, difference};
use clap::Args;

use super::{load, print};
use crate::failure::Failure;

const EXAMPLES: &str = "\
The words and the ratio are about B: `faster` says that B is faster than A. A machine's speed moves between \
two
benchmarks by more than one of them can tell, so each result counts as one value: with one result of each side
nothing is decided, and with two or three only large differences are. What is measured side by side in one
benchmark is compared far more sharply.

Examples:
  primetime bench diff old new                                              the numbers, without a verdict
  primetime bench diff --before old-1 old-2 old-3 --after new-1 new-2 new-3

Exit codes: 0 good, whatever they say; 3 wrong usage, or something that is no result.";

/// Arguments of `primetime bench diff`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The first: a directory with results.json, or the file
    #[arg(
        value_name = "A",
        required_unless_present = "before",
        requires = "second",
        conflicts_with = "before"
    )]
    first: Option<PathBuf>,

    /// The second
    #[arg(value_name = "B")]
    second: Option<PathBuf>,

    /// Results of the first side, measured again and again
    #[arg(long, value_name = "A", num_args = 1.., requires = "after")]
    before: Vec<PathBuf>,

    /// Results of the second side
    #[arg(long, value_name = "B", num_args = 1.., requires = "before")]
    after: Vec<PathBuf>,

    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// Compares two results, and prints the table and what only one of them has.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let before: Vec<&PathBuf> = arguments.first.iter().chain(&arguments.before).collect();
    let after: Vec<&PathBuf> = arguments.second.iter().chain(&arguments.after).collect();
    let all = |paths: &[&PathBuf]| paths.iter().map(|path| load(path)).collect::<Result<Vec<_>, _>>();
    let found = diff(&all(&before)?, &all(&after)?);
    if arguments.json {
        let text = serde_json::to_string_pretty(&found).map_err(Failure::set_up)?;
        return print(&format!("{text}\n"));
    }
    let name = |paths: &[&PathBuf], side: &str| match paths {
        [only] => only.display().to_string(),
        _ => side.to_owned(),
    };
    let names = [name(&before, "before"), name(&after, "after")];
    print(&difference(&found, [&names[0], &names[1]], Style::of_stdout()))
}
