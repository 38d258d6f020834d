//! `primetime bench failover-gap`: how long clients stand still while a server is restarted or moved.

use std::path::PathBuf;

use bench::failover_gap::{self, Options, summary};
use bench::terminal::Style;
use clap::Args;

use super::{command_line, own_executable, print, runtime};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  primetime bench failover-gap                        a server of its own, killed and started again
  primetime bench failover-gap --serve=--persistent-sessions
  primetime bench failover-gap --server nfs://fileserver/export \\
    --restart 'ssh root@fileserver systemctl restart nfs-server'
  primetime bench failover-gap --server nfs://address/export --restart 'pcs resource move nfs'

Exit codes: 0 good, 2 the measurement cannot be trusted, 3 wrong usage or set-up.";

/// Arguments of `primetime bench failover-gap`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The server (nfs://host:port/path); without it the benchmark starts one, kills it and starts it again
    #[arg(long, value_name = "URL", requires = "restart")]
    server: Option<String>,

    /// The path of the same directory over NFSv3, where the server has another one there
    #[arg(long, value_name = "PATH", requires = "server")]
    v3_path: Option<String>,

    /// The command that restarts or moves the server; the shell runs it
    #[arg(long, value_name = "COMMAND", requires = "server")]
    restart: Option<String>,

    /// Options of `primetime serve` for a server of the benchmark's own
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "server"
    )]
    serve: Vec<String>,

    /// Versions, one after the other; version 3 last, since a server waits for its hosts for a whole lease
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4.1,4.2,3")]
    versions: Vec<String>,

    /// Clients at the same time
    #[arg(long, value_name = "N", default_value_t = 3)]
    clients: u32,

    /// Restarts for each version
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeats: u32,

    /// The longest standstill that is waited for, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 180)]
    longest: u32,

    /// Where failover-gap.json goes
    #[arg(long, value_name = "DIR", default_value = "primetime-failover-gap")]
    out: PathBuf,

    /// Print failover-gap.json instead of the table
    #[arg(long)]
    json: bool,

    /// The seed of names
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Measures, and prints what was found.
pub(super) fn run(arguments: Arguments) -> Result<(), Failure> {
    let json = arguments.json;
    let options = Options {
        server: arguments.server,
        path_of_v3: arguments.v3_path,
        command: arguments.restart,
        serve_command: own_executable()?,
        serve_flags: arguments.serve,
        versions: arguments.versions,
        clients: arguments.clients,
        repeats: arguments.repeats,
        seconds_max: arguments.longest,
        out: arguments.out,
        seed: arguments.seed,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: command_line(),
    };
    let found = runtime()?.block_on(failover_gap::run(&options)).map_err(|error| {
        if error.is_invalid_run() { Failure::invalid_run(error) } else { Failure::set_up(error) }
    })?;
    if json {
        let text = serde_json::to_string_pretty(&found).map_err(Failure::invalid_run)?;
        return print(&format!("{text}\n"));
    }
    print(&summary(&found, Style::of_stdout()))
}
