//! `failover-gap`: how long clients of a server stand still while it is restarted, or moved to another
//! machine.
//!
//! Clients work without a pause; the server is restarted; of each kind of operation the longest time without
//! any is kept. Owns the measurement and its document, and nothing of how a server is restarted: a command
//! does that, or the benchmark kills a server of its own.

mod document;
mod measure;
mod operation;

use std::path::PathBuf;

pub use document::{Gap, Gaps, summary};
pub use operation::Operation;

use crate::results::{Environment, write_whole};
use crate::runner::{Arm, Error, Reach, Server, Stop, Target};

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// The server's address; none for one that the benchmark starts and kills.
    pub server: Option<String>,
    /// The path of the same directory over NFSv3, where the server has another one there.
    pub path_of_v3: Option<String>,
    /// The command that restarts or moves the server, for the shell.
    pub command: Option<String>,
    /// The executable of a server of the benchmark's own.
    pub serve_command: PathBuf,
    /// Options of that server.
    pub serve_flags: Vec<String>,
    /// Versions, one after the other.
    pub versions: Vec<String>,
    /// Clients of each version, 1 to 64.
    pub clients: u32,
    /// Restarts for each version, 1 to 100.
    pub repeats: u32,
    /// The longest standstill that is waited for, in seconds.
    pub seconds_max: u32,
    /// The directory for `failover-gap.json`.
    pub out: PathBuf,
    /// The seed of names.
    pub seed: u64,
    /// Version of this tool.
    pub tool_version: String,
    /// The command with its arguments.
    pub command_line: Vec<String>,
}

const CLIENTS_MAX: u32 = 64;
const REPEATS_MAX: u32 = 100;

/// Measures, and writes `failover-gap.json`. Whatever was made on the server is removed.
///
/// # Errors
/// As [`crate::runner::run`].
pub async fn run(options: &Options) -> Result<Gaps, Error> {
    check(options)?;
    let stop = Stop::listen()?;
    std::fs::create_dir_all(&options.out)
        .map_err(|source| Error::Out { path: options.out.clone(), source })?;
    let target = match &options.server {
        Some(url) => Target::Url(url.clone()),
        None => Target::Own { command: None, flags: options.serve_flags.clone(), query: String::new() },
    };
    let arms: Vec<Arm> =
        options.versions.iter().map(|version| Arm::of_version(version, version != "3")).collect();
    let how = Reach {
        serve_command: Some(&options.serve_command),
        path_of_v3: options.path_of_v3.as_deref(),
        listen: None,
        maps_ports: false,
        seed: options.seed,
    };
    let mut server = stop.or(Box::pin(Server::open(&how, &target, &arms))).await?;
    server.make_directory().await?;
    let measuring = measure::measure(options, &arms, &mut server, &stop);
    let gaps = stop.or_soon(Box::pin(measuring)).await;
    let environment =
        Environment::of_this_machine(&options.tool_version, options.command_line.clone(), options.seed);
    let name = server.name.clone();
    let closed = server.close(false).await;
    let found = Gaps { environment, server: name, gaps: gaps? };
    let text = serde_json::to_string_pretty(&found).map_err(|error| Error::Usage(error.to_string()))?;
    write_whole(&options.out.join("failover-gap.json"), text.as_bytes())?;
    closed.map(|()| found)
}

fn check(options: &Options) -> Result<(), Error> {
    let wrong = |text: String| Err(Error::Usage(text));
    if options.server.is_some() != options.command.is_some() {
        return wrong(
            "a server that is named is restarted by a command: give --server and --restart, or neither"
                .to_owned(),
        );
    }
    let known = crate::workload::ClientKind::Builtin.versions();
    if let Some(version) = options.versions.iter().find(|version| !known.contains(&version.as_str())) {
        return wrong(format!("there is no version `{version}`; use {}", known.join(" or ")));
    }
    if !(1..=CLIENTS_MAX).contains(&options.clients) {
        return wrong(format!("clients must be from 1 to {CLIENTS_MAX}"));
    }
    if !(1..=REPEATS_MAX).contains(&options.repeats) {
        return wrong(format!("repeats must be from 1 to {REPEATS_MAX}"));
    }
    Ok(())
}
