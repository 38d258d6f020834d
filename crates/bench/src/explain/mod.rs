//! Why two cells differ, and what follows from all comparisons.
//!
//! Owns the rules that turn counts, bytes and times into a sentence with numbers. It does not measure, does
//! not decide whether a difference is real (that is [`statistics`](crate::statistics)), and does not lay out
//! text.

mod balance;
mod facts;
mod flips;
mod floors;
mod levers;
mod profile;
mod resources;
mod rules;
mod totals;
mod verdict;

pub use floors::{Terms, floors};
pub use profile::{Profile, ProfileError};
pub use verdict::{UNDECIDED, recommend};

use self::facts::Facts;
use self::rules::{Favours, Finding};
use crate::results::Cell;
use crate::statistics::Outcome;
use crate::text::{list, per_operation, percent};

/// The reason for `outcome` (of `candidate` against `baseline`) in one to four sentences.
///
/// Findings that speak for the outcome come first; what speaks against it is said to. The floors come last,
/// where both are known.
#[must_use]
pub fn reason(baseline: &Cell, candidate: &Cell, outcome: Outcome) -> String {
    let (baseline, candidate) = (Facts::of(baseline), Facts::of(candidate));
    let findings =
        rules::findings(&baseline, &candidate, matches!(outcome, Outcome::Faster | Outcome::Slower));
    let mut text = match outcome {
        Outcome::Faster => difference(&baseline, &candidate, &findings, Favours::Candidate),
        Outcome::Slower => difference(&baseline, &candidate, &findings, Favours::Baseline),
        Outcome::Same => no_difference(&baseline, &candidate, &findings),
        Outcome::Unclear => undecided(&baseline, &candidate, &findings),
    };
    if let Some(sentence) = fewest(&baseline, &candidate) {
        text.push_str(&format!(" {sentence}"));
    }
    text
}

fn difference(baseline: &Facts<'_>, candidate: &Facts<'_>, findings: &[Finding], winner: Favours) -> String {
    let supporting: Vec<&Finding> = findings.iter().filter(|finding| finding.favours == winner).collect();
    let opposing =
        findings.iter().find(|finding| finding.favours != winner && finding.favours != Favours::Neither);
    let neutral = findings.iter().find(|finding| finding.favours == Favours::Neither);
    let mut sentences: Vec<String> = supporting.iter().take(2).map(|finding| finding.text.clone()).collect();
    if sentences.is_empty() {
        sentences
            .push(format!("{}; counts alone do not explain the difference.", counts(baseline, candidate)));
    }
    if let Some(finding) = opposing {
        sentences.push(format!("Against that: {}", finding.text));
    } else if let (Some(finding), true) = (neutral, sentences.len() < 2) {
        sentences.push(finding.text.clone());
    }
    sentences.join(" ")
}

fn no_difference(baseline: &Facts<'_>, candidate: &Facts<'_>, findings: &[Finding]) -> String {
    match findings.first() {
        None => format!("{}.", counts(baseline, candidate)),
        Some(finding) if finding.favours == Favours::Neither => finding.text.clone(),
        Some(finding) => format!("It does not matter here, but: {}", finding.text),
    }
}

fn undecided(baseline: &Facts<'_>, candidate: &Facts<'_>, findings: &[Finding]) -> String {
    let spread =
        |facts: &Facts<'_>| facts.spread.map(|spread| format!("{} ± {}", facts.name, percent(spread)));
    let spreads: Vec<String> = [baseline, candidate].into_iter().filter_map(spread).collect();
    let mut text = if spreads.is_empty() {
        "A single run decides nothing.".to_owned()
    } else {
        format!("The difference is too small for the spread of the runs ({}).", list(&spreads))
    };
    text.push(' ');
    match findings.first() {
        None => text.push_str(&format!("{}.", counts(baseline, candidate))),
        Some(finding) => text.push_str(&finding.text),
    }
    text
}

/// What was counted beside the fewest requests that both could do with; none where that is not known.
fn fewest(baseline: &Facts<'_>, candidate: &Facts<'_>) -> Option<String> {
    let of_side = |facts: &Facts<'_>| {
        let floors = facts.floors?;
        let [posix, compound, sent] = [floors.posix, floors.compound, facts.requests?].map(per_operation);
        Some(format!("{posix} and {compound} for {} (sent: {sent})", facts.name))
    };
    let sides = [of_side(baseline)?, of_side(candidate)?];
    Some(format!(
        "The fewest requests per operation, with one call at a time and with the operation known as a whole, \
         are {}.",
        list(&sides)
    ))
}

/// The plain comparison of counts, for when no rule found more to say.
fn counts(baseline: &Facts<'_>, candidate: &Facts<'_>) -> String {
    match (baseline.requests, candidate.requests) {
        (Some(left), Some(right)) if (left - right).abs() < 0.005 * left.max(right).max(1.0) => {
            format!("Both send {} requests per operation", per_operation(left))
        }
        (Some(left), Some(right)) => format!(
            "{} sends {} requests per operation and {} {}",
            candidate.name,
            per_operation(right),
            baseline.name,
            per_operation(left)
        ),
        _ => "The requests for each operation are not known".to_owned(),
    }
}
