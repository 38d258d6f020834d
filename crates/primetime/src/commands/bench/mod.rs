//! `primetime bench`: which NFS version to run.
//!
//! Owns the words on the command line and their meaning; measuring, comparing and reporting are the library's. Each
//! subcommand is a file.

mod list;
mod measure;
mod report;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use measure::Measure;

const EXAMPLES: &str = "\
Examples:
  primetime bench                                  everything, on a server of its own
  primetime bench --quick                          the same question in 40 seconds
  primetime bench --server nfs://fileserver/export your server (works in a fresh directory, removes it)
  primetime bench --all --quick                    every experiment of `bench list`, in its smallest size
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
    Report(report::Arguments),
}

/// Runs `primetime bench` or one of its subcommands.
pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Some(Command::List) => list::run(),
        Some(Command::Report(arguments)) => report::run(&arguments),
        None => measure::run(arguments.measure),
    }
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
