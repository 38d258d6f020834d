//! One recommendation from all comparisons.

use std::collections::BTreeSet;

use crate::results::{Comparison, Verdict, version_name};
use crate::statistics::Outcome;
use crate::text::{delay, list, times};

/// A side wins mixed results when its gains weigh this many times its losses.
const WIN_FACTOR: f64 = 2.0;
/// A gain or loss by more than this factor weighs no more: one huge ratio must not drown all others.
const WEIGHT_RATIO_MAX: f64 = 4.0;
/// Losses named before "and N more".
const NAMED_MAX: usize = 3;

/// What to run, in one to three sentences.
///
/// With several candidates the one with the best balance of gains and losses is judged. Each weighs as the logarithm
/// of its ratio, up to a factor of four. The candidate is recommended when its gains are at least twice its losses; the
/// baseline when it is the other way round; else either.
#[must_use]
pub fn recommend(comparisons: &[Comparison]) -> Verdict {
    let Some(tally) = best_candidate(comparisons) else {
        let text = "Nothing was compared, so there is nothing to recommend.".to_owned();
        return Verdict { recommend: "either".to_owned(), text };
    };
    let (gains, losses) = (weight(&tally.faster), weight(&tally.slower));
    let recommend = if gains > 0.0 && gains >= losses * WIN_FACTOR {
        tally.candidate
    } else if losses > 0.0 && losses >= gains * WIN_FACTOR {
        tally.baseline
    } else {
        "either"
    };
    Verdict { recommend: recommend.to_owned(), text: tally.text(recommend) }
}

/// One candidate's comparisons by outcome.
struct Tally<'a> {
    baseline: &'a str,
    candidate: &'a str,
    name: String,
    faster: Vec<&'a Comparison>,
    slower: Vec<&'a Comparison>,
    same: usize,
    unclear: usize,
}

fn best_candidate(comparisons: &[Comparison]) -> Option<Tally<'_>> {
    let candidates: BTreeSet<(&str, bool)> = comparisons
        .iter()
        .map(|comparison| (comparison.candidate.as_str(), comparison.delegations))
        .collect();
    candidates
        .into_iter()
        .filter_map(|(candidate, delegations)| Tally::of(comparisons, candidate, delegations))
        .max_by(|left, right| left.balance().total_cmp(&right.balance()))
}

impl<'a> Tally<'a> {
    fn of(comparisons: &'a [Comparison], candidate: &'a str, delegations: bool) -> Option<Self> {
        let own: Vec<&Comparison> = comparisons
            .iter()
            .filter(|comparison| comparison.candidate == candidate && comparison.delegations == delegations)
            .collect();
        let with =
            |outcome: Outcome| own.iter().copied().filter(move |comparison| comparison.verdict == outcome);
        Some(Self {
            baseline: &own.first()?.baseline,
            candidate,
            name: version_name(candidate, delegations),
            faster: by_size(with(Outcome::Faster).collect()),
            slower: by_size(with(Outcome::Slower).collect()),
            same: with(Outcome::Same).count(),
            unclear: with(Outcome::Unclear).count(),
        })
    }

    fn balance(&self) -> f64 {
        weight(&self.faster) - weight(&self.slower)
    }

    fn text(&self, recommend: &str) -> String {
        let total = self.faster.len() + self.slower.len() + self.same + self.unclear;
        let (name, baseline) = (&self.name, version_name(self.baseline, false));
        let opening = if recommend == self.candidate {
            format!("Run {name}: ")
        } else if recommend == self.baseline {
            format!("Stay with {baseline}: ")
        } else if self.faster.is_empty() && self.slower.is_empty() {
            "Run either: ".to_owned()
        } else {
            "It depends on the workload: ".to_owned()
        };
        let faster = with_examples(&self.faster);
        let slower = with_examples(&self.slower);
        let mut text = format!(
            "{opening}against {baseline}, {name} is faster in {}{faster}",
            of(self.faster.len(), total)
        );
        text.push_str(&format!(" and slower in {}{slower}.", self.slower.len()));
        text.push_str(&self.remainder());
        text
    }

    fn remainder(&self) -> String {
        let same = (self.same > 0).then(|| format!("the same within 3 % in {}", self.same));
        let unclear = (self.unclear > 0).then(|| format!("undecided in {}", self.unclear));
        let parts: Vec<String> = same.into_iter().chain(unclear).collect();
        if parts.is_empty() { String::new() } else { format!(" They are {}.", list(&parts)) }
    }
}

fn of(count: usize, total: usize) -> String {
    let noun = if total == 1 { "comparison" } else { "comparisons" };
    format!("{count} of {total} {noun}")
}

/// The sum of the differences on the log scale.
fn weight(comparisons: &[&Comparison]) -> f64 {
    comparisons.iter().map(|comparison| log_size(comparison).min(WEIGHT_RATIO_MAX.ln())).sum()
}

