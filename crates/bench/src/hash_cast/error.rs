//! Why there is no result: one sentence with the cause and the mend.

use std::path::PathBuf;

use crate::{results, runner, workload};

/// A Hash-Cast that has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options ask for what cannot be.
    #[error("{0}")]
    Usage(String),
    /// The directory for results cannot be made.
    #[error("cannot make the directory {} for the results: {source}; name another with \
             --out", path.display())]
    Out {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The system gives no more threads.
    #[error("cannot start its threads: {0}")]
    Threads(std::io::Error),
    /// The emulated network cannot be had.
    #[error("cannot make the network: {0}")]
    Network(std::io::Error),
    /// The link does not carry what was asked for.
    #[error(
        "the link carries {measured_mbit:.1} instead of {asked_mbit:.1} Mbit/s, so that the machine and not \
         the card would be measured; ask for less with --rate-mbit, or run it on a machine that does less \
         besides"
    )]
    Link {
        /// Asked for, in 10⁶ bits per second.
        asked_mbit: f64,
        /// Measured.
        measured_mbit: f64,
    },
    /// Nothing arrived at any client.
    #[error("no client of {workload} received anything in its time; give it more --seconds")]
    Nothing {
        /// "tcp" or "nfs".
        workload: &'static str,
    },
    /// A client of NFS failed.
    #[error("client {client} cannot read over the emulated network: {cause}")]
    Client {
        /// Which one, from 1.
        client: usize,
        /// What it said.
        cause: String,
    },
    /// The server, or a request to stop.
    #[error(transparent)]
    Runner(#[from] runner::Error),
    /// Results could not be written.
    #[error(transparent)]
    Results(#[from] results::Error),
}

impl Error {
    /// Whether the measurement itself cannot be trusted, rather than something being in its way.
    #[must_use]
    pub fn is_invalid_run(&self) -> bool {
        match self {
            Self::Link { .. } | Self::Nothing { .. } | Self::Client { .. } => true,
            Self::Runner(error) => error.is_invalid_run(),
            _ => false,
        }
    }

    pub(super) fn client(number: usize, error: &workload::Error) -> Self {
        Self::Client { client: number + 1, cause: error.to_string() }
    }
}
