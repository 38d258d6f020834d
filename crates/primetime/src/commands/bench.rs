//! `primetime bench`: which NFS version to run.
//!
//! Owns the words on the command line and their meaning; measuring, comparing and reporting are the library's.

use std::path::{Path, PathBuf};

use bench::experiment::{self, Plan, Size};
use bench::results::{Results, write_csv};
use bench::runner::{self, Options};
use bench::terminal::{Style, summary};
use bench::{experiment::Experiment, report};
use clap::{Args, Subcommand};

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  primetime bench                                  everything, on a server of its own
  primetime bench --quick                          the same question in 40 seconds
  primetime bench --server nfs://fileserver/export your server (works in a fresh directory, removes it)
  primetime bench --experiment locked-read --rtt-ms 0,5,20
  primetime bench --experiment ./own.toml --runs 10

Exit codes: 0 good, 2 the measurement cannot be trusted, 3 wrong usage or set-up.";

/// Arguments of `primetime bench`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    measure: Measure,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the built-in experiments: what each asks, how long it takes, what it needs
    List,
    /// Write the tables and the page again from the results in a directory, and print the verdict
    Report {
        /// The directory with results.json
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Measure {
    /// The server to measure, nfs://host:port/path (port 2049 unless given); without it the benchmark starts its own on a temporary directory
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    /// Only this experiment: a built-in one (see `bench list`) or a file of one's own; may be given again
    #[arg(long = "experiment", value_name = "NAME|FILE")]
    experiments: Vec<String>,

    /// Fewer experiments, delays and runs: at most 40 seconds
    #[arg(long, conflicts_with = "paper")]
    quick: bool,

    /// The sizes that were published: large files, five minutes for each run
    #[arg(long)]
    paper: bool,

    /// Versions to measure; version 3 is what the others are compared with [default: 3,4.1]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    versions: Vec<String>,

    /// Round-trip delays to add, in milliseconds [default: 0,1,10; with --quick 0,10]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    rtt_ms: Vec<f64>,

    /// Runs of each version in each setting [default: 5; with --quick 3]
    #[arg(long, value_name = "N")]
    runs: Option<u32>,

    /// Clients at the same time, instead of each experiment's own number (5 in most)
    #[arg(long, value_name = "N")]
    clients: Option<u32>,

    /// Measure each version that has delegations also without them
    #[arg(long)]
    without_delegations: bool,

    /// Where results.json, report.html and the CSV files go
    #[arg(long, value_name = "DIR", default_value = "primetime-report")]
    out: PathBuf,

    /// Print results.json instead of the table
    #[arg(long)]
    json: bool,

    /// The seed of every random choice; the same seed gives the same files and the same order of runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Runs `primetime bench` or one of its subcommands.
pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Some(Command::List) => list(),
        Some(Command::Report { directory }) => rewrite(&directory),
        None => measure(arguments.measure),
    }
}

fn measure(measure: Measure) -> Result<(), Failure> {
    let (json, out) = (measure.json, measure.out.clone());
    let options = options(measure)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::set_up(format!("cannot start its threads: {error}")))?;
    let outcome = runtime.block_on(runner::run(options));
    let results = outcome.map_err(|error| {
        if error.is_invalid_run() { Failure::invalid_run(error) } else { Failure::set_up(error) }
    })?;
    if json {
        let text = serde_json::to_string_pretty(&results).map_err(Failure::invalid_run)?;
        return print(&format!("{text}\n"));
    }
    print(&format!(
        "{}\nThe report is {}\n",
        summary(&results, Style::of_stdout()),
        out.join("report.html").display()
    ))
}

fn options(measure: Measure) -> Result<Options, Failure> {
    let serve_command = match measure.server {
        Some(_) => None,
        None => Some(std::env::current_exe().map_err(|error| {
            Failure::set_up(format!("cannot find its own executable to start a server: {error}"))
        })?),
    };
    Ok(Options {
        plan: plan(&measure)?,
        server: measure.server,
        serve_command,
        without_delegations: measure.without_delegations,
        clients: measure.clients,
        out: measure.out,
        seed: measure.seed,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
    })
}

