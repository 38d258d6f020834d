//! The folders on the host that guests see: one for each guest, and those that all guests of a lab share.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use tempfile::TempDir;

use super::GuestOptions;
use super::namespace::is_stale;

/// Not /tmp: that is a tmpfs in the guest, and the first process must be found before anything is mounted.
const PARENT: &str = "/var/tmp";

/// Followed by the id of the process that made the folder.
const PREFIX: &str = "primetime-guest-";

const INIT: &str = include_str!("init.sh");

/// Removed when dropped.
#[derive(Debug)]
pub(super) struct Folder(TempDir);

impl Folder {
    /// Lays down all that the guest reads. `settings` is for its first process.
    pub(super) fn create(options: &GuestOptions, settings: &str) -> io::Result<Folder> {
        let prefix = format!("{PREFIX}{}-", process::id());
        let folder = Folder(tempfile::Builder::new().prefix(&prefix).tempdir_in(PARENT)?);
        fs::create_dir(folder.exchange())?;
        fs::create_dir(folder.control())?;
        fs::write(folder.init(), INIT)?;
        fs::set_permissions(folder.init(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        fs::write(folder.path().join("settings"), settings)?;
        fs::write(folder.path().join("script.sh"), &options.script)?;
        if let Some(disk_mb) = options.disk_mb {
            fs::File::create(folder.disk())?.set_len(u64::from(disk_mb) << 20)?;
        }
        for (path, contents) in &options.files {
            let path = folder.exchange().join(path);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, contents)?;
        }
        Ok(folder)
    }

    /// An empty folder for all guests of a lab.
    pub(super) fn create_for_all(name: &str) -> io::Result<TempDir> {
        tempfile::Builder::new().prefix(&format!("{PREFIX}{}-{name}-", process::id())).tempdir_in(PARENT)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The program that the kernel starts.
    pub(super) fn init(&self) -> PathBuf {
        self.path().join("init.sh")
    }

    /// Where the kernel keeps its pid file and control socket.
    pub(super) fn control(&self) -> PathBuf {
        self.path().join("control")
    }

    /// The guest's disk, where it has one.
    pub(super) fn disk(&self) -> PathBuf {
        self.path().join("disk")
    }

    pub(super) fn exchange(&self) -> PathBuf {
        self.path().join("exchange")
    }

    /// The exit code of the script, if it came to its end.
    pub(super) fn exit_code(&self) -> Option<i32> {
        fs::read_to_string(self.path().join("exit_code")).ok()?.trim().parse().ok()
    }

    /// Removes the folders of processes that are gone.
    pub(super) fn remove_stale() -> io::Result<()> {
        for entry in fs::read_dir(PARENT)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| is_stale(name, PREFIX)) && entry.file_type()?.is_dir() {
                // Another lab may be removing it at the same time.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }
}
