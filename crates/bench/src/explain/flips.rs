//! Where the answer is another one: at which delays, for which experiments, for whom.

use super::balance::{Balance, Side, log_size};
use super::profile::Profile;
use crate::results::Comparison;
use crate::statistics::Outcome;
use crate::text::{delay, list, times};

/// Experiments that are named.
const NAMED_MAX: usize = 4;
/// A profile is judged when experiments of this share of its weight were compared.
const MEASURED_SHARE_MIN: f64 = 0.5;

/// One sentence for each way in which `side`, the answer to `own`, does not hold. `all` has what the profile
/// does not weigh as well.
pub(super) fn flips(own: &[&Comparison], all: &[Comparison], side: Side, profile: &Profile) -> Vec<String> {
    let Some(first) = own.first() else { return Vec::new() };
    let candidate = first.candidate_id().choice();
    let same_candidate = |other: &&Comparison| other.candidate_id().choice() == candidate;
    let all: Vec<&Comparison> = all.iter().filter(same_candidate).collect();
    let names = Names { baseline: first.baseline_id().choice().name(), candidate: candidate.name() };
    [
        by_delay(own, profile, &names),
        by_experiment(own, side, &names),
        by_profile(&all, side, profile, &names),
    ]
    .into_iter()
    .flatten()
    .collect()
}

struct Names {
    baseline: String,
    candidate: String,
}

impl Names {
    fn of(&self, side: Side) -> &str {
        match side {
            Side::Baseline => &self.baseline,
            Side::Candidate => &self.candidate,
            Side::Either => "either",
        }
    }
}

/// The answer at each delay by itself, where they are not all the same.
fn by_delay(own: &[&Comparison], profile: &Profile, names: &Names) -> Option<String> {
    let mut delays_ms: Vec<f64> = own.iter().map(|comparison| comparison.rtt_ms).collect();
    delays_ms.sort_by(f64::total_cmp);
    delays_ms.dedup();
    let sides: Vec<(f64, Side)> = delays_ms
        .into_iter()
        .map(|rtt_ms| {
            let here = own.iter().copied().filter(|comparison| comparison.rtt_ms == rtt_ms);
            (rtt_ms, Balance::of(here, profile).side())
        })
        .collect();
    let (_, first) = *sides.first()?;
    if sides.iter().all(|(_, side)| *side == first) {
        return None;
    }
    let answers: Vec<String> =
        sides.iter().map(|(rtt_ms, side)| format!("{} at {}", names.of(*side), delay(*rtt_ms))).collect();
    Some(format!("By delay: {}.", list(&answers)))
}

/// Decided differences against the answer, the largest of each experiment.
fn by_experiment(own: &[&Comparison], side: Side, names: &Names) -> Option<String> {
    let (against, other) = match side {
        Side::Candidate => (Outcome::Slower, Side::Baseline),
        Side::Baseline => (Outcome::Faster, Side::Candidate),
        Side::Either => return None,
    };
    let mut found: Vec<&Comparison> =
        own.iter().copied().filter(|comparison| comparison.verdict == against).collect();
    found.sort_by(|left, right| log_size(right).total_cmp(&log_size(left)));
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|comparison| seen.insert(&comparison.experiment));
    let named: Vec<String> = found
        .iter()
        .take(NAMED_MAX)
        .filter_map(|comparison| {
            let (name, at, ratio) = (comparison.name(), delay(comparison.rtt_ms), times(comparison.ratio?));
            Some(format!("{name} at {at} ({ratio}×)"))
        })
        .collect();
    let more = found.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("{} is ahead in {}{more}.", names.of(other), list(&named)))
}

/// Who would get another answer from the same measurements.
fn by_profile(all: &[&Comparison], side: Side, own: &Profile, names: &Names) -> Option<String> {
    let others: Vec<String> = Profile::all()
        .filter(|profile| profile.name() != own.name() && is_measured(all, profile))
        .filter_map(|profile| {
            let balance = Balance::of(all.iter().copied(), &profile);
            let other = balance.side();
            (balance.is_decided() && other != side)
                .then(|| format!("{} for {}", names.of(other), profile.name()))
        })
        .collect();
    (!others.is_empty()).then(|| format!("The same measurements say {} (--profile).", list(&others)))
}

fn is_measured(all: &[&Comparison], profile: &Profile) -> bool {
    let weights = profile.weights().into_iter().flatten();
    let (mut measured, mut total) = (0.0, 0.0);
    for (experiment, weight) in weights {
        total += weight;
        if all.iter().any(|comparison| comparison.experiment == *experiment) {
            measured += weight;
        }
    }
    measured >= total * MEASURED_SHARE_MIN
}

#[cfg(test)]
mod tests {
    use super::super::recommend;
    use super::super::verdict::tests::comparison;
    use super::*;

    #[test]
    fn delays_and_experiments_with_another_answer_are_named() {
        let found = [
            Comparison { rtt_ms: 0.0, ..comparison("create", 0.7, Outcome::Slower) },
            Comparison { rtt_ms: 0.0, ..comparison("sequential-read", 1.0, Outcome::Same) },
            comparison("locked-read", 30.0, Outcome::Faster),
            comparison("create", 1.0, Outcome::Same),
        ];
        let verdict = recommend(&found, &[], &Profile::even(), 0.03);
        assert_eq!(verdict.recommend, "4.1");
        assert_eq!(
            verdict.flips,
            ["By delay: v3 at 0 ms and v4.1 at 10 ms.", "v3 is ahead in create at 0 ms (0.700×)."]
        );
    }

    #[test]
    fn a_profile_of_which_enough_was_measured_may_have_another_answer() {
        let found = [
            comparison("random-read", 0.5, Outcome::Slower),
            comparison("random-write", 0.5, Outcome::Slower),
            comparison("kernel-tree", 9.0, Outcome::Faster),
            comparison("small-file-read", 9.0, Outcome::Faster),
            comparison("locked-read", 9.0, Outcome::Faster),
        ];
        let verdict = recommend(&found, &[], &Profile::even(), 0.03);
        assert_eq!(verdict.recommend, "4.1");
        let last = verdict.flips.last().unwrap();
        assert_eq!(last, "The same measurements say v3 for vm-images and either for database (--profile).");
    }

    #[test]
    fn an_answer_that_always_holds_has_no_exception() {
        let found =
            [comparison("create", 2.0, Outcome::Faster), comparison("random-read", 1.0, Outcome::Same)];
        assert_eq!(recommend(&found, &[], &Profile::even(), 0.03).flips, [] as [String; 0]);
        assert_eq!(recommend(&[], &[], &Profile::even(), 0.03).flips, [] as [String; 0]);
    }
}
