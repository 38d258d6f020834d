//! The exports of a running server, which can be replaced while it runs.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use vfs::FileSystem;

use super::{Export, ExportSet, InvalidExports};

/// The exports as they are now.
#[derive(Debug)]
pub struct Exports<F> {
    now: ArcSwap<ExportSet<F>>,
}

/// A set of exports that somebody works with. It stays as it is, whatever replaces it.
pub type ExportsInUse<F> = Guard<Arc<ExportSet<F>>>;

impl<F: FileSystem> Exports<F> {
    /// Begins with the given exports.
    ///
    /// # Errors
    /// As [`ExportSet::new`].
    pub fn new(list: Vec<Export<F>>) -> Result<Self, InvalidExports> {
        Ok(ExportSet::new(list)?.into())
    }

    /// Begins with exactly one export; its path should be `/`.
    pub fn single(export: Export<F>) -> Self {
        ExportSet::single(export).into()
    }

    /// The exports now: to be asked once for a request. Takes no lock and writes nothing that other threads
    /// read.
    pub fn load(&self) -> ExportsInUse<F> {
        self.now.load()
    }

    /// The exports now, for who works with them for longer than a request takes.
    pub fn load_full(&self) -> Arc<ExportSet<F>> {
        self.now.load_full()
    }

    /// Requests that come from now on work with `set`.
    pub fn replace(&self, set: ExportSet<F>) {
        self.now.store(Arc::new(set));
    }
}

impl<F: FileSystem> From<ExportSet<F>> for Exports<F> {
    fn from(set: ExportSet<F>) -> Self {
        Self { now: ArcSwap::from_pointee(set) }
    }
}
