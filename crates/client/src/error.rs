//! What can go wrong, and whose fault it was.

use std::{fmt, io};

use proto::{mount3, nfs3, nfs4, nlm4};

use crate::options::Version;
use crate::url::UrlError;

/// The result of an operation.
pub type Result<T> = std::result::Result<T, Error>;

/// How a server refused, in the words of the protocol that it spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Status {
    /// NFSv3.
    #[error(transparent)]
    Nfs3(#[from] nfs3::Status),
    /// NFSv4.
    #[error(transparent)]
    Nfs4(#[from] nfs4::Status),
    /// MOUNT.
    #[error(transparent)]
    Mount(#[from] mount3::Status),
    /// NLM.
    #[error(transparent)]
    Lock(#[from] nlm4::Status),
}

/// Why an operation failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The server refused.
    #[error("the server answered {operation} with {status}: {}", status.meaning())]
    Server {
        /// What was asked.
        operation: &'static str,
        /// Its answer.
        status: Status,
    },
    /// The server broke the protocol.
    #[error("the server's answer to {operation} breaks the protocol: {cause}")]
    PeerMisbehaved {
        /// What was asked.
        operation: &'static str,
        /// How.
        cause: String,
    },
    /// The server cannot be reached, or refuses the call itself.
    #[error("cannot talk to the server: {0}")]
    Transport(String),
    /// What was given is no address; nothing was sent.
    #[error(transparent)]
    Address(#[from] UrlError),
    /// The server does not offer a version of NFS, or a program that goes with it.
    #[error("the server does not offer {0}")]
    NotOffered(String),
    /// The version of NFS that is spoken does not have what was asked for; nothing was sent.
    #[error("{operation} needs NFSv4.2, and NFSv{version} is spoken with this server")]
    Unsupported {
        /// What was asked.
        operation: &'static str,
        /// The version that is spoken.
        version: Version,
    },
    /// No answer in time; nothing was changed, or it does not matter whether it was.
    #[error("no answer to {operation} in time")]
    Timeout {
        /// What was asked.
        operation: &'static str,
    },
    /// The server has forgotten or taken away the open, lock or delegation that the operation needs.
    #[error("the server no longer knows that the file is open or locked; open it again")]
    Revoked,
    /// The answer was lost and cannot be had again: the operation was carried out, or not.
    #[error("the answer to {operation} was lost; whether it was carried out is unknown")]
    UncertainOutcome {
        /// What was asked.
        operation: &'static str,
    },
    /// An item of a batch that was not tried, because another one failed before.
    #[error("not tried, since something before it failed")]
    Skipped,
    /// The local file system failed, or an archive cannot be read.
    #[error("{cause}")]
    Local {
        /// The class of the error.
        kind: io::ErrorKind,
        /// What it says.
        cause: String,
    },
    /// A lock that somebody else holds.
    #[error("somebody else holds a conflicting lock")]
    Locked,
    /// The caller asked for what cannot be; nothing was sent.
    #[error("{0}")]
    Usage(&'static str),
}

impl Error {
    pub(crate) fn server(operation: &'static str, status: impl Into<Status>) -> Self {
        Self::Server { operation, status: status.into() }
    }

    pub(crate) fn misbehaved(operation: &'static str, cause: impl fmt::Display) -> Self {
        Self::PeerMisbehaved { operation, cause: cause.to_string() }
    }

    /// True when an NFSv3 server takes back the locks of before its restart, and neither grants nor ends any.
    pub(crate) fn is_grace(&self) -> bool {
        matches!(self, Self::Server { status: Status::Lock(nlm4::Status::DeniedGracePeriod), .. })
    }

    /// The class of the error, as the standard library has it.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Server { status, .. } => status.kind(),
            Self::PeerMisbehaved { .. } => io::ErrorKind::InvalidData,
            Self::Transport(_) => io::ErrorKind::NotConnected,
            Self::NotOffered(_) | Self::Unsupported { .. } => io::ErrorKind::Unsupported,
            Self::Timeout { .. } => io::ErrorKind::TimedOut,
            Self::Revoked => io::ErrorKind::StaleNetworkFileHandle,
            Self::UncertainOutcome { .. } | Self::Skipped => io::ErrorKind::Other,
            Self::Local { kind, .. } => *kind,
            Self::Locked => io::ErrorKind::WouldBlock,
            Self::Usage(_) | Self::Address(_) => io::ErrorKind::InvalidInput,
        }
    }

    /// True when the name or object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.kind() == io::ErrorKind::NotFound
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(error.kind(), error)
    }
}

impl Status {
    /// The class of the error, as the standard library has it.
    pub fn kind(&self) -> io::ErrorKind {
        self.row().1
    }

    /// What it means, in a few words.
    pub fn meaning(&self) -> &'static str {
        self.row().0
    }

    /// The NFSv4 code with the same meaning: the four protocols share the numbers of what they share.
    fn row(&self) -> (&'static str, io::ErrorKind) {
        use io::ErrorKind as Kind;
        use nfs4::Status as S;
        let common = match self {
            Self::Nfs3(status) => S::from_code(status.code()),
            Self::Nfs4(status) => *status,
            Self::Mount(status) => S::from_code(status.code()),
            Self::Lock(status) => return lock_row(*status),
        };
        match common {
            S::NotPermitted => ("only the owner or a privileged user may", Kind::PermissionDenied),
            S::AccessDenied => ("permission denied", Kind::PermissionDenied),
            S::NoEntry => ("no such file or directory", Kind::NotFound),
            S::Exists => ("the name is taken", Kind::AlreadyExists),
            S::NotDirectory => ("not a directory", Kind::NotADirectory),
            S::IsDirectory => ("is a directory", Kind::IsADirectory),
            S::NotEmpty => ("the directory is not empty", Kind::DirectoryNotEmpty),
            S::NoSpace => ("no space left", Kind::StorageFull),
            S::QuotaExceeded => ("the quota is used up", Kind::QuotaExceeded),
            S::ReadOnly => ("the file system is read-only", Kind::ReadOnlyFilesystem),
            S::CrossDevice => ("the two are on different file systems", Kind::CrossesDevices),
            S::FileTooBig => ("the file would become too large", Kind::FileTooLarge),
            S::TooManyLinks => ("too many links", Kind::TooManyLinks),
            S::NameTooLong => ("the name is too long", Kind::InvalidFilename),
            S::Invalid => ("an argument makes no sense", Kind::InvalidInput),
            S::Stale | S::BadHandle | S::HandleExpired => {
                ("the object is gone", Kind::StaleNetworkFileHandle)
            }
            S::NotSupported => ("the server does not support it", Kind::Unsupported),
            S::NoXattr => ("there is no such extended attribute", Kind::NotFound),
            S::XattrTooBig => ("the extended attribute is too large", Kind::FileTooLarge),
            S::MinorVersionMismatch => ("it does not offer this version", Kind::Unsupported),
            S::Denied | S::Locked => ("somebody else holds a conflicting lock", Kind::WouldBlock),
            S::Deadlock => ("the lock would be waited for in a circle", Kind::Deadlock),
            S::ShareDenied => ("somebody else has the file open and does not share it", Kind::ResourceBusy),
            S::Delay => ("the server asks to try again later", Kind::WouldBlock),
            S::Grace => ("the server is recovering and grants no new locks yet", Kind::WouldBlock),
            S::Io => ("an error of the server's storage", Kind::Other),
            S::Resource | S::ServerFault => ("the server has an error of its own", Kind::Other),
            _ => ("the request failed", Kind::Other),
        }
    }
}

fn lock_row(status: nlm4::Status) -> (&'static str, io::ErrorKind) {
    use io::ErrorKind as Kind;
    match status {
        nlm4::Status::Denied | nlm4::Status::Blocked => {
            ("somebody else holds a conflicting lock", Kind::WouldBlock)
        }
        nlm4::Status::DeniedNoLocks => ("the server has no room for locks", Kind::QuotaExceeded),
        nlm4::Status::DeniedGracePeriod => {
            ("the server is recovering and grants no new locks yet", Kind::WouldBlock)
        }
        nlm4::Status::Deadlock => ("the lock would be waited for in a circle", Kind::Deadlock),
        nlm4::Status::ReadOnly => ("the file system is read-only", Kind::ReadOnlyFilesystem),
        nlm4::Status::StaleHandle => ("the object is gone", Kind::StaleNetworkFileHandle),
        _ => ("the lock manager failed", Kind::Other),
    }
}
