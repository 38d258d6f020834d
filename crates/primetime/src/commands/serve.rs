//! `primetime serve`: a directory over NFSv3 and NFSv4.1, without kernel module, rpcbind or root.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use server::shell::{Running, ServeOptions};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// The arguments of `serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Mount it (NFSv4.1): mount -t nfs -o vers=4.1,port=2049 ADDR:/ /mnt
Mount it (NFSv3):   mount -t nfs -o vers=3,nolock,tcp,mountproto=tcp,port=2049,mountport=2049 ADDR:/ /mnt")]
pub(crate) struct Arguments {
    /// The directory that becomes `/`
    directory: PathBuf,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:2049")]
    listen: SocketAddr,
    /// Refuse every change
    #[arg(long)]
    read_only: bool,
    /// Let the clients' superuser be the superuser here
    #[arg(long)]
    no_root_squash: bool,
    /// Acknowledge changes before they are on disk: fast, and a crash of this host loses them
    #[arg(long = "async")]
    asynchronous: bool,
    /// Keep the keys of file handles here, so that clients survive a restart of the server
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Grant no delegations to NFSv4.1 clients
    #[arg(long)]
    no_delegations: bool,
    /// How long a silent NFSv4.1 client keeps its opens and locks, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3600))]
    lease: u32,
}

/// Serves until SIGTERM or SIGINT.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    super::log();
    // Clients give modes; the process's own mask must not change them.
    server::shell::clear_umask();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("serve").build().map_err(
            |error| {
                Failure::set_up(format_args!("cannot start threads: {error}; raise the limit of processes"))
            },
        )?;
    runtime.block_on(serve(arguments))
}

async fn serve(arguments: &Arguments) -> Result<(), Failure> {
    let cannot_wait = |error| Failure::set_up(format_args!("cannot wait for signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot_wait)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot_wait)?;
    let mut running = Running::start(&options(arguments)).await.map_err(Failure::set_up)?;
    announce(running.address());
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        ended = running.ended() => {
            let reason = ended.err().map_or_else(|| "it stopped".to_owned(), |error| error.to_string());
            return Err(Failure::invalid_run(format_args!("the server ended by itself: {reason}")));
        }
    }
    running
        .stop()
        .await
        .map_err(|error| Failure::invalid_run(format_args!("the server did not end well: {error}")))
}

fn options(arguments: &Arguments) -> ServeOptions {
    ServeOptions {
        listen: arguments.listen,
        read_only: arguments.read_only,
        no_root_squash: arguments.no_root_squash,
        asynchronous: arguments.asynchronous,
        state_directory: arguments.state_dir.clone(),
        delegations: !arguments.no_delegations,
        lease_seconds: arguments.lease,
        ..ServeOptions::new(&arguments.directory)
    }
}

/// The line that programs wait for. Whoever started us may have closed its end; that is no reason to stop.
fn announce(address: SocketAddr) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "ready nfs://{address}/").and_then(|()| out.flush());
}