fn log_size(comparison: &Comparison) -> f64 {
    comparison.ratio.filter(|ratio| *ratio > 0.0).map_or(0.0, |ratio| ratio.ln().abs())
}

/// The largest differences first.
fn by_size(mut comparisons: Vec<&Comparison>) -> Vec<&Comparison> {
    comparisons.sort_by(|left, right| log_size(right).total_cmp(&log_size(left)));
    comparisons
}

/// " (most in create at 10 ms: 0.550×, …)"; nothing when there is none.
fn with_examples(comparisons: &[&Comparison]) -> String {
    let mut seen = BTreeSet::new();
    let examples: Vec<String> = comparisons
        .iter()
        .filter(|comparison| seen.insert(&comparison.experiment))
        .take(NAMED_MAX)
        .filter_map(|comparison| {
            let ratio = times(comparison.ratio?);
            Some(format!("{} at {}: {ratio}×", comparison.name(), delay(comparison.rtt_ms)))
        })
        .collect();
    if examples.is_empty() { String::new() } else { format!(" ({})", examples.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(experiment: &str, ratio: f64, verdict: Outcome) -> Comparison {
        Comparison {
            experiment: experiment.to_owned(),
            levels: Default::default(),
            rtt_ms: 10.0,
            baseline: "3".to_owned(),
            candidate: "4.1".to_owned(),
            delegations: true,
            ratio: Some(ratio),
            ci95: None,
            verdict,
            p_different: 1.0,
            p_same: 1.0,
            runs_to_detect: None,
            reason: String::new(),
            doubts: Vec::new(),
        }
    }

    #[test]
    fn a_candidate_that_only_wins_is_recommended_with_its_largest_win() {
        let verdict = recommend(&[
            comparison("small-file-read", 172.0, Outcome::Faster),
            comparison("locked-read", 19.0, Outcome::Faster),
            comparison("sequential-read", 1.0, Outcome::Same),
        ]);
        assert_eq!(verdict.recommend, "4.1");
        assert_eq!(
            verdict.text,
            "Run v4.1: against v3, v4.1 is faster in 2 of 3 comparisons (small-file-read at 10 ms: 172×; locked-read \
             at 10 ms: 19.0×) and slower in 0. They are the same within 3 % in 1."
        );
    }

    #[test]
    fn a_candidate_that_mostly_loses_is_not() {
        let verdict = recommend(&[
            comparison("create", 0.55, Outcome::Slower),
            comparison("random-write", 0.9, Outcome::Slower),
            comparison("locked-read", 1.1, Outcome::Faster),
        ]);
        assert_eq!(verdict.recommend, "3");
        assert!(verdict.text.starts_with("Stay with v3: "), "{}", verdict.text);
        assert!(
            verdict.text.contains("slower in 2 (create at 10 ms: 0.550×; random-write"),
            "{}",
            verdict.text
        );
    }

    #[test]
    fn wins_and_losses_that_balance_depend_on_the_workload() {
        let verdict = recommend(&[
            comparison("create", 0.55, Outcome::Slower),
            comparison("locked-read", 2.0, Outcome::Faster),
        ]);
        assert_eq!(verdict.recommend, "either");
        assert!(verdict.text.starts_with("It depends on the workload: "), "{}", verdict.text);
    }

    #[test]
    fn small_losses_do_not_outweigh_a_large_gain_nor_one_huge_gain_many_losses() {
        let mut found = vec![comparison("locked-read", 3.5, Outcome::Faster)];
        found.extend((0..5).map(|_| comparison("random-read", 0.96, Outcome::Slower)));
        assert_eq!(recommend(&found).recommend, "4.1");
        let mut found = vec![comparison("small-file-read", 500.0, Outcome::Faster)];
        found.extend((0..5).map(|_| comparison("create", 0.5, Outcome::Slower)));
        assert_eq!(recommend(&found).recommend, "3");
    }

    #[test]
    fn no_difference_recommends_either() {
        let verdict = recommend(&[
            comparison("create", 1.0, Outcome::Same),
            comparison("create", 1.1, Outcome::Unclear),
        ]);
        assert_eq!(verdict.recommend, "either");
        assert!(
            verdict.text.ends_with("They are the same within 3 % in 1 and undecided in 1."),
            "{}",
            verdict.text
        );
        assert_eq!(recommend(&[]).recommend, "either");
    }

    #[test]
    fn the_best_of_several_candidates_is_judged() {
        let mut without = comparison("locked-read", 0.7, Outcome::Slower);
        without.delegations = false;
        let mut newer = comparison("locked-read", 2.0, Outcome::Faster);
        newer.candidate = "4.2".to_owned();
        let verdict = recommend(&[without, newer, comparison("locked-read", 1.0, Outcome::Same)]);
        assert_eq!(verdict.recommend, "4.2");
    }
}
