//! The entries of the directory: their names are numbers, so that one bit for each tells whether it came.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A directory of empty files.
pub struct Folder {
    path: PathBuf,
    entries: usize,
    // Removed at the end alone: ext4 makes files slowly for minutes after others were removed.
    _below: Option<TempDir>,
}

impl Folder {
    /// Makes what is not there yet, in `kept`, or in a directory that is removed at the end.
    pub fn make(entries: usize, kept: Option<&Path>) -> Self {
        // Where the other server's directory is, too.
        let below = kept.is_none().then(|| tempfile::tempdir_in("/var/tmp").expect("temporary directory"));
        let path = kept.or(below.as_ref().map(TempDir::path)).expect("one of the two").join("export");
        if !path.is_dir() {
            fs::create_dir_all(&path).expect("directory");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("directory");
        }
        for file in (0..entries).map(|number| path.join(name(number))) {
            if !file.exists() {
                fs::write(file, "").expect("file");
            }
        }
        Self { path, entries, _below: below }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the files names in another directory of the same file system, too.
    pub fn link_into(&self, other: &Path) {
        for number in 0..self.entries {
            fs::hard_link(self.path.join(name(number)), other.join(name(number))).expect("link");
        }
    }
}

/// Of 16 bytes.
pub fn name(number: usize) -> String {
    format!("{number:016}")
}

/// Which names a listing has had.
pub struct Seen {
    bits: Vec<u64>,
    count: usize,
}

impl Seen {
    pub fn new(entries: usize) -> Self {
        Self { bits: vec![0; entries.div_ceil(64)], count: 0 }
    }

    /// Takes a name; panics when it came before, or is none of the directory's.
    pub fn take(&mut self, name: &[u8]) {
        if name == b"." || name == b".." {
            return;
        }
        let digits = name.iter().map(|digit| usize::from(digit.wrapping_sub(b'0')));
        let number = digits.fold(0, |number: usize, digit| number.wrapping_mul(10).wrapping_add(digit));
        let bit = 1 << (number % 64);
        let word = self.bits.get_mut(number / 64).unwrap_or_else(|| panic!("a strange name {name:?}"));
        assert_eq!(*word & bit, 0, "{number} came twice");
        *word |= bit;
        self.count += 1;
    }

    /// Panics unless every name came.
    pub fn check(&self, entries: usize) {
        assert_eq!(self.count, entries, "names that came");
    }
}
