//! The operations whose standstill is measured, each as an application makes it again and again.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::workload::{self, Access, File, Mount};

/// Bytes of a read or write.
const IO_BYTES: usize = 4096;

/// A kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// A read of a file that is open, past the cache.
    Read,
    /// A write of a file that is open, on stable storage when it is done.
    Write,
    /// Opening, reading and closing a file.
    Open,
    /// Taking a lock and giving it up.
    Lock,
    /// Making a file.
    Create,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Open, Self::Lock, Self::Create];

    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Open => "open",
            Self::Lock => "lock",
            Self::Create => "create",
        }
    }

    /// Makes what it needs in `directory`.
    pub(super) async fn prepare(self, mount: &Mount, directory: &str) -> Result<Prepared, workload::Error> {
        let path = format!("{directory}/{}", self.name());
        mount.write_file(&path, Bytes::from(vec![b'x'; IO_BYTES])).await?;
        let file = match self {
            Self::Read | Self::Lock => Some(mount.open(&path, Access::Read).await?),
            Self::Write => Some(mount.open(&path, Access::Write { sync: true }).await?),
            Self::Open | Self::Create => None,
        };
        Ok(Prepared { operation: self, path, file, done: 0 })
    }
}

/// An operation with its file.
pub(super) struct Prepared {
    operation: Operation,
    path: String,
    file: Option<File>,
    done: u64,
}

impl Prepared {
    /// Carries it out once.
    pub(super) async fn again(&mut self, mount: &Mount) -> Result<(), workload::Error> {
        self.done += 1;
        match (self.operation, &self.file) {
            (Operation::Read, Some(file)) => file.read(0, IO_BYTES).await.map(drop),
            (Operation::Write, Some(file)) => file.write(0, Bytes::from(vec![b'y'; IO_BYTES])).await,
            (Operation::Lock, Some(file)) => {
                file.lock(false).await?;
                file.unlock().await
            }
            (Operation::Create, _) => {
                let path = format!("{}-{}", self.path, self.done);
                mount.create(&path).await?;
                mount.delete(&path).await
            }
            _ => {
                let file = mount.open(&self.path, Access::Read).await?;
                file.read(0, IO_BYTES).await?;
                file.close().await
            }
        }
    }

    /// Closes its file.
    pub(super) async fn end(self) {
        if let Some(file) = self.file {
            // The connection may be gone, and the server forgets what was open.
            let _ = file.close().await;
        }
    }
}
