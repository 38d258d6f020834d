//! `primetime bench compare`: two servers side by side.

use std::path::Path;

use bench::runner::{ArmSpec, Target};
use clap::Args;

use super::measure::{self, Measure};
use crate::failure::Failure;

/// What to compare.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The baseline: an executable of primetime, which the benchmark starts as a server; or nfs://host/path,
    /// or a directory
    #[arg(value_name = "OLD")]
    old: String,
    /// The candidate, named as OLD
    #[arg(value_name = "NEW")]
    new: String,
    #[command(flatten)]
    measure: Measure,
}

/// Measures both in the same blocks, with this client, and prints what was found.
pub(super) fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { old, new, mut measure } = arguments;
    measure.compare([arm("old", &old)?, arm("new", &new)?]);
    measure::run(measure)
}

/// Returns the arm `name` that `text` means.
fn arm(name: &str, text: &str) -> Result<ArmSpec, Failure> {
    let path = Path::new(text);
    let is_file = path.is_file();
    if !is_file && !path.is_dir() {
        return format!("{name}={text}").parse().map_err(|error| {
            Failure::set_up(format!(
                "`{text}` is neither a file nor an address that can be measured: {error}"
            ))
        });
    }
    let whole =
        path.canonicalize().map_err(|error| Failure::set_up(format!("cannot reach `{text}`: {error}")))?;
    let target = match is_file {
        true => Target::Own { command: Some(whole), flags: Vec::new(), query: String::new() },
        false => Target::Directory(Some(whole)),
    };
    Ok(ArmSpec::new(name, target))
}
