//! Why a benchmark ended without a result: one sentence with the cause and the mend.

use std::path::PathBuf;

use crate::{experiment, results, workload};

/// A benchmark that has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options ask for nothing or for something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// An experiment is not to be had.
    #[error(transparent)]
    Experiment(#[from] experiment::Error),
    /// An experiment measures what no workload counts.
    #[error(
        "the experiment {experiment} measures in `{unit}`, which no workload counts; use `op/s`, `MB/s`, \
         `ms` or `s`"
    )]
    Unit {
        /// Its name.
        experiment: String,
        /// The unit.
        unit: String,
    },
    /// The directory for results cannot be made.
    #[error("cannot make the directory {} for the results: {source}; name another with \
             --out", path.display())]
    Out {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The benchmark's own server did not start.
    #[error("the benchmark's own server did not start: {0}")]
    OwnServer(String),
    /// The server cannot be reached, or refuses.
    #[error(
        "cannot use {server} over NFS version {version}: {cause}; check that the server runs there, exports \
         that path and offers that version"
    )]
    Server {
        /// Its address.
        server: String,
        /// The version tried.
        version: String,
        /// What it said, and what to do about it.
        cause: String,
    },
    /// Nothing can be mounted here.
    #[error("{0}")]
    Mount(String),
    /// The relay that makes the delay did not start.
    #[error("cannot make a link with a delay of {rtt_ms} ms: {cause}")]
    Relay {
        /// The delay asked for.
        rtt_ms: f64,
        /// Why.
        cause: String,
    },
    /// The server refuses a version that was to be compared.
    #[error(
        "{server} does not offer {version}: {cause}; where the directory has another path over NFSv3 name it \
         with --v3-path, else choose others with --versions, or add --allow-missing-versions"
    )]
    NotOffered {
        /// The server's address.
        server: String,
        /// Which version.
        version: String,
        /// The server's words.
        cause: String,
    },
    /// The server takes connections, or their packets, and does not answer.
    #[error(
        "{server} has not answered for {seconds} s; see whether an NFS server runs there (rpcinfo, or its \
         log), and whether the address and port are right"
    )]
    Silent {
        /// The server's address.
        server: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A workload could not be carried out.
    #[error("{experiment} over {arm}: {cause}")]
    Workload {
        /// Which experiment.
        experiment: String,
        /// Which version.
        arm: String,
        /// Why.
        cause: String,
    },
    /// Nothing was completed in a run.
    #[error(
        "{experiment} over {arm} completed no operation in its time; give it more seconds or fewer bytes"
    )]
    Nothing {
        /// Which experiment.
        experiment: String,
        /// Which version.
        arm: String,
    },
    /// The export has too little room.
    #[error(
        "{server} has {free} free, and these experiments keep up to {needed} there; make room, name another \
         directory, or leave the large ones out with --experiment"
    )]
    Space {
        /// The server's address.
        server: String,
        /// What may be used.
        free: String,
        /// What is needed.
        needed: String,
    },
    /// An agent has ended, or cannot be reached any more.
    #[error(
        "the agent on {host} is lost: {cause}; without its clients the run is another one, so see to that \
         host and measure again"
    )]
    LostHost {
        /// Which.
        host: String,
        /// What is known of it.
        cause: String,
    },
    /// Wrong data was read.
    #[error("{experiment} over {arm}: {cause}")]
    WrongData {
        /// Which experiment.
        experiment: String,
        /// Which version.
        arm: String,
        /// Where.
        cause: String,
    },
    /// Somebody stopped it when some of it was measured.
    #[error(
        "stopped before the end; {cells} settings are complete in {}, and --resume goes on from \
         there", out.display()
    )]
    Stopped {
        /// Where they are.
        out: PathBuf,
        /// How many.
        cells: usize,
    },
    /// Somebody stopped it.
    #[error("stopped before the end; nothing was written")]
    Interrupted,
    /// What was made on the server could not be removed.
    #[error("{directory} on {server} could not be removed: {cause}; remove it by hand")]
    LeftBehind {
        /// The server's address.
        server: String,
        /// The directory.
        directory: String,
        /// Why.
        cause: String,
    },
    /// Results could not be written.
    #[error(transparent)]
    Results(#[from] results::Error),
}

impl Error {
    /// Whether the measurement itself cannot be trusted (exit code 2), rather than something being in its way
    /// (exit code 3).
    #[must_use]
    pub fn is_invalid_run(&self) -> bool {
        matches!(
            self,
            Self::Workload { .. }
                | Self::WrongData { .. }
                | Self::LostHost { .. }
                | Self::Nothing { .. }
                | Self::Stopped { .. }
                | Self::Interrupted
        )
    }

    pub(crate) fn workload(experiment: &str, arm: &str, error: &workload::Error) -> Self {
        let (experiment, arm, cause) = (experiment.to_owned(), arm.to_owned(), error.to_string());
        match error {
            workload::Error::Content { .. } => Self::WrongData { experiment, arm, cause },
            _ => Self::Workload { experiment, arm, cause },
        }
    }
}
