//! What is in the directory for results already: results of another plan are put aside, never overwritten.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::Error;
use super::journal::{self, Unfinished};
use crate::results::Results;

/// Everything that a benchmark writes.
const FILES: [&str; 8] = [
    "results.json",
    "report.html",
    "summary.md",
    "cells.csv",
    "runs.csv",
    "comparisons.csv",
    "rpcs.csv",
    journal::NAME,
];

/// Puts aside what `directory` has of a benchmark with another plan, or of one that was interrupted, into
/// `earlier-1`, `earlier-2` and so on in it. Gives a sentence when there was something. Complete results of
/// the same plan stay: the same question was asked again.
pub(crate) fn put_aside(directory: &Path, plan: &BTreeMap<String, String>) -> Result<Option<String>, Error> {
    let journal = directory.join(journal::NAME);
    // One that cannot be read is put aside like any other.
    if Unfinished::read(directory).is_ok_and(|found| found.is_some_and(|found| found.entries.is_empty())) {
        fs::remove_file(&journal).map_err(|source| Error::Out { path: journal.clone(), source })?;
    }
    let interrupted = journal.exists();
    let results = directory.join("results.json");
    if !interrupted && !results.exists() {
        return Ok(None);
    }
    let same = Results::load(&results).is_ok_and(|results| results.environment.plan == *plan);
    if same && !interrupted {
        return Ok(None);
    }
    let aside = (1..)
        .map(|number| directory.join(format!("earlier-{number}")))
        .find(|path| !path.exists())
        .unwrap_or_else(|| directory.join("earlier"));
    let moved = fs::create_dir(&aside).and_then(|()| {
        for name in FILES {
            match fs::rename(directory.join(name), aside.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    });
    moved.map_err(|source| Error::Out { path: aside.clone(), source })?;
    let what = if interrupted { "An interrupted benchmark" } else { "The results of another plan" };
    Ok(Some(format!("{what} in {} was put into {}.", directory.display(), aside.display())))
}

/// What is continued; an error when there is nothing, or when it was begun with another plan.
pub(crate) fn to_continue(directory: &Path, plan: &BTreeMap<String, String>) -> Result<Unfinished, Error> {
    let place = directory.display();
    let Some(unfinished) = Unfinished::read(directory)? else {
        return Err(Error::Usage(format!(
            "there is no interrupted benchmark in {place}; leave out --resume to begin one"
        )));
    };
    let begun = &unfinished.environment.plan;
    let differs = begun.keys().chain(plan.keys()).find(|name| begun.get(*name) != plan.get(*name));
    if let Some(name) = differs {
        let [before, now] = [begun, plan].map(|plan| plan.get(name).map_or("unknown", String::as_str));
        return Err(Error::Usage(format!(
            "the interrupted benchmark in {place} was begun with another plan ({}: {before}, now {now}); \
             continue it with the options it was begun with, or begin anew without --resume",
            name.replace('_', " ")
        )));
    }
    Ok(unfinished)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn results_of_another_plan_are_put_aside_and_those_of_the_same_stay() {
        let directory = tempfile::tempdir().unwrap();
        let results = samples::results();
        assert_eq!(put_aside(directory.path(), &results.environment.plan).unwrap(), None);
        results.save(&directory.path().join("results.json")).unwrap();
        assert_eq!(put_aside(directory.path(), &results.environment.plan).unwrap(), None);
        for number in 1..=2 {
            results.save(&directory.path().join("results.json")).unwrap();
            let told = put_aside(directory.path(), &BTreeMap::new()).unwrap().unwrap();
            assert!(told.contains(&format!("earlier-{number}")), "{told}");
            assert!(directory.path().join(format!("earlier-{number}/results.json")).is_file());
            assert!(!directory.path().join("results.json").exists());
        }
    }

    #[test]
    fn an_interrupted_benchmark_is_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let environment = samples::results().environment;
        drop(journal::Journal::begin(directory.path(), &environment, Vec::new()).unwrap());
        assert_eq!(put_aside(directory.path(), &environment.plan).unwrap(), None, "nothing was measured");
        let entry =
            journal::Entry { setting: samples::setting("3", 0.0), run: crate::results::Run::default() };
        drop(journal::Journal::begin(directory.path(), &environment, vec![entry]).unwrap());
        let told = put_aside(directory.path(), &environment.plan).unwrap().unwrap();
        assert!(told.contains("interrupted"), "{told}");
        assert!(directory.path().join("earlier-1").join(journal::NAME).is_file());
    }

    #[test]
    fn only_the_same_plan_is_continued() {
        let directory = tempfile::tempdir().unwrap();
        let environment = samples::results().environment;
        let error = to_continue(directory.path(), &environment.plan).unwrap_err().to_string();
        assert!(error.contains("no interrupted benchmark"), "{error}");
        drop(journal::Journal::begin(directory.path(), &environment, Vec::new()).unwrap());
        assert!(to_continue(directory.path(), &environment.plan).is_ok());
        let mut other = environment.plan.clone();
        other.insert("runs".to_owned(), "7".to_owned());
        let error = to_continue(directory.path(), &other).unwrap_err().to_string();
        assert!(error.contains("(runs: 5, now 7)"), "{error}");
    }
}
