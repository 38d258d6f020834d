//! The exhibits of the studies: figures and tables by name, each with the command that measures it again.

use serde::Deserialize;

const SOURCE: &str = include_str!("../../../studies/exhibits.toml");

/// A published figure or table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exhibit {
    /// Lower-case words joined by `-`.
    pub name: String,
    /// Where it was published.
    pub source: String,
    /// What it shows, in one sentence.
    pub shows: String,
    /// Whether it is one of `primetime bench hash-cast`.
    #[serde(default)]
    pub hash_cast: bool,
    /// The arguments of the command.
    pub arguments: Vec<String>,
    /// What has changed since it was published, or why what is measured here differs.
    pub since: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    exhibit: Vec<Exhibit>,
}

/// Returns all exhibits, in the order of their studies.
#[must_use]
pub fn exhibits() -> Vec<Exhibit> {
    let document: Document = toml::from_str(SOURCE).expect("the exhibits are tested");
    document.exhibit
}

/// Returns the exhibit called `name`, or a sentence with the nearest one.
///
/// # Errors
/// When there is none of that name.
pub fn find(name: &str) -> Result<Exhibit, String> {
    let all = exhibits();
    if let Some(found) = all.iter().find(|exhibit| exhibit.name == name) {
        return Ok(found.clone());
    }
    let names: Vec<&str> = all.iter().map(|exhibit| exhibit.name.as_str()).collect();
    let nearest = crate::experiment::nearest(name, names);
    let hint = nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"));
    Err(format!("there is no exhibit `{name}`{hint} (`primetime bench study` shows all)"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::experiment;

    #[test]
    fn every_exhibit_has_a_name_of_its_own_and_an_experiment() {
        let all = exhibits();
        let names: BTreeSet<&str> = all.iter().map(|exhibit| exhibit.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        for exhibit in &all {
            let place = exhibit.arguments.iter().position(|word| word == "--experiment");
            let experiment = place.and_then(|place| exhibit.arguments.get(place + 1));
            assert_eq!(experiment.is_none(), exhibit.hash_cast, "{}", exhibit.name);
            assert!(experiment.is_none_or(|name| experiment::find(name).is_ok()), "{}", exhibit.name);
        }
    }

    #[test]
    fn unknown_exhibit_is_answered_with_the_nearest() {
        assert_eq!(find("login-table-2").unwrap().name, "login-table-2");
        assert!(find("login-tabel-2").unwrap_err().contains("did you mean `login-table-2`?"));
    }
}
