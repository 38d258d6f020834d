//! `primetime bench agent`: clients of a benchmark that another machine runs.

use std::net::SocketAddr;
use std::path::PathBuf;

use bench::agents::Secret;
use bench::runner::agent;
use clap::Args;

use crate::failure::Failure;

const AFTER: &str = "\
Example, on each machine with clients:
  head -c 32 /dev/urandom | base64 > secret      once, and copied to all
  primetime bench agent --listen 0.0.0.0:20490 --secret-file secret
and where the benchmark is started:
  primetime bench --server nfs://fileserver/export --hosts node1:20490,node2:20490 --agent-secret-file secret
With ssh nothing need be started: --hosts node1,node2.";

/// Where to listen.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Arguments {
    /// Where to listen for benchmarks
    #[arg(long, value_name = "ADDR:PORT", required_unless_present = "stdio", requires = "secret_file")]
    listen: Option<SocketAddr>,

    /// The file with the secret that a benchmark must know, from 16 to 4096 bytes
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,

    /// Take orders from standard input, as ssh starts it
    #[arg(long, conflicts_with_all = ["listen", "secret_file"])]
    stdio: bool,
}

/// Serves benchmarks until it is ended.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::set_up(format!("cannot start its threads: {error}")))?;
    let version = env!("CARGO_PKG_VERSION");
    let (Some(listen), Some(file)) = (arguments.listen, &arguments.secret_file) else {
        let served = runtime.block_on(agent::serve_stdio(version));
        // Standard input is read by a thread that nothing ends.
        runtime.shutdown_background();
        return served.map_err(|error| Failure::set_up(format!("cannot answer who has started it: {error}")));
    };
    let secret = Secret::read(file).map_err(Failure::set_up)?;
    let told = |address| eprintln!("primetime: an agent listens at {address}");
    runtime.block_on(agent::serve(listen, secret, version, told)).map_err(|error| {
        Failure::set_up(format!("cannot listen at {listen}: {error}; choose another address with --listen"))
    })
}
