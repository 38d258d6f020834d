//! What is left of a guest when it is gone.

use std::path::PathBuf;

use super::folder::Folder;

/// The end of a guest. Its folder is removed when this is dropped.
#[derive(Debug)]
pub struct GuestResult {
    /// The script's exit code. `None` if the script did not come to its end: the time limit, a kernel that
    /// crashed, or a step before the script that failed; `output` and `console` tell which.
    pub exit_code: Option<i32>,
    /// What the script, and the steps before it, printed to both streams. Bounded: 16 MiB, then a note of how
    /// much is missing.
    pub output: String,
    /// What the guest's kernel printed. Bounded in the same way.
    pub console: String,
    pub(super) folder: Folder,
}

impl GuestResult {
    /// The folder that was `$EXCHANGE` in the guest.
    pub fn exchange(&self) -> PathBuf {
        self.folder.exchange()
    }

    /// The image of the guest's disk, where it had one.
    pub fn disk(&self) -> PathBuf {
        self.folder.disk()
    }

    /// The text of a file that the guest left in its exchange folder.
    pub fn read(&self, name: &str) -> std::io::Result<String> {
        std::fs::read_to_string(self.exchange().join(name))
    }
}
