//! `primetime bench hash-cast`: winners and losers behind a card with several transmit queues, and what cures
//! it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use bench::hash_cast::{self, Options, Workload, summary};
use bench::terminal::Style;
use clap::Args;
use netlab::packet::{Access, access, in_user_namespace};

use super::{command_line, own_executable, print};
use crate::failure::Failure;

/// Set in a process that was started in a user namespace: if it cannot make networks, nobody can.
const STARTED_AGAIN: &str = "PRIMETIME_IN_USER_NAMESPACE";

const CUBIC: &str = "cubic";

const RTT_MS: f64 = 2.0;
/// Long enough that the windows of all clients together have some packets each while they fill a round trip.
const RTT_MS_WITH_CURES: f64 = 20.0;

/// Arguments of `primetime bench hash-cast`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Clients at the same time
    #[arg(long, value_name = "N", default_value_t = 8)]
    clients: u32,

    /// Transmit queues of the server's emulated card
    #[arg(long, value_name = "N", default_value_t = 8)]
    queues: u32,

    /// What the card sends, in millions of bits per second; little enough that this machine can emulate it
    #[arg(long, value_name = "MBIT", default_value_t = 100.0)]
    rate_mbit: f64,

    /// Round trip between the server and each client, in milliseconds, without load [default: 2; with --cures
    /// 20]
    #[arg(long, value_name = "MS")]
    rtt_ms: Option<f64>,

    /// What controls the congestion of TCP, such as reno or bbr [default: cubic where the kernel has it]
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,

    /// The most bytes that each receiver lets its sender have under way; with --cures only in the cure by
    /// that, where the default lets all flows together fill one round trip
    #[arg(long, value_name = "BYTES")]
    window_clamp: Option<u32>,

    /// Measure the cures within TCP too, in turns with the card as it is: Vegas and BBR where the kernel has
    /// them, and clamped windows. It takes twice as long
    #[arg(long)]
    cures: bool,

    /// Connections of each client where more of them are tried as a cure
    #[arg(long, value_name = "N", default_value_t = 4)]
    connections: u32,

    /// Runs of each way to queue, each with another hash of its flows [default: 3; with --quick 2]
    #[arg(long, value_name = "N")]
    runs: Option<u32>,

    /// Seconds that are measured in each run [default: 5; with --quick 1.5]
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,

    /// Fewer and shorter runs: about a minute, with --cures about two
    #[arg(long)]
    quick: bool,

    /// Only plain TCP, no NFS: it shows whether NFS has a part in it
    #[arg(long)]
    tcp_only: bool,

    /// Only the probabilities and this machine's cards: no network is made, nothing is measured
    #[arg(long, conflicts_with_all = ["tcp_only", "quick", "cures"])]
    probability: bool,

    /// Where hash-cast.json and hash-cast.html go
    #[arg(long, value_name = "DIR", default_value = "primetime-hash-cast")]
    out: PathBuf,

    /// Print hash-cast.json instead of the tables
    #[arg(long)]
    json: bool,

    /// The seed of the hash; the same seed places all flows in the same queues
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Measures, and prints what was found.
pub(super) fn run(arguments: Arguments) -> Result<(), Failure> {
    if !arguments.probability {
        come_to_a_network()?;
    }
    let json = arguments.json;
    let options = options(arguments)?;
    let found = hash_cast::run(&options).map_err(|error| {
        if error.is_invalid_run() { Failure::invalid_run(error) } else { Failure::set_up(error) }
    })?;
    if json {
        let text = serde_json::to_string_pretty(&found).map_err(Failure::invalid_run)?;
        return print(&format!("{text}\n"));
    }
    let page = options.out.join("hash-cast.html");
    print(&format!("{}\nThe report is {}\n", summary(&found, Style::of_stdout()), page.display()))
}

/// Goes on when this process may make networks; otherwise starts the command again where it may.
fn come_to_a_network() -> Result<(), Failure> {
    let refused = |reason: &str| Failure::set_up(format!("{reason}; --probability needs no network"));
    match access().map_err(|reason| refused(&reason.to_string()))? {
        Access::Here => Ok(()),
        Access::InUserNamespace if std::env::var_os(STARTED_AGAIN).is_some() => Err(refused(
            "packet-level links cannot be made in a user namespace of this machine: run it as root",
        )),
        Access::InUserNamespace => {
            let mut again = in_user_namespace(own_executable()?);
            let error = again.args(std::env::args_os().skip(1)).env(STARTED_AGAIN, "1").exec();
            Err(refused(&format!("cannot start again in a user namespace: {error}")))
        }
    }
}

fn options(arguments: Arguments) -> Result<Options, Failure> {
    let workloads = match (arguments.probability, arguments.tcp_only) {
        (true, _) => Vec::new(),
        (false, true) => vec![Workload::Tcp],
        (false, false) => vec![Workload::Tcp, Workload::Nfs],
    };
    let (runs, seconds) = if arguments.quick { (2, 1.5) } else { (3, 5.0) };
    Ok(Options {
        clients: arguments.clients,
        queues: arguments.queues,
        rate_mbit: arguments.rate_mbit,
        rtt_ms: arguments.rtt_ms.unwrap_or(if arguments.cures { RTT_MS_WITH_CURES } else { RTT_MS }),
        congestion_control: arguments.congestion.or_else(cubic),
        window_clamp_bytes: arguments.window_clamp,
        cures: arguments.cures,
        connections: arguments.connections,
        runs: arguments.runs.unwrap_or(runs),
        seconds: arguments.seconds.unwrap_or(seconds),
        workloads,
        serve_command: own_executable()?,
        out: arguments.out,
        seed: arguments.seed,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: command_line(),
    })
}

/// Cubic, where this kernel has it: what it does is known best.
fn cubic() -> Option<String> {
    let known =
        std::fs::read_to_string(Path::new("/proc/sys/net/ipv4/tcp_available_congestion_control")).ok()?;
    known.split_whitespace().any(|name| name == CUBIC).then(|| CUBIC.to_owned())
}
