//! The subcommands.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod serve;

/// Sends what the libraries report to standard error; `RUST_LOG` chooses how much.
pub(crate) fn log() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
