//! The `primetime` command: arguments in, exit code out. What the subcommands do lives in the libraries.
//!
//! Exit codes: 0 good, 1 a gate failed, 2 an invalid run, 3 usage or set-up.

#![forbid(unsafe_code)]

mod commands;
mod failure;
mod log;
mod service_manager;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Is NFSv4.1 ready for prime time on your server, your network, your workload?
#[derive(Debug, Parser)]
#[command(name = "primetime", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare NFS versions on the same server, with the same workloads, over the same network
    Bench(commands::bench::Arguments),
    /// Export a directory over NFSv3, NFSv4.1 and NFSv4.2
    Serve(commands::serve::Arguments),
    /// Show the tree of a server in a directory, without root and without a module of the kernel but FUSE's
    Mount(commands::mount::Arguments),
    /// Look at a running server, and tell it what to do
    Ctl(commands::ctl::Arguments),
    /// Write the completions of the command line for a shell to standard output
    Completions(commands::completions::Completions),
    /// Write the manual pages of the command and its subcommands into a directory
    Manual(commands::completions::Manual),
}

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error),
    };
    let outcome = match cli.command {
        Command::Bench(arguments) => commands::bench::run(arguments),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Mount(arguments) => commands::mount::run(&arguments),
        Command::Ctl(arguments) => commands::ctl::run(&arguments),
        Command::Completions(arguments) => commands::completions::completions(&arguments, Cli::command()),
        Command::Manual(arguments) => commands::completions::manual(&arguments, Cli::command()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
