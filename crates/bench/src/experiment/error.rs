//! What is wrong with an experiment, where, and what was probably meant.

use std::path::PathBuf;

/// Why there is no such experiment.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something in the file is wrong.
    #[error("{file}:{line}: {message}{}", hint(nearest.as_deref()))]
    Invalid {
        /// The file as it was named.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
        /// The valid word that is most like the one that stands there.
        nearest: Option<String>,
    },
    /// No built-in experiment has that name, and it names no file.
    #[error("there is no experiment `{name}`{}; `primetime bench list` shows them \
             all", hint(nearest.as_deref()))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The most similar one.
        nearest: Option<String>,
    },
    /// The file cannot be read.
    #[error("cannot read the experiment {}: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is far too long for an experiment.
    #[error("{} is too long for an experiment", path.display())]
    TooLong {
        /// Which file.
        path: PathBuf,
    },
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |word| format!("; did you mean `{word}`?"))
}

/// The word of `valid` most like `word`, if any is like it at all: at most a third of its letters (two for
/// short words) added, dropped, changed or swapped with a neighbour, capitals aside.
pub(crate) fn nearest<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let lower = word.to_lowercase();
    valid
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            let length = candidate.chars().count();
            *distance < length && *distance <= (length / 3).max(2)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_the_one_that_was_meant() {
        let names = ["sequential-read", "sequential-write", "random-read", "create"];
        assert_eq!(nearest("sequental-reed", names).as_deref(), Some("sequential-read"));
        assert_eq!(nearest("CREATE", names).as_deref(), Some("create"));
        assert_eq!(nearest("kib", ["B", "KiB"]).as_deref(), Some("KiB"));
        assert_eq!(nearest("bicycle", names), None);
        assert_eq!(nearest("", ["B"]), None);
    }
}
