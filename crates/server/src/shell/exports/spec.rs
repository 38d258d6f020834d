//! What a directory is exported as.

use std::path::PathBuf;

use crate::exports::{ExportOptions, ExportPath};

/// A directory, where it appears, and its rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportSpec {
    /// The directory.
    pub directory: PathBuf,
    /// Where clients see it.
    pub path: ExportPath,
    /// Under which path NFSv3 clients may mount it as well.
    pub mount_path: Option<ExportPath>,
    /// Changes are acknowledged before they are on disk.
    pub asynchronous: bool,
    /// Who may do what.
    pub options: ExportOptions,
}

impl ExportSpec {
    /// The defaults: `directory` as `/`, durable, for everybody who can connect, superusers as nobody.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            path: ExportPath::root(),
            mount_path: None,
            asynchronous: false,
            options: ExportOptions::default(),
        }
    }

    /// True when nobody may change anything.
    pub(super) fn is_read_only(&self) -> bool {
        self.options.rules.iter().all(|rule| rule.read_only)
    }
}
