//! `primetime bench diff`: two results, setting by setting.

use std::path::PathBuf;

use bench::diff::diff;
use bench::terminal::{Style, difference};
use clap::Args;

use super::{load, print};
use crate::failure::Failure;

const EXAMPLES: &str = "\
The words and the ratio are about B: `faster` says that B is faster than A. Runs of different documents were not made in
pairs, so smaller differences stay unclear than within one benchmark.

Examples:
  primetime bench --server nfs://old/export --out old
  primetime bench --server nfs://new/export --out new
  primetime bench diff old new

Exit codes: 0 good, whatever they say; 3 wrong usage, or something that is no result.";

/// Arguments of `primetime bench diff`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The first: a directory with results.json, or the file
    #[arg(value_name = "A")]
    first: PathBuf,

    /// The second
    #[arg(value_name = "B")]
    second: PathBuf,

    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// Compares two results, and prints the table and what only one of them has.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (first, second) = (load(&arguments.first)?, load(&arguments.second)?);
    let found = diff(&first, &second);
    if arguments.json {
        let text = serde_json::to_string_pretty(&found).map_err(Failure::set_up)?;
        return print(&format!("{text}\n"));
    }
    let names = [&arguments.first, &arguments.second].map(|path| path.display().to_string());
    print(&difference(&found, [&names[0], &names[1]], Style::of_stdout()))
}
