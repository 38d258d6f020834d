//! Why the records cannot be written, and whether they can be.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use rustix::io::Errno;

/// Why the records cannot be written: the cause, and what an administrator does about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    cause: String,
    mend: &'static str,
    /// The file is there and is not a store.
    pub(super) is_damaged: bool,
}

impl Fault {
    pub(super) fn new(cause: impl Into<String>, mend: &'static str) -> Self {
        Self { cause: cause.into(), mend, is_damaged: false }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.cause, self.mend)
    }
}

impl std::error::Error for Fault {}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        let mend = match Errno::from_io_error(&error) {
            Some(Errno::NOSPC | Errno::DQUOT) => "free space on the file system of the state directory",
            Some(Errno::ROFS | Errno::ACCESS | Errno::PERM) => "let the server write to the state directory",
            Some(Errno::NOENT | Errno::NOTDIR) => "make the parent of the state directory again",
            Some(Errno::MFILE | Errno::NFILE) => "raise the limit of open files",
            _ => "check the disk of the state directory",
        };
        Self::new(error.to_string(), mend)
    }
}

impl From<redb::Error> for Fault {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) if error.kind() != io::ErrorKind::InvalidData => error.into(),
            redb::Error::DatabaseAlreadyOpen => {
                Self::new("another server has the records open", "stop one of the servers")
            }
            error @ (redb::Error::Corrupted(_) | redb::Error::Io(_) | redb::Error::UpgradeRequired(_)) => {
                Self {
                    is_damaged: true,
                    ..Self::new(error.to_string(), "check the disk of the state directory")
                }
            }
            error => Self::new(error.to_string(), "check the disk of the state directory"),
        }
    }
}

/// Whether the records can be written, for `ctl status`, metrics and the log.
#[derive(Debug, Default)]
pub(crate) struct Health {
    fault: Mutex<Option<Fault>>,
    failures: AtomicU64,
}

impl Health {
    /// Why the records cannot be written, and what to do about it. `None` while they can be.
    pub(crate) fn fault(&self) -> Option<String> {
        self.fault.lock().as_ref().map(ToString::to_string)
    }

    /// How often the records became unwritable since the start.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }

    /// Notes a fault, and logs it when it is another one than before.
    pub(super) fn set_fault(&self, fault: &Fault) {
        let mut current = self.fault.lock();
        if current.is_none() {
            self.failures.fetch_add(1, Relaxed);
        }
        if current.as_ref() != Some(fault) {
            tracing::error!(
                "the records in the state directory cannot be written, and new clients are given no state: \
                 {fault}"
            );
            *current = Some(fault.clone());
        }
    }

    /// Notes that the records are written again.
    pub(super) fn clear(&self) {
        if self.fault.lock().take().is_some() {
            tracing::info!("the records in the state directory are written again");
        }
    }
}
