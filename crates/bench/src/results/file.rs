//! Reading and writing `results.json`.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Results, SCHEMA};

/// The largest document that is read: far above any benchmark, far below what would hurt.
pub const RESULTS_BYTES_MAX: u64 = 256 << 20;

/// Why a result could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system said no.
    #[error("cannot {verb} {}: {source}", path.display())]
    Io {
        /// "read" or "write".
        verb: &'static str,
        /// Which file.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// Longer than [`RESULTS_BYTES_MAX`].
    #[error("{} is longer than {} MiB and cannot be a result of this \
             tool", path.display(), RESULTS_BYTES_MAX >> 20)]
    TooLong {
        /// Which file.
        path: PathBuf,
    },
    /// Not JSON, or not of the shape of a result.
    #[error("{} is not a result of this tool: {source}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// Of another schema.
    #[error(
        "{} has schema {found}, and this version of primetime reads schema {SCHEMA}; use the version that \
         wrote it, or run the benchmark again",
        path.display()
    )]
    Schema {
        /// Which file.
        path: PathBuf,
        /// Its number.
        found: u64,
    },
    /// A number is not finite, which JSON cannot say.
    #[error("a number in the results is not finite, so {} was not written: {source}", path.display())]
    NotFinite {
        /// The file that was to be.
        path: PathBuf,
        /// Where the reader would have stumbled.
        source: serde_json::Error,
    },
    /// A CSV file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Csv {
        /// Which file.
        path: PathBuf,
        /// What the writer said.
        source: csv::Error,
    },
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: u64,
}

impl Results {
    /// Reads a document. Fields of a later tool are ignored; another schema number is an error.
    ///
    /// # Errors
    /// When the file cannot be read, is too long, is no result, or has another schema.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = read_bounded(path)?;
        let malformed = |source| Error::Malformed { path: path.to_owned(), source };
        let SchemaOnly { schema } = serde_json::from_str(&text).map_err(malformed)?;
        if schema != SCHEMA {
            return Err(Error::Schema { path: path.to_owned(), found: schema });
        }
        serde_json::from_str(&text).map_err(malformed)
    }

    /// Writes the document, whole or not at all: into a file beside `path` that then takes its place.
    ///
    /// # Errors
    /// When the file cannot be written, or a number is not finite.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let not_finite = |source| Error::NotFinite { path: path.to_owned(), source };
        let mut text = serde_json::to_string_pretty(self).map_err(not_finite)?;
        // JSON writes what is not finite as null; reading back finds every place where that is not allowed.
        serde_json::from_str::<Self>(&text).map_err(not_finite)?;
        text.push('\n');
        write_whole(path, text.as_bytes())
    }
}

/// Writes `contents` so that a reader never sees half of it.
pub(crate) fn write_whole(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = fs::File::create(&part)
        .and_then(|mut file| file.write_all(contents))
        .and_then(|()| fs::rename(&part, path));
    written.map_err(|source| {
        // The half that is there helps nobody; what matters is the first error.
        let _ = fs::remove_file(&part);
        Error::Io { verb: "write", path: path.to_owned(), source }
    })
}

fn read_bounded(path: &Path) -> Result<String, Error> {
    let io = |source| Error::Io { verb: "read", path: path.to_owned(), source };
    let file = fs::File::open(path).map_err(io)?;
    let mut text = String::new();
    file.take(RESULTS_BYTES_MAX + 1).read_to_string(&mut text).map_err(io)?;
    if text.len() as u64 > RESULTS_BYTES_MAX {
        return Err(Error::TooLong { path: path.to_owned() });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn saved_results_load_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.json");
        let results = samples::results();
        results.save(&path).unwrap();
        assert!(Results::load(&path).unwrap() == results, "something was lost");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn unknown_fields_are_tolerated() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.json");
        let mut document = serde_json::to_value(samples::results()).unwrap();
        document["moon_phase"] = "full".into();
        document["cells"][0]["moon_phase"] = "new".into();
        document["environment"]["moon_phase"] = "new".into();
        fs::write(&path, document.to_string()).unwrap();
        assert!(Results::load(&path).unwrap() == samples::results(), "something was lost");
    }

    #[test]
    fn another_schema_is_refused_with_both_numbers() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.json");
        fs::write(&path, r#"{"schema": 9, "cells": "of another shape"}"#).unwrap();
        let error = Results::load(&path).unwrap_err().to_string();
        assert!(error.contains("schema 9") && error.contains("schema 1"), "{error}");
    }

    #[test]
    fn nonsense_is_refused_with_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.json");
        fs::write(&path, "{ \"schema\": 1,\n \"cells\": 5 }").unwrap();
        assert!(Results::load(&path).unwrap_err().to_string().contains("line 2"));
        assert!(matches!(Results::load(directory.path().join("absent").as_path()), Err(Error::Io { .. })));
    }

    #[test]
    fn a_number_that_is_not_finite_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.json");
        let mut results = samples::results();
        results.cells[0].mean = f64::NAN;
        assert!(matches!(results.save(&path), Err(Error::NotFinite { .. })));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
