//! The experiments that come with the tool, and how a name on the command line finds one.

use std::fs;
use std::io::Read;
use std::path::Path;

use super::error::nearest;
use super::{Error, Experiment, parse};

/// An experiment file is a page of text; more than this is something else.
const FILE_BYTES_MAX: u64 = 1 << 20;

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$((
            concat!("experiments/", $name, ".toml"),
            include_str!(concat!("../../../../experiments/", $name, ".toml")),
        )),*]
    };
}

/// File name and text, in the order in which they are run. The standard benchmark is the first [`STANDARD`]
/// of them.
const SOURCES: [(&str, &str); 22] = embedded![
    "sequential-read",
    "sequential-write",
    "random-read",
    "random-write",
    "create",
    "small-file-read",
    "locked-read",
    "locked-read-once",
    "file-server",
    "web-server",
    "mail-server",
    "winner-loser",
    "readahead-off",
    "unsynced-write",
    "random-read-over-time",
    "create-by-threads",
    "create-by-size",
    "delegation-recall",
    "bonnie",
    "kernel-tree",
    "disk-latency",
    "security-price",
];

/// Experiments of the standard benchmark.
const STANDARD: usize = 8;

/// The built-in experiments, in the order in which they are run.
#[must_use]
pub fn builtin() -> Vec<Experiment> {
    SOURCES.iter().map(own).collect()
}

/// Those of them that compare versions: all that `--all` runs.
#[must_use]
pub fn comparing_versions() -> Vec<Experiment> {
    builtin().into_iter().filter(|experiment| experiment.security.is_empty()).collect()
}

/// Those of them that the benchmark runs when none is named.
#[must_use]
pub fn standard() -> Vec<Experiment> {
    SOURCES.iter().take(STANDARD).map(own).collect()
}

fn own((file, source): &(&str, &str)) -> Experiment {
    parse(source, file).expect("the built-in experiments are tested")
}

/// The experiment called `name`: a built-in one, or else the file of that path (which ends in `.toml` or has
/// a `/`).
///
/// # Errors
/// When there is none of that name, or its file cannot be read or is wrong.
pub fn find(name: &str) -> Result<Experiment, Error> {
    if name.contains('/') || name.ends_with(".toml") {
        return read(Path::new(name));
    }
    let named = |(file, _): &&(&str, &str)| *file == format!("experiments/{name}.toml");
    match SOURCES.iter().find(named) {
        Some((file, source)) => parse(source, file),
        None => Err(Error::Unknown {
            name: name.to_owned(),
            nearest: nearest(
                name,
                SOURCES.iter().filter_map(|(file, _)| Path::new(file).file_stem()?.to_str()),
            ),
        }),
    }
}

fn read(path: &Path) -> Result<Experiment, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let mut source = String::new();
    fs::File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut source))
        .map_err(unreadable)?;
    if source.len() as u64 > FILE_BYTES_MAX {
        return Err(Error::TooLong { path: path.to_owned() });
    }
    parse(&source, &path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_experiment_parses_and_bears_the_name_of_its_file() {
        for ((file, source), experiment) in SOURCES.iter().zip(builtin()) {
            assert_eq!(*file, format!("experiments/{}.toml", experiment.name));
            assert_eq!(parse(source, file).unwrap(), experiment);
            assert!(experiment.question.ends_with('?'), "{file}");
            // No study has measured the price of security.
            let is_published = experiment.security.is_empty();
            assert_eq!(experiment.paper.is_some(), is_published, "the published size of {file}");
        }
    }

    #[test]
    fn locked_reads_have_the_published_size() {
        let workload = find("locked-read").unwrap().paper.unwrap().workload;
        assert_eq!((workload.files(), workload.file_bytes(), workload.seconds()), (Some(1000), 4096, None));
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest() {
        let error = find("loked-read").unwrap_err().to_string();
        assert!(error.contains("did you mean `locked-read`?"), "{error}");
    }

    #[test]
    fn an_experiment_can_be_a_file_of_ones_own() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("own.toml");
        fs::write(&path, SOURCES[0].1.replace("sequential-read\"", "own\"")).unwrap();
        assert_eq!(find(path.to_str().unwrap()).unwrap().name, "own");
        let absent = directory.path().join("absent.toml");
        assert!(matches!(find(absent.to_str().unwrap()), Err(Error::Unreadable { .. })));
    }
}
