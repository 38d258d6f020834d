//! `primetime bench report`: everything that follows from results, written again.

use std::path::{Path, PathBuf};

use bench::report;
use bench::results::{Results, write_csv};
use bench::terminal::{Style, summary};
use clap::Args;

use super::print;
use crate::failure::Failure;

/// Arguments of `primetime bench report`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The directory with results.json
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Makes everything that follows from `results.json` again.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let directory: &Path = &arguments.directory;
    let results = Results::load(&directory.join("results.json")).map_err(Failure::set_up)?;
    write_csv(&results, directory).map_err(Failure::set_up)?;
    let page = directory.join("report.html");
    report::write(&results, directory).map_err(Failure::set_up)?;
    print(&format!("{}\nThe report is {}\n", summary(&results, Style::of_stdout()), page.display()))
}
