//! Whole trees: listed, copied, removed and unpacked with many operations in each request and many requests
//! under way.

mod arrival;
mod departure;
mod download;
mod flow;
mod lineage;
mod list;
mod local;
mod place;
mod remove;
mod replicate;
mod tar;
mod upload;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

pub use list::{Descend, TreeEntry};

use crate::error::{Error, Result};
use crate::items::{Existing, Ground, Names};
use crate::name::FileName;
use crate::shared::Shared;

/// Failures that are told one by one; of more only the number.
const FAILURES_MAX: usize = 1000;
/// A file up to this size is read or written by one item of a batch, in bytes; a larger one in parts.
const SMALL_BYTES_MAX: u64 = 256 << 10;
/// The most entries of a tree, by default.
const ENTRIES_MAX: u64 = 100_000_000;
/// The part of a large file, in bytes.
const PART_BYTES: usize = 1 << 20;
/// Parts of a large file that are held at once.
const PARTS_MAX: usize = 8;

/// Where a tree is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In the local file system.
    Local(PathBuf),
    /// At the server, relative to the root of the client.
    Remote(Bytes),
}

impl Location {
    /// In the local file system.
    pub fn local(path: impl Into<PathBuf>) -> Self {
        Self::Local(path.into())
    }

    /// At the server.
    pub fn remote(path: impl AsRef<[u8]>) -> Self {
        Self::Remote(Bytes::copy_from_slice(path.as_ref()))
    }
}

/// What is told while a tree is worked on.
pub type Progress = Arc<dyn Fn(&TreeProgress) + Send + Sync>;

/// How to work on a tree.
#[derive(Clone)]
pub struct TreeOptions {
    /// Stop at the first failure; otherwise go on with the rest and tell all of them.
    pub stop_on_error: bool,
    /// The treatment of files that exist already. Directories are kept and filled; where files are
    /// truncated, links are replaced.
    pub existing: Existing,
    /// Permission bits are those of the source, set-id and sticky bits included; otherwise without these and
    /// the bits of `umask`, and what is there keeps its own.
    pub modes: bool,
    /// Times of modification and access are those of the source, to the nanosecond.
    pub times: bool,
    /// Owner and group are those of the source. Servers let only root do that.
    pub owners: bool,
    /// Bits that files and directories do not get where `modes` is off.
    pub umask: u32,
    /// The most entries of all directories together; a tree with more is listed, copied or removed as far
    /// as that.
    pub entries_max: u64,
    /// Removing a tree: a file of its top directory that is removed when everything else is gone. It stays
    /// when something else could not be removed.
    pub removed_last: Option<FileName>,
    /// Called after each item.
    pub progress: Option<Progress>,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            stop_on_error: false,
            existing: Existing::Replace,
            modes: true,
            times: true,
            owners: false,
            umask: 0o022,
            entries_max: ENTRIES_MAX,
            removed_last: None,
            progress: None,
        }
    }
}

impl fmt::Debug for TreeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeOptions")
            .field("stop_on_error", &self.stop_on_error)
            .field("existing", &self.existing)
            .field("modes", &self.modes)
            .field("times", &self.times)
            .field("owners", &self.owners)
            .finish_non_exhaustive()
    }
}

/// How far the work on a tree is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeProgress {
    /// Objects that are done: listed, copied, removed or made.
    pub items: u64,
    /// Data of files, in bytes.
    pub bytes: u64,
    /// Requests that were answered, those of others on the same client included.
    pub requests: u64,
}

/// An object that could not be worked on.
#[derive(Debug, Clone)]
pub struct TreeFailure {
    /// Its path below the root of the tree.
    pub path: Bytes,
    /// Why.
    pub error: Error,
}

/// What came of the work on a tree.
#[derive(Debug, Clone, Default)]
pub struct TreeReport {
    /// What was done.
    pub done: TreeProgress,
    /// What was not, at most a thousand of it.
    pub failures: Vec<TreeFailure>,
    /// How many failures there were.
    pub failures_total: u64,
}

impl TreeReport {
    /// The first failure as an error.
    ///
    /// # Errors
    /// When there was a failure.
    pub fn into_result(self) -> Result<TreeProgress> {
        match self.failures.into_iter().next() {
            Some(failure) => Err(failure.error),
            None => Ok(self.done),
        }
    }
}

impl Shared {
    /// A ground on which the tree at `path` stands: symbolic links are followed up to its root, and not
    /// below.
    async fn tree_ground(self: &Arc<Self>, path: &[u8]) -> Result<(Arc<Ground>, Names)> {
        let names = Names::parse(path)?;
        let root = self.resolve_directory(&self.root, &names.to_path()).await?;
        Ok((Arc::new(Ground::new(Arc::clone(self), root, false)), names))
    }

    /// As [`Shared::tree_ground`], of a tree that is made if it is not there.
    async fn tree_ground_made(self: &Arc<Self>, path: &[u8]) -> Result<Arc<Ground>> {
        match self.tree_ground(path).await {
            Err(error) if error.is_not_found() => {
                let names = Names::parse(path)?;
                let made = self
                    .make(&self.root, &names.to_path(), &crate::protocol::NewObject::Directory, 0o777)
                    .await;
                match made {
                    Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
                    _ => Ok(self.tree_ground(path).await?.0),
                }
            }
            found => Ok(found?.0),
        }
    }
}
