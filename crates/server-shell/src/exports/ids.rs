//! The numbers of exports, kept in the state directory: handles and locks are bound to them, so that a
//! directory has the same after every start, whatever else is exported then.
//!
//! One line for each directory that was ever exported: its number and its path, in which a byte that is no
//! printable ASCII letter, and the backslash, is `\` and three octal digits.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use server::exports::ExportId;

/// The file in the state directory.
pub(crate) const FILE: &str = "export-ids";
/// The most directories that are remembered. Beyond, those that are not exported are forgotten.
const REMEMBERED_MAX: usize = 4096;

/// The numbers that were given so far.
#[derive(Debug, Default)]
pub(super) struct ExportIds {
    file: Option<PathBuf>,
    /// By path, as it is written.
    known: BTreeMap<String, u32>,
    /// The highest that was ever given.
    last: u32,
}

impl ExportIds {
    /// Those of the state directory; without one they live as long as the process.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub(super) fn load(state_directory: Option<&Path>) -> io::Result<Self> {
        let Some(directory) = state_directory else { return Ok(Self::default()) };
        let file = directory.join(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", file.display()));
        let mut known = BTreeMap::new();
        for line in text.lines() {
            let (id, path) = line.split_once(' ').ok_or_else(damaged)?;
            let id = id.parse::<u32>().ok().filter(|id| *id != 0).ok_or_else(damaged)?;
            known.insert(path.to_owned(), id);
        }
        let last = known.values().copied().max().unwrap_or_default();
        Ok(Self { file: Some(file), known, last })
    }

    /// The numbers of these directories. New ones are on disk when this returns.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(super) fn of<'a>(
        &mut self,
        directories: impl Iterator<Item = &'a Path> + Clone,
    ) -> io::Result<Vec<ExportId>> {
        let keys: Vec<_> = directories.map(escape).collect();
        let (mut known, mut last) = (self.known.clone(), self.last);
        for key in &keys {
            known.entry(key.clone()).or_insert_with(|| {
                last += 1;
                last
            });
        }
        if known.len() > REMEMBERED_MAX {
            known.retain(|key, id| *id == last || keys.contains(key));
        }
        if known != self.known {
            self.write(&known)?;
            (self.known, self.last) = (known, last);
        }
        Ok(keys.iter().map(|key| ExportId(self.known[key])).collect())
    }

    /// How many directories have a number.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Replaces the file whole or not at all.
    fn write(&self, known: &BTreeMap<String, u32>) -> io::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let temporary = path.with_extension("new");
        let mut file = File::create(&temporary)?;
        for (key, id) in known {
            writeln!(file, "{id} {key}")?;
        }
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        match path.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    }
}

fn escape(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'\\' | 0..=b' ' | 0x7f.. => {
                // Writing to a string does not fail.
                let _ = write!(text, "\\{byte:03o}");
            }
            byte => text.push(char::from(*byte)),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &mut ExportIds, paths: &[&str]) -> Vec<u32> {
        ids.of(paths.iter().map(Path::new)).unwrap().into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn a_directory_keeps_its_number_and_no_number_is_given_twice() {
        let state = tempfile::tempdir().unwrap();
        let mut ids = ExportIds::load(Some(state.path())).unwrap();
        assert_eq!(of(&mut ids, &["/b", "/a b\\\n"]), [1, 2]);
        assert_eq!(of(&mut ids, &["/c"]), [3]);
        let mut again = ExportIds::load(Some(state.path())).unwrap();
        assert_eq!(of(&mut again, &["/a b\\\n", "/d", "/b"]), [2, 4, 1]);
    }

    #[test]
    fn a_damaged_file_is_not_taken_for_an_empty_one() {
        let state = tempfile::tempdir().unwrap();
        for text in ["1\n", "0 /a\n", "x /a\n", "-1 /a\n"] {
            fs::write(state.path().join(FILE), text).unwrap();
            assert!(ExportIds::load(Some(state.path())).is_err(), "{text:?}");
        }
    }

    #[test]
    fn remembered_ids_are_bounded() {
        let mut ids = ExportIds::default();
        for index in 0..REMEMBERED_MAX + 10 {
            ids.of([Path::new(&format!("/{index}"))].into_iter()).unwrap();
        }
        assert!(ids.known.len() <= REMEMBERED_MAX);
        assert_eq!(of(&mut ids, &["/new"]), [REMEMBERED_MAX as u32 + 11]);
    }
}
