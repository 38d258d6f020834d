//! The small files of the state directory: the key of handles, the server's identity and the numbers of
//! exports. Without them the next server could not decode the handles that clients have, so they are
//! written again when they were removed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::{exports, identity};

const NAMES: [&str; 3] = [vfs::KEY_FILE, identity::FILE, exports::IDS_FILE];

/// See the module.
#[derive(Debug)]
pub(super) struct StateFiles {
    directory: PathBuf,
    contents: Mutex<BTreeMap<&'static str, Vec<u8>>>,
}

impl StateFiles {
    /// The files of a state directory, none of which is known yet.
    pub(super) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), contents: Mutex::default() }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads what the files say now.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(super) fn remember(&self) -> io::Result<()> {
        for name in NAMES {
            match fs::read(self.directory.join(name)) {
                Ok(bytes) => {
                    self.contents.lock().insert(name, bytes);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes files again that are missing.
    ///
    /// # Errors
    /// When one cannot be written; there is no file then rather than a part of one.
    pub(super) fn restore(&self) -> io::Result<()> {
        for (name, bytes) in &*self.contents.lock() {
            let path = self.directory.join(name);
            if path.try_exists()? {
                continue;
            }
            let temporary = self.directory.join(format!("{name}.new"));
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            File::open(&self.directory)?.sync_all()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_files_are_written_again_and_others_are_left_alone() {
        let state = tempfile::tempdir().unwrap();
        let path = |name: &str| state.path().join(name);
        fs::write(path(identity::FILE), "identity").unwrap();
        fs::write(path(exports::IDS_FILE), "1 /a\n").unwrap();
        let files = StateFiles::new(state.path());
        files.remember().unwrap();
        fs::remove_file(path(identity::FILE)).unwrap();
        fs::write(path(exports::IDS_FILE), "1 /a\n2 /b\n").unwrap();
        files.restore().unwrap();
        assert_eq!(fs::read(path(identity::FILE)).unwrap(), b"identity");
        assert_eq!(fs::read(path(exports::IDS_FILE)).unwrap(), b"1 /a\n2 /b\n");
        assert!(!path(vfs::KEY_FILE).exists(), "there was none");
    }
}
