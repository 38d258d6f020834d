//! The registry of back ends. They open the file systems of exports, by the names that a configuration uses.

mod local;
mod memory;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use vfs::AnyFileSystem;

use local::LocalDirectories;
use memory::InMemory;

use super::exports::BackEndChoice;

/// The back end of exports that name none: directories of this host.
pub(super) const DEFAULT: &str = "local";

/// How a file system is opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The directory, or another name of a file system that this back end knows.
    pub location: &'a Path,
    /// Tells the handles of this export from those of all others. It stays the same over restarts.
    pub name_space: u32,
    /// The directory of the keys; `None` when they live as long as the process.
    pub state_directory: Option<&'a Path>,
    /// Changes are acknowledged before they are on stable storage.
    pub is_asynchronous: bool,
    /// No rule of the export allows changes.
    pub is_read_only: bool,
    /// Changes by other processes are reported, for the recall of delegations.
    pub watches: bool,
}

/// Opens the file systems of one kind of back end.
pub trait OpenBackEnd: Send + Sync + 'static {
    /// True when locations are directories of this host: the server then finds exports that overlap, and
    /// those whose file system is dead or is another one after a restart.
    fn opens_directories(&self) -> bool {
        false
    }

    /// Opens a file system. This may block; a start or reload waits for some seconds.
    ///
    /// # Errors
    /// Why it cannot be exported.
    fn open(&self, opening: &Opening<'_>) -> vfs::Result<AnyFileSystem>;
}

/// All back ends of a server. Clones share them.
#[derive(Clone)]
pub struct BackEnds(Arc<BTreeMap<String, Arc<dyn OpenBackEnd>>>);

impl Default for BackEnds {
    /// `local`, for directories of this host, and `memory`, for what need not outlive the server.
    fn default() -> Self {
        let own: [(&str, Arc<dyn OpenBackEnd>); 2] =
            [(DEFAULT, Arc::new(LocalDirectories)), ("memory", Arc::new(InMemory))];
        Self(Arc::new(own.map(|(name, back_end)| (name.to_owned(), back_end)).into()))
    }
}

impl BackEnds {
    /// Adds a back end under `name`, in place of one of that name.
    #[must_use]
    pub fn with(self, name: &str, back_end: impl OpenBackEnd) -> Self {
        let mut all = (*self.0).clone();
        all.insert(name.to_owned(), Arc::new(back_end));
        Self(Arc::new(all))
    }

    /// Returns what opens an export; `None` for a name that is not registered.
    pub(super) fn find<'a>(&'a self, choice: &'a BackEndChoice) -> Option<&'a Arc<dyn OpenBackEnd>> {
        match choice {
            BackEndChoice::Named(name) => self.0.get(name),
            BackEndChoice::Own(back_end) => Some(back_end),
        }
    }

    /// The names of all, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Equal where both have the same names.
impl PartialEq for BackEnds {
    fn eq(&self, other: &Self) -> bool {
        self.0.keys().eq(other.0.keys())
    }
}

impl fmt::Debug for BackEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
