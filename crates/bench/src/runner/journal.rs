//! What was measured so far, on disk: one line of JSON for each run, so that an end before the end costs one
//! run.
//!
//! Owns `runs.jsonl`: the first line says what is measured and where, each other line is a run. It is there
//! only while a benchmark runs, and after one that did not reach its end.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Arm, Error};
use crate::results::{self, Cell, Environment, RESULTS_BYTES_MAX, Run, Setting};
use crate::statistics::Look;

/// Its name in the directory for results.
pub(crate) const NAME: &str = "runs.jsonl";
/// The format; another one is not continued.
const FORMAT: u32 = 1;
/// Runs between two fsyncs: they are seconds of work, and a disk that is busy disturbs what is measured.
const SYNC_EVERY: u32 = 8;

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    journal: u32,
    environment: Environment,
}

/// A run and what it is one of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) setting: Setting,
    pub(crate) run: Run,
}

/// A benchmark that did not reach its end.
#[derive(Debug)]
pub(crate) struct Unfinished {
    /// Of its beginning.
    pub(crate) environment: Environment,
    /// Its runs, in the order in which they were made.
    pub(crate) entries: Vec<Entry>,
}

impl Unfinished {
    /// What `directory` has of a benchmark that was ended; none when there is none. A last line that was cut
    /// off is left out.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>, Error> {
        let path = directory.join(NAME);
        let io = |source| results::Error::Io { verb: "read", path: path.clone(), source };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error).into()),
        };
        let mut text = String::new();
        file.take(RESULTS_BYTES_MAX).read_to_string(&mut text).map_err(io)?;
        let mut lines = text.lines();
        let malformed = |source| results::Error::Malformed { path: path.clone(), source };
        let header: Header = serde_json::from_str(lines.next().unwrap_or_default()).map_err(malformed)?;
        if header.journal != FORMAT {
            return Err(Error::Usage(format!(
                "{} is of another version of primetime and cannot be continued; begin again without --resume",
                path.display()
            )));
        }
        let entries = lines.map_while(|line| serde_json::from_str(line).ok()).collect();
        Ok(Some(Self { environment: header.environment, entries }))
    }

    /// The runs of blocks in which all `arms` were measured. Those of a block that was broken off are made
    /// again, because its runs are compared with each other.
    pub(crate) fn whole_blocks(self, arms: usize) -> Vec<Entry> {
        let mut sizes: BTreeMap<(String, u32), usize> = BTreeMap::new();
        let block = |entry: &Entry| (key(&entry.setting.without_arm()), entry.run.block);
        for entry in &self.entries {
            *sizes.entry(block(entry)).or_default() += 1;
        }
        self.entries.into_iter().filter(|entry| sizes.get(&block(entry)) == Some(&arms)).collect()
    }
}

/// The runs of a benchmark, of which each is on disk soon after it was made.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    environment: Environment,
    entries: Vec<Entry>,
    /// Where the run of a setting in a block is among the entries.
    index: BTreeMap<(String, u32), usize>,
    unsynced: u32,
}