fn plan(measure: &Measure) -> Result<Plan, Failure> {
    let mut plan = if measure.quick { Plan::quick() } else { Plan::standard() };
    if measure.paper {
        plan.size = Size::Paper;
    }
    if !measure.experiments.is_empty() {
        let found: Result<Vec<Experiment>, _> =
            measure.experiments.iter().map(|name| experiment::find(name)).collect();
        plan.experiments = found.map_err(Failure::set_up)?;
    }
    if !measure.versions.is_empty() {
        plan.versions.clone_from(&measure.versions);
    }
    if !measure.rtt_ms.is_empty() {
        plan.delays_ms.clone_from(&measure.rtt_ms);
    }
    plan.runs = measure.runs.unwrap_or(plan.runs);
    Ok(plan)
}

fn list() -> Result<(), Failure> {
    let plan = Plan::standard();
    let runs = f64::from(plan.runs) * plan.delays_ms.len() as f64 * plan.versions.len() as f64;
    let mut text = String::new();
    for experiment in &plan.experiments {
        let setup = experiment.setup(Size::Default);
        let seconds = setup.workload.seconds().unwrap_or_default() * runs;
        let quick = if experiment.quick.is_some() { ", in --quick" } else { "" };
        text.push_str(&format!(
            "{}\n  {}\n  {} clients with {} threads each, {} on the server; about {:.0} s of measuring{quick}\n  after {}\n",
            experiment.name,
            experiment.question,
            setup.clients,
            setup.workload.threads(),
            size(space(setup)),
            seconds,
            experiment.study,
        ));
    }
    print(&text)
}

/// Bytes that an experiment keeps on the server.
fn space(setup: &experiment::Setup) -> u64 {
    use experiment::Workload::{RandomRead, SequentialRead};
    let workload = &setup.workload;
    let sharers = match workload {
        SequentialRead { .. } | RandomRead { .. } => 1,
        _ => u64::from(setup.clients),
    };
    workload.file_bytes().saturating_mul(workload.files().unwrap_or(1)).saturating_mul(sharers)
}

fn size(bytes: u64) -> String {
    match bytes {
        0 => "only names".to_owned(),
        1..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{} MB", bytes.div_ceil(1_000_000)),
    }
}

/// Makes everything that follows from `results.json` again.
fn rewrite(directory: &Path) -> Result<(), Failure> {
    let results = Results::load(&directory.join("results.json")).map_err(Failure::set_up)?;
    write_csv(&results, directory).map_err(Failure::set_up)?;
    let page = directory.join("report.html");
    report::write(&results, &page).map_err(Failure::set_up)?;
    print(&format!("{}\nThe report is {}\n", summary(&results, Style::of_stdout()), page.display()))
}

/// Writes to standard output; a reader that has seen enough is no failure.
fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::set_up(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn planned(words: &str) -> Plan {
        let cli = Cli::try_parse_from(std::iter::once("bench").chain(words.split_whitespace())).unwrap();
        plan(&cli.arguments.measure).unwrap()
    }

    #[test]
    fn without_arguments_everything_is_measured() {
        assert_eq!(planned(""), Plan::standard());
        assert_eq!(planned("--quick"), Plan::quick());
    }

    #[test]
    fn what_is_named_replaces_the_plan() {
        let plan = planned(
            "--experiment create --experiment locked-read --rtt-ms 0,2.5 --runs 4 --versions 3,4.1 --paper",
        );
        let names: Vec<_> = plan.experiments.iter().map(|experiment| experiment.name.as_str()).collect();
        assert_eq!(names, ["create", "locked-read"]);
        assert_eq!((plan.delays_ms, plan.runs, plan.size), (vec![0.0, 2.5], 4, Size::Paper));
    }

    #[test]
    fn an_unknown_experiment_is_answered_with_the_nearest() {
        let cli = Cli::try_parse_from(["bench", "--experiment", "craete"]).unwrap();
        let failure = plan(&cli.arguments.measure).unwrap_err();
        assert!(format!("{failure:?}").contains("did you mean `create`?"), "{failure:?}");
    }

    #[test]
    fn quick_and_paper_exclude_each_other() {
        assert!(Cli::try_parse_from(["bench", "--quick", "--paper"]).is_err());
    }
}
