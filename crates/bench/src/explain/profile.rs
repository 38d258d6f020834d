//! What somebody does with files, as weights of experiments.

use std::collections::BTreeMap;

use crate::experiment::nearest;
use crate::text::list;

/// Experiments that may be weighed at most; a list that is longer is a mistake.
const WEIGHTS_MAX: usize = 100;
/// The largest weight.
const WEIGHT_MAX: f64 = 1000.0;
/// The name of weights that a user wrote.
const OWN: &str = "own weights";

/// What the verdict stands on: how much each experiment weighs.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    name: String,
    /// None: every experiment weighs the same.
    weights: Option<BTreeMap<String, f64>>,
}

/// Why a profile is not understood, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// No profile has this name.
    #[error("there is no profile {name:?}{}; choose one of {}, or give weights as in create=2,random-read=1",
        suggested(.name), list(&Profile::names()))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A weight is no number that can be used.
    #[error(
        "{text:?} is no weight of an experiment; write NAME=WEIGHT with a number from 0 to {WEIGHT_MAX}, as \
         in create=2"
    )]
    Weight {
        /// The part.
        text: String,
    },
    /// Nothing weighs anything.
    #[error("every weight is 0; give at least one experiment more")]
    Nothing,
    /// More weights than anybody means.
    #[error("there are more than {WEIGHTS_MAX} weights; leave some out")]
    TooMany,
}

fn suggested(name: &str) -> String {
    nearest(name, Profile::names()).map(|nearest| format!(" (did you mean {nearest}?)")).unwrap_or_default()
}

type Named = (&'static str, &'static [(&'static str, f64)]);

/// The profiles that have a name. Weights say how much of such a user's time goes into what an experiment
/// does; they are judgement, not measurement, and shown with the verdict.
const NAMED: [Named; 7] = [
    (
        "home-directories",
        &[
            ("file-server", 3.0),
            ("small-file-read", 3.0),
            ("create", 2.0),
            ("locked-read", 2.0),
            ("kernel-tree", 1.0),
            ("sequential-read", 1.0),
            ("sequential-write", 1.0),
        ],
    ),
    (
        "build",
        &[
            ("kernel-tree", 4.0),
            ("small-file-read", 4.0),
            ("create", 3.0),
            ("create-by-size", 1.0),
            ("create-by-threads", 1.0),
        ],
    ),
    (
        "vm-images",
        &[
            ("random-read", 4.0),
            ("random-write", 4.0),
            ("disk-latency", 2.0),
            ("unsynced-write", 1.0),
            ("sequential-read", 1.0),
            ("sequential-write", 1.0),
        ],
    ),
    (
        "database",
        &[
            ("random-read", 3.0),
            ("random-write", 3.0),
            ("locked-read", 2.0),
            ("locked-read-once", 2.0),
            ("disk-latency", 2.0),
        ],
    ),
    ("media", &[("sequential-read", 4.0), ("sequential-write", 3.0), ("winner-loser", 1.0)]),
    ("web", &[("web-server", 4.0), ("small-file-read", 3.0), ("sequential-read", 1.0)]),
    ("mail", &[("mail-server", 4.0), ("create", 2.0), ("locked-read", 2.0)]),
];

impl Profile {
    /// Every experiment weighs the same.
    #[must_use]
    pub fn even() -> Self {
        Self { name: "even".to_owned(), weights: None }
    }

    /// The names that [`Profile::parse`] takes.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        std::iter::once("even").chain(NAMED.iter().map(|(name, _)| *name)).collect()
    }

    /// All that have a name, [`Profile::even`] apart.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        NAMED.iter().map(|(name, weights)| Self {
            name: (*name).to_owned(),
            weights: Some(
                weights.iter().map(|(experiment, weight)| ((*experiment).to_owned(), *weight)).collect(),
            ),
        })
    }

    /// A profile by its name, or weights: `create=2,random-read=1`.
    ///
    /// # Errors
    /// When the name is unknown, or a weight is none.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        if text.contains('=') {
            return Self::of_weights(text);
        }
        if text == "even" {
            return Ok(Self::even());
        }
        Self::all()
            .find(|profile| profile.name == text)
            .ok_or_else(|| ProfileError::Unknown { name: text.to_owned() })
    }

    fn of_weights(text: &str) -> Result<Self, ProfileError> {
        let mut weights = BTreeMap::new();
        for part in text.split(',') {
            let fault = || ProfileError::Weight { text: part.to_owned() };
            let (experiment, weight) = part.split_once('=').ok_or_else(fault)?;
            let weight: f64 = weight.trim().parse().map_err(|_| fault())?;
            let experiment = experiment.trim();
            if experiment.is_empty() || !(0.0..=WEIGHT_MAX).contains(&weight) {
                return Err(fault());
            }
            weights.insert(experiment.to_owned(), weight);
            if weights.len() > WEIGHTS_MAX {
                return Err(ProfileError::TooMany);
            }
        }
        if weights.values().all(|weight| *weight == 0.0) {
            return Err(ProfileError::Nothing);
        }
        Ok(Self { name: OWN.to_owned(), weights: Some(weights) })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it weighs, if not all the same.
    #[must_use]
    pub fn weights(&self) -> Option<&BTreeMap<String, f64>> {
        self.weights.as_ref()
    }

    /// The weight of an experiment; 0 when it does not count.
    #[must_use]
    pub fn weight(&self, experiment: &str) -> f64 {
        match &self.weights {
            None => 1.0,
            Some(weights) => weights.get(experiment).copied().unwrap_or(0.0),
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::even()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_is_of_an_experiment_that_there_is() {
        let known: Vec<String> =
            crate::experiment::builtin().into_iter().map(|experiment| experiment.name).collect();
        for profile in Profile::all() {
            for experiment in profile.weights().unwrap().keys() {
                assert!(known.contains(experiment), "{experiment} of {}", profile.name());
            }
        }
    }

    #[test]
    fn names_and_weights_are_understood() {
        for name in Profile::names() {
            assert_eq!(Profile::parse(name).unwrap().name(), name);
        }
        let own = Profile::parse("create=2, random-read=0.5").unwrap();
        assert_eq!(
            (own.weight("create"), own.weight("random-read"), own.weight("locked-read")),
            (2.0, 0.5, 0.0)
        );
        assert_eq!(Profile::even().weight("anything"), 1.0);
    }

    #[test]
    fn unknown_profile_is_refused_with_the_valid_ones() {
        let sentence = |text: &str| Profile::parse(text).unwrap_err().to_string();
        assert!(sentence("bulid").contains("did you mean build?"), "{}", sentence("bulid"));
        for text in ["create=-1", "create=x", "create=inf", "=1", "create=1,b"] {
            assert!(sentence(text).contains("is no weight"), "{}", sentence(text));
        }
        assert!(sentence("create=0").starts_with("every weight is 0"));
        let many: Vec<String> = (0..=WEIGHTS_MAX).map(|index| format!("e{index}=1")).collect();
        assert_eq!(Profile::parse(&many.join(",")), Err(ProfileError::TooMany));
    }
}
