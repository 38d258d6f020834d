//! What this machine lacks, and how that is told.

use std::path::Path;

/// Why something cannot be had on this machine: one sentence with the cause and, where there is one, the
/// mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub(crate) String);

const PROGRAM_FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Whether a program is where the system's programs are.
pub(crate) fn is_installed(program: &str) -> bool {
    PROGRAM_FOLDERS.iter().any(|folder| Path::new(folder).join(program).exists())
}
