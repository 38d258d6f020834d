//! The `primetime` command: arguments in, exit code out. What the subcommands do lives in the libraries.
//!
//! Exit codes: 0 good, 1 something could not be done or a gate failed, 2 an invalid run, 3 usage or set-up,
//! 4 a server sent names that no file can have, 130 interrupted.

#![forbid(unsafe_code)]

mod commands;
mod failure;
mod log;
mod remote;
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
    Bench(Box<commands::bench::Arguments>),
    /// Export a directory over NFSv3, NFSv4.1 and NFSv4.2
    Serve(commands::serve::Arguments),
    /// Show the tree of a server in a directory, without root and without a module of the kernel but FUSE's
    Mount(commands::mount::Arguments),
    /// Look at a running server, and tell it what to do
    Ctl(commands::ctl::Arguments),
    /// List directories of an NFS server
    Ls(commands::ls::Arguments),
    /// Write files of an NFS server to standard output
    Cat(commands::cat::Arguments),
    /// Copy files and trees to an NFS server, from it, and between servers
    Cp(commands::cp::Arguments),
    /// Remove files and trees of an NFS server
    Rm(commands::rm::Arguments),
    /// Make directories at an NFS server
    Mkdir(commands::mkdir::Arguments),
    /// Show what an NFS server says of files and directories
    Stat(commands::stat::Arguments),
    /// Find what is in a tree of an NFS server
    Find(commands::find::Arguments),
    /// Unpack an archive onto an NFS server, or make one of what is there
    Tar(commands::tar::Arguments),
    /// Write the completions of the command line for a shell to standard output
    Completions(commands::completions::Completions),
    /// Write the manual pages of the command and its subcommands into a directory
    Manual(commands::completions::Manual),
}

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(commands::find::with_two_dashes(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error),
    };
    let outcome = match cli.command {
        Command::Bench(arguments) => commands::bench::run(*arguments),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Mount(arguments) => commands::mount::run(&arguments),
        Command::Ctl(arguments) => commands::ctl::run(&arguments),
        Command::Ls(arguments) => commands::ls::ls(&arguments),
        Command::Cat(arguments) => commands::cat::cat(&arguments),
        Command::Cp(arguments) => commands::cp::cp(&arguments),
        Command::Rm(arguments) => commands::rm::rm(&arguments),
        Command::Mkdir(arguments) => commands::mkdir::mkdir(&arguments),
        Command::Stat(arguments) => commands::stat::stat(&arguments),
        Command::Find(arguments) => commands::find::find(&arguments),
        Command::Tar(arguments) => commands::tar::tar(&arguments),
        Command::Completions(arguments) => commands::completions::completions(&arguments, Cli::command()),
        Command::Manual(arguments) => commands::completions::manual(&arguments, Cli::command()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
