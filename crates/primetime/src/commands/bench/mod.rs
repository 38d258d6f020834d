//! `primetime bench`: which NFS version to run.
//!
//! Owns the words on the command line and their meaning; measuring, comparing and reporting are the
//! library's. Each subcommand is a file.

mod agent;
mod compare;
mod detect;
mod diff;
mod failover_gap;
mod gate;
mod hash_cast;
mod list;
mod measure;
mod merge;
mod report;
mod study;

use std::path::{Path, PathBuf};

use bench::results::Results;
use clap::{Args, Subcommand};
use tokio::runtime::Runtime;

use crate::failure::Failure;
use measure::Measure;

const EXAMPLES: &str = "\
Examples:
  primetime bench                                  everything, on a server of its own
  primetime bench --quick                          the same question in 40 seconds
  primetime bench --server nfs://fileserver/export your server (works in a fresh directory, removes it)
  primetime bench --live                           with a view of what happens meanwhile
  primetime bench --all --quick                    every experiment of `bench list`, in its smallest size
  primetime bench --experiment locked-read --rtt-ms 0,5,20
  primetime bench --experiment ./own.toml --runs 10
  primetime bench --client fuse --quick            the same through a mount, with system calls
  primetime bench --client path=/srv --quick       what the disk does without NFS
  primetime bench --server nfs://fileserver/export --hosts node1,node2      clients on other machines, by ssh
  primetime bench compare ./primetime-old ./primetime-new                  two servers of ours, side by side
  primetime bench --arm sync=builtin --arm async='builtin?serve=--async'   one option of the server, both ways
  primetime bench detect 5% --experiment create    is something slower? with an exit code
  primetime bench study login-figure-1             a published figure, measured again
  primetime bench --guests 5 --experiment locked-read                      five Linux kernels as clients
  primetime bench hash-cast --quick                winners and losers behind a card with several queues
  primetime bench merge all ours=out knfsd=other   two servers in one report

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
    /// Show why a card with several transmit queues serves some clients better than others, and what cures it
    HashCast(hash_cast::Arguments),
    /// Show how long clients of a server stand still while it is restarted or moved
    FailoverGap(failover_gap::Arguments),
    /// Carry out the part of this machine's clients in a benchmark that another machine runs (`primetime
    /// bench --hosts`)
    Agent(agent::Arguments),
    /// Measure a figure or a table of the studies again, and show it beside what was published
    Study(study::Arguments),
    /// Show the built-in experiments: what each asks, how long it takes, what it needs
    List,
    /// Write the tables and the page again from the results in a directory, and print the verdict
    Report(report::Arguments),
    /// Put several results into one report, in which every figure shows each of them: several servers,
    /// several clients
    Merge(merge::Arguments),
    /// Measure two servers side by side: before and after, an older executable and this one, two addresses
    Compare(compare::Arguments),
    /// Search for a difference of a given size: says how long that takes, and ends with an exit code
    Detect(detect::Arguments),
    /// Compare two results setting by setting: two servers, two dates, two set-ups
    Diff(diff::Arguments),
    /// Fail when results are worse than a baseline: slower for certain, or with more requests
    Gate(gate::Arguments),
}

/// Runs `primetime bench` or one of its subcommands.
pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Some(Command::FailoverGap(arguments)) => failover_gap::run(arguments),
        Some(Command::HashCast(arguments)) => hash_cast::run(arguments),
        Some(Command::Agent(arguments)) => agent::run(&arguments),
        Some(Command::Study(arguments)) => study::run(&arguments),
        Some(Command::List) => list::run(),
        Some(Command::Report(arguments)) => report::run(&arguments),
        Some(Command::Merge(arguments)) => merge::run(&arguments),
        Some(Command::Compare(arguments)) => compare::run(arguments),
        Some(Command::Detect(arguments)) => detect::run(arguments),
        Some(Command::Diff(arguments)) => diff::run(&arguments),
        Some(Command::Gate(arguments)) => gate::run(&arguments),
        None => measure::run(arguments.measure),
    }
}

/// The threads of a command.
fn runtime() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| Failure::set_up(format!("cannot start its threads: {error}")))
}

/// This program, to start a server.
fn own_executable() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::set_up(format!("cannot find its own executable to start a server: {error}"))
    })
}

/// The command with its arguments, for the record.
fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Reads results: those in a directory, or a file.
fn load(path: &Path) -> Result<Results, Failure> {
    let file = if path.is_dir() { path.join("results.json") } else { path.to_owned() };
    Results::load(&file).map_err(Failure::set_up)
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
