//! How a file system is exported.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use server::exports::{ExportOptions, ExportPath};

use crate::back_ends::{DEFAULT, OpenBackEnd};

/// A file system, where it appears, and its rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportSpec {
    /// The directory, or whatever else names the file system to its back end.
    pub directory: PathBuf,
    /// The back end that opens it.
    pub back_end: BackEndChoice,
    /// Where clients see it.
    pub path: ExportPath,
    /// Under which path NFSv3 clients may mount it as well.
    pub mount_path: Option<ExportPath>,
    /// Changes are acknowledged before they are on disk.
    pub asynchronous: bool,
    /// Who may do what.
    pub options: ExportOptions,
}

/// The back end of an export.
#[derive(Clone)]
pub enum BackEndChoice {
    /// A back end of the server's registry, see [`BackEnds`](crate::BackEnds).
    Named(String),
    /// One of this export's own.
    Own(Arc<dyn OpenBackEnd>),
}

impl Default for BackEndChoice {
    fn default() -> Self {
        Self::Named(DEFAULT.to_owned())
    }
}

impl PartialEq for BackEndChoice {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Named(name), Self::Named(other)) => name == other,
            (Self::Own(back_end), Self::Own(other)) => Arc::ptr_eq(back_end, other),
            _ => false,
        }
    }
}

impl Eq for BackEndChoice {}

impl fmt::Debug for BackEndChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.debug_tuple("Named").field(name).finish(),
            Self::Own(_) => f.debug_tuple("Own").finish_non_exhaustive(),
        }
    }
}

impl ExportSpec {
    /// The defaults: `directory` as `/`, durable, for everybody who can connect, superusers as nobody.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            back_end: BackEndChoice::default(),
            path: ExportPath::root(),
            mount_path: None,
            asynchronous: false,
            options: ExportOptions::default(),
        }
    }

    /// Like [`ExportSpec::new`], with a back end of its own. Clients see the export at `path`, which names it
    /// in messages and over restarts.
    pub fn with_back_end(path: ExportPath, back_end: impl OpenBackEnd) -> Self {
        let name = format!("own:{path}");
        Self { back_end: BackEndChoice::Own(Arc::new(back_end)), path, ..Self::new(name) }
    }

    /// True when no rule allows changes.
    pub(super) fn is_read_only(&self) -> bool {
        self.options.rules.iter().all(|rule| rule.read_only)
    }
}