impl Journal {
    /// Begins a journal in `directory`, with what an earlier one is continued by.
    pub(crate) fn begin(
        directory: &Path,
        environment: &Environment,
        earlier: Vec<Entry>,
    ) -> Result<Self, Error> {
        let path = directory.join(NAME);
        let part = directory.join(format!("{NAME}.part"));
        let io = |source| results::Error::Io { verb: "write", path: path.clone(), source };
        let header = Header { journal: FORMAT, environment: environment.clone() };
        let mut text = line(&header, &path)?;
        for entry in &earlier {
            text.push_str(&line(entry, &path)?);
        }
        // Whole or not at all: the earlier journal must not be lost while it is taken over.
        let mut file = File::create(&part).map_err(io)?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_data())
            .and_then(|()| fs::rename(&part, &path))
            .map_err(io)?;
        let places = earlier.iter().map(|entry| (key(&entry.setting), entry.run.block)).zip(0..);
        let index = places.collect();
        Ok(Self { path, file, environment: environment.clone(), entries: earlier, index, unsynced: 0 })
    }

    /// Adds a run.
    pub(crate) fn add(&mut self, entry: Entry) -> Result<(), Error> {
        let io = |source| results::Error::Io { verb: "write", path: self.path.clone(), source };
        self.file.write_all(line(&entry, &self.path)?.as_bytes()).map_err(io)?;
        self.index.insert((key(&entry.setting), entry.run.block), self.entries.len());
        self.entries.push(entry);
        self.unsynced += 1;
        if self.unsynced >= SYNC_EVERY {
            self.file.sync_data().map_err(io)?;
            self.unsynced = 0;
        }
        Ok(())
    }

    /// The run of `setting` in `block`, when it was made already.
    pub(crate) fn run(&self, setting: &Setting, block: u32) -> Option<&Run> {
        self.index.get(&(key(setting), block)).map(|place| &self.entries[*place].run)
    }

    /// What the benchmark was begun with.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The cells whose runs could be compared at least once, in the order in which they were begun. Runs
    /// after the last of the `looks` that could be made are left out.
    pub(crate) fn complete_cells(&self, looks: &[Look], arms: &[Arm]) -> Vec<Cell> {
        let mut settings: Vec<(&Setting, Vec<Run>)> = Vec::new();
        for entry in &self.entries {
            match settings.iter_mut().find(|(setting, _)| **setting == entry.setting) {
                Some((_, runs)) => runs.push(entry.run.clone()),
                None => settings.push((&entry.setting, vec![entry.run.clone()])),
            }
        }
        let complete = |(setting, mut made): (&Setting, Vec<Run>)| {
            let last = looks.iter().rev().find(|look| look.blocks as usize <= made.len())?;
            made.retain(|run| run.block < last.blocks);
            let cell = Cell::from_runs(setting.clone(), made)?;
            let against = arms.iter().find(|arm| arm.id == setting.arm_id()).map(|arm| arm.against.clone());
            Some(Cell { looks: looks.to_vec(), against: against.unwrap_or_default(), ..cell })
        };
        settings.into_iter().filter_map(complete).collect()
    }

    /// Whether nothing was measured yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes the journal: what it was kept for is written, or was not worth keeping.
    pub(crate) fn remove(self) -> Result<(), Error> {
        let path = self.path;
        fs::remove_file(&path).map_err(|source| results::Error::Io { verb: "remove", path, source }.into())
    }
}

/// A setting as the key of a map.
fn key(setting: &Setting) -> String {
    // Its debug text has every field, and numbers to the last bit.
    format!("{setting:?}")
}

fn line(value: &impl Serialize, path: &Path) -> Result<String, Error> {
    let text = serde_json::to_string(value)
        .map_err(|source| results::Error::NotFinite { path: path.to_owned(), source })?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::statistics::single;

    fn entry(version: &str, block: u32) -> Entry {
        Entry { setting: samples::setting(version, 0.0), run: Run { block, value: 10.0, ..Run::default() } }
    }

    #[test]
    fn journal_reads_complete_lines_only() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Unfinished::read(directory.path()).unwrap().is_none());
        let environment = samples::results().environment;
        let mut journal = Journal::begin(directory.path(), &environment, vec![entry("3", 0)]).unwrap();
        journal.add(entry("4.1", 0)).unwrap();
        journal.add(entry("4.1", 1)).unwrap();
        let path = directory.path().join(NAME);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 20]).unwrap();
        let found = Unfinished::read(directory.path()).unwrap().unwrap();
        assert_eq!(found.environment, environment);
        assert_eq!(found.entries, [entry("3", 0), entry("4.1", 0)]);
        assert_eq!(found.whole_blocks(2).len(), 2);
        assert_eq!(Unfinished::read(directory.path()).unwrap().unwrap().whole_blocks(3).len(), 0);
        journal.remove().unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_settings_with_all_runs_are_complete() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(directory.path(), &Environment::default(), Vec::new()).unwrap();
        assert!(journal.is_empty());
        for entry in [entry("3", 0), entry("4.1", 0), entry("4.1", 1)] {
            journal.add(entry).unwrap();
        }
        let cells = journal.complete_cells(&single(2), &[]);
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].setting.version, "4.1");
        assert!(journal.run(&samples::setting("3", 0.0), 0).is_some());
        assert_eq!(journal.run(&samples::setting("3", 0.0), 1), None);
    }
}
