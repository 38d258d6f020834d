//! From one place at the server to another, and which way a copy goes.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::arrival::{ARRIVALS_MAX, receive};
use super::departure::depart;
use super::{FAILURES_MAX, Location, TreeOptions, TreeReport};
use crate::error::{Error, Result};
use crate::items::Names;
use crate::shared::Shared;

impl Shared {
    /// Copies what is in one directory to another, which is made if it is not there.
    pub(crate) async fn copy_tree(
        self: &Arc<Self>,
        from: &Location,
        to: &Location,
        options: &TreeOptions,
    ) -> Result<TreeReport> {
        match (from, to) {
            (Location::Local(from), Location::Remote(to)) => self.upload(from, to, options).await,
            (Location::Remote(from), Location::Local(to)) => self.download(from, to, options).await,
            (Location::Remote(from), Location::Remote(to)) => self.replicate(from, self, to, options).await,
            (Location::Local(_), Location::Local(_)) => {
                Err(Error::Usage("one end of a copy must be at the server"))
            }
        }
    }

    /// Copies what is in one directory to one of another client, or of the same.
    pub(crate) async fn replicate(
        self: &Arc<Self>,
        from: &[u8],
        other: &Arc<Self>,
        to: &[u8],
        options: &TreeOptions,
    ) -> Result<TreeReport> {
        other.check_writable()?;
        if Arc::ptr_eq(self, other) && Names::parse(to)?.is_within(&Names::parse(from)?) {
            return Err(Error::Usage("a tree is not copied into itself"));
        }
        let source = self.tree_ground(from).await?;
        let target = other.tree_ground_made(to).await?;
        let (sender, arrivals) = mpsc::channel(ARRIVALS_MAX);
        let (read, written) =
            tokio::join!(depart(source, sender, options), receive(target, arrivals, options));
        Ok(written?.with_failures_of(read))
    }
}

impl TreeReport {
    /// What could not be read could not be copied.
    pub(super) fn with_failures_of(mut self, read: Self) -> Self {
        self.failures_total += read.failures_total;
        self.failures.extend(read.failures);
        self.failures.truncate(FAILURES_MAX);
        // Both have counted the requests of the same client.
        self.done.requests = self.done.requests.max(read.done.requests);
        self
    }
}
