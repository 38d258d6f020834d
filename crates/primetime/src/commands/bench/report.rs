//! `primetime bench report`: everything that follows from results, written again.

use std::path::{Path, PathBuf};

use bench::explain::{self, Profile};
use bench::push::{Gateway, push};
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

    /// Judge by this profile instead of the one that was measured with: a name or weights, as of `bench
    /// --profile`
    #[arg(long, value_name = "NAME|WEIGHTS", value_parser = Profile::parse)]
    profile: Option<Profile>,

    /// Also push the results to a Prometheus Pushgateway, http://host:9091 or with a path /metrics/job/NAME
    #[arg(long, value_name = "URL")]
    push: Option<Gateway>,
}

/// Makes everything that follows from `results.json` again.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let directory: &Path = &arguments.directory;
    let path = directory.join("results.json");
    let mut results = Results::load(&path).map_err(Failure::set_up)?;
    if let Some(profile) = &arguments.profile {
        results.verdict = explain::recommend(
            &results.comparisons,
            &results.cells,
            profile,
            results.environment.same_within,
        );
        results.save(&path).map_err(Failure::set_up)?;
    }
    write_csv(&results, directory).map_err(Failure::set_up)?;
    let page = directory.join("report.html");
    report::write(&results, directory).map_err(Failure::set_up)?;
    print(&format!("{}\nThe report is {}\n", summary(&results, Style::of_stdout()), page.display()))?;
    let Some(gateway) = &arguments.push else { return Ok(()) };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::set_up(format!("cannot start to push: {error}")))?;
    runtime.block_on(push(&results, gateway)).map_err(Failure::refused)
}
