//! Why a workload could not be carried out.

/// What went wrong while files were prepared or worked on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The client library said no.
    #[error("cannot {doing}: {source}")]
    Client {
        /// Such as "open /a/b".
        doing: String,
        /// What it said.
        source: client::Error,
    },
    /// The operating system said no.
    #[error("cannot {doing}: {source}")]
    Call {
        /// Such as "open /a/b".
        doing: String,
        /// What it said.
        source: std::io::Error,
    },
    /// Nothing could be mounted on this machine.
    #[error("cannot mount: {cause}; {mend}")]
    Mount {
        /// What whoever mounts it said.
        cause: String,
        /// What may help.
        mend: &'static str,
    },
    /// The server does not have what was to be mounted.
    #[error("{0}")]
    NotOffered(String),
    /// The client has been shut down.
    #[error("its client was shut down meanwhile")]
    Closed,
    /// The client has calls only.
    #[error("only the client `builtin` has operations on whole trees")]
    NoBatches,
    /// There is no such version.
    #[error("{0}")]
    Version(String),
    /// A file holds something else than what was written to it.
    #[error(
        "{path} holds other bytes at {offset} than were written there; the server or the client returns \
         wrong data, so no number of this run can be trusted"
    )]
    Content {
        /// The file.
        path: String,
        /// Where in it.
        offset: u64,
    },
    /// A thread found no file to begin with.
    #[error(
        "`{step}` found no file left before the clock started; give its set more entries than there are \
         threads"
    )]
    NothingLeft {
        /// The step that needed one.
        step: &'static str,
    },
    /// A run did not end.
    #[error("it did not end within {seconds} s; the server or the network has stopped answering")]
    Stuck {
        /// The time it had.
        seconds: u64,
    },
    /// A thread of the benchmark itself ended early.
    #[error("a thread of the benchmark ended before its work was done: {0}")]
    Thread(String),
}

impl Error {
    /// Whether another version may be had where this one failed: the server said no, or some program of this
    /// version is not there. Not where nobody answered.
    pub(crate) fn is_refusal(&self) -> bool {
        use client::Error::{NotOffered, Server, Transport};
        match self {
            Self::Client { source, .. } => matches!(source, NotOffered(_) | Server { .. } | Transport(_)),
            Self::NotOffered(_) => true,
            _ => false,
        }
    }

    /// Whether the server lets nobody write there.
    pub(crate) fn is_read_only(&self) -> bool {
        let kind = match self {
            Self::Client { source, .. } => source.kind(),
            Self::Call { source, .. } => source.kind(),
            _ => return false,
        };
        kind == std::io::ErrorKind::ReadOnlyFilesystem
    }
}
