//! One recommendation from all comparisons.

use std::collections::BTreeSet;

use super::balance::{Balance, Side, log_size};
use super::profile::Profile;
use super::{flips, levers};
use crate::results::{ArmId, Cell, Comparison, Verdict};
use crate::statistics::Outcome;
use crate::text::{delay, list, percent, times};

/// What is recommended where the runs decided nothing, or nothing was compared.
pub const UNDECIDED: &str = "undecided";

/// Losses named before "and N more".
const NAMED_MAX: usize = 3;

/// What to run, in one to three sentences, with where the answer would be another one and what would change
/// it most.
///
/// With several candidates the one with the best balance of gains and losses is judged. Each weighs as the
/// logarithm of its ratio, up to a factor of four; the comparisons of one experiment share its weight in the
/// profile. The candidate is recommended when its gains are at least twice its losses; the baseline when it
/// is the other way round; else either, or [`UNDECIDED`] where most comparisons were not decided and no
/// difference was found. Ratios within `same_within` of 1 count as the same.
#[must_use]
pub fn recommend(comparisons: &[Comparison], cells: &[Cell], profile: &Profile, same_within: f64) -> Verdict {
    let weighed: Vec<&Comparison> =
        comparisons.iter().filter(|comparison| profile.weight(&comparison.experiment) > 0.0).collect();
    let Some(tally) = best_candidate(&weighed, profile) else {
        return nothing_to_recommend(comparisons, profile);
    };
    let side = Balance::of(tally.own.iter().copied(), profile).side();
    let own_cells = cells.iter().filter(|cell| profile.weight(&cell.setting.experiment) > 0.0);
    Verdict {
        recommend: match side {
            Side::Candidate => tally.candidate.word().to_owned(),
            Side::Baseline => tally.baseline.word().to_owned(),
            Side::Either if tally.is_undecided() => UNDECIDED.to_owned(),
            Side::Either => "either".to_owned(),
        },
        text: tally.text(side, profile, same_within),
        profile: profile.name().to_owned(),
        weights: profile.weights().cloned().unwrap_or_default(),
        flips: flips::flips(&tally.own, comparisons, side, profile),
        levers: levers::levers(own_cells),
    }
}

fn nothing_to_recommend(comparisons: &[Comparison], profile: &Profile) -> Verdict {
    let text = match profile.weights() {
        Some(weights) if !comparisons.is_empty() => {
            let wanted: Vec<&str> = weights.keys().map(String::as_str).collect();
            format!(
                "Nothing that counts for {} was compared: measure {}, or choose another profile.",
                profile.name(),
                list(&wanted)
            )
        }
        _ => "Nothing was compared, so there is nothing to recommend.".to_owned(),
    };
    Verdict {
        recommend: UNDECIDED.to_owned(),
        text,
        profile: profile.name().to_owned(),
        weights: profile.weights().cloned().unwrap_or_default(),
        flips: Vec::new(),
        levers: Vec::new(),
    }
}

/// One candidate's comparisons by outcome.
struct Tally<'a> {
    baseline: ArmId,
    candidate: ArmId,
    own: Vec<&'a Comparison>,
    faster: Vec<&'a Comparison>,
    slower: Vec<&'a Comparison>,
    same: usize,
    unclear: usize,
}

fn best_candidate<'a>(comparisons: &[&'a Comparison], profile: &Profile) -> Option<Tally<'a>> {
    let candidates: BTreeSet<ArmId> = comparisons.iter().map(|one| one.candidate_id().choice()).collect();
    let net = |tally: &Tally<'_>| Balance::of(tally.own.iter().copied(), profile).net();
    candidates
        .into_iter()
        .filter_map(|candidate| Tally::of(comparisons, &candidate))
        .max_by(|left, right| net(left).total_cmp(&net(right)))
}

impl<'a> Tally<'a> {
    fn of(comparisons: &[&'a Comparison], candidate: &ArmId) -> Option<Self> {
        let own: Vec<&'a Comparison> = comparisons
            .iter()
            .copied()
            .filter(|comparison| comparison.candidate_id().choice() == *candidate)
            .collect();
        let with =
            |outcome: Outcome| own.iter().copied().filter(move |comparison| comparison.verdict == outcome);
        let first = *own.first()?;
        Some(Self {
            baseline: first.baseline_id().choice(),
            candidate: first.candidate_id().choice(),
            faster: by_size(with(Outcome::Faster).collect()),
            slower: by_size(with(Outcome::Slower).collect()),
            same: with(Outcome::Same).count(),
            unclear: with(Outcome::Unclear).count(),
            own,
        })
    }

    /// Neither a difference nor, in most comparisons, sameness was shown.
    fn is_undecided(&self) -> bool {
        self.faster.is_empty() && self.slower.is_empty() && self.same < self.unclear.max(1)
    }

    fn text(&self, side: Side, profile: &Profile, same_within: f64) -> String {
        let total = self.own.len();
        let (name, baseline) = (self.candidate.name(), self.baseline.name());
        let whom =
            if profile.weights().is_some() { format!(" for {}", profile.name()) } else { String::new() };
        let opening = match side {
            Side::Candidate => format!("Run {name}{whom}: "),
            Side::Baseline => format!("Stay with {baseline}{whom}: "),
            Side::Either if self.is_undecided() => format!("Not decided{whom}: "),
            Side::Either if self.faster.is_empty() && self.slower.is_empty() => format!("Run either{whom}: "),
            Side::Either => "It depends on the workload: ".to_owned(),
        };
        let faster = with_examples(&self.faster);
        let slower = with_examples(&self.slower);
        let mut text = format!(
            "{opening}against {baseline}, {name} is faster in {}{faster}",
            of(self.faster.len(), total)
        );
        text.push_str(&format!(" and slower in {}{slower}.", self.slower.len()));
        text.push_str(&self.remainder(same_within));
        text
    }

    fn remainder(&self, same_within: f64) -> String {
        let margin = percent(same_within);
        let same = (self.same > 0).then(|| format!("the same within {margin} in {}", self.same));
        let unclear = (self.unclear > 0).then(|| format!("undecided in {}", self.unclear));
        let parts: Vec<String> = same.into_iter().chain(unclear).collect();
        if parts.is_empty() { String::new() } else { format!(" They are {}.", list(&parts)) }
    }
}

fn of(count: usize, total: usize) -> String {
    let noun = if total == 1 { "comparison" } else { "comparisons" };
    format!("{count} of {total} {noun}")
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
pub(super) mod tests {
    use super::*;

    fn verdict_of(comparisons: &[Comparison]) -> Verdict {
        recommend(comparisons, &[], &Profile::even(), 0.03)
    }

    pub(in crate::explain) fn comparison(experiment: &str, ratio: f64, verdict: Outcome) -> Comparison {
        Comparison {
            experiment: experiment.to_owned(),
            levels: Default::default(),
            rtt_ms: 10.0,
            baseline_arm: String::new(),
            candidate_arm: String::new(),
            baseline: "3".to_owned(),
            baseline_delegations: false,
            candidate: "4.1".to_owned(),
            delegations: true,
            label: String::new(),
            ratio: Some(ratio),
            ci95: None,
            interval: None,
            latency: None,
            verdict,
            by_requests: false,
            p_different: 1.0,
            p_same: 1.0,
            runs_to_detect: None,
            reason: String::new(),
            doubts: Vec::new(),
        }
    }

    #[test]
    fn a_candidate_that_only_wins_is_recommended_with_its_largest_win() {
        let verdict = verdict_of(&[
            comparison("small-file-read", 172.0, Outcome::Faster),
            comparison("locked-read", 19.0, Outcome::Faster),
            comparison("sequential-read", 1.0, Outcome::Same),
        ]);
        assert_eq!(verdict.recommend, "4.1");
        assert_eq!(
            verdict.text,
            "Run v4.1: against v3, v4.1 is faster in 2 of 3 comparisons (small-file-read at 10 ms: 172×; \
             locked-read at 10 ms: 19.0×) and slower in 0. They are the same within 3 % in \
             1."
        );
    }

    #[test]
    fn a_candidate_that_mostly_loses_is_not() {
        let verdict = verdict_of(&[
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
        let verdict = verdict_of(&[
            comparison("create", 0.55, Outcome::Slower),
            comparison("locked-read", 2.0, Outcome::Faster),
        ]);
        assert_eq!(verdict.recommend, "either");
        assert!(verdict.text.starts_with("It depends on the workload: "), "{}", verdict.text);
    }

    #[test]
    fn small_losses_do_not_outweigh_a_large_gain_nor_a_huge_gain_many() {
        let mut found = vec![comparison("locked-read", 3.5, Outcome::Faster)];
        found.extend((0..5).map(|_| comparison("random-read", 0.96, Outcome::Slower)));
        assert_eq!(verdict_of(&found).recommend, "4.1");
        let mut found = vec![comparison("small-file-read", 500.0, Outcome::Faster)];
        let slower = ["create", "random-write", "random-read", "web-server", "mail-server"];
        found.extend(slower.map(|name| comparison(name, 0.5, Outcome::Slower)));
        assert_eq!(verdict_of(&found).recommend, "3");
    }

    #[test]
    fn no_difference_recommends_either() {
        let verdict = verdict_of(&[
            comparison("create", 1.0, Outcome::Same),
            comparison("create", 1.1, Outcome::Unclear),
        ]);
        assert_eq!(verdict.recommend, "either");
        assert!(
            verdict.text.ends_with("They are the same within 3 % in 1 and undecided in 1."),
            "{}",
            verdict.text
        );
        assert_eq!(verdict_of(&[]).recommend, UNDECIDED);
    }

    #[test]
    fn nothing_decided_recommends_nothing() {
        let unclear = || comparison("create", 1.0, Outcome::Unclear);
        let verdict = verdict_of(&[unclear(), unclear(), comparison("create", 1.0, Outcome::Same)]);
        assert_eq!(verdict.recommend, UNDECIDED);
        assert!(
            verdict.text.starts_with("Not decided: against v3, v4.1 is faster in 0 of 3"),
            "{}",
            verdict.text
        );
        assert_eq!(verdict_of(&[unclear()]).recommend, UNDECIDED);
    }

    #[test]
    fn the_best_of_several_candidates_is_judged() {
        let mut without = comparison("locked-read", 0.7, Outcome::Slower);
        without.delegations = false;
        let mut newer = comparison("locked-read", 2.0, Outcome::Faster);
        newer.candidate = "4.2".to_owned();
        let verdict = verdict_of(&[without, newer, comparison("locked-read", 1.0, Outcome::Same)]);
        assert_eq!(verdict.recommend, "4.2");
    }

    #[test]
    fn a_sweep_with_many_settings_weighs_no_more_than_one_experiment() {
        let mut found = vec![comparison("locked-read", 4.0, Outcome::Faster)];
        found.extend((0..20).map(|_| comparison("create-by-threads", 0.6, Outcome::Slower)));
        assert_eq!(verdict_of(&found).recommend, "4.1");
    }

    #[test]
    fn a_profile_decides_by_what_it_weighs() {
        let found = [
            comparison("create", 0.5, Outcome::Slower),
            comparison("random-read", 2.0, Outcome::Faster),
            comparison("locked-read", 9.0, Outcome::Faster),
        ];
        let of = |text: &str| recommend(&found, &[], &Profile::parse(text).unwrap(), 0.03);
        assert_eq!(of("vm-images").recommend, "4.1");
        assert!(
            of("vm-images").text.starts_with("Run v4.1 for vm-images: against v3, v4.1 is faster in 1 of 1")
        );
        assert_eq!(of("build").recommend, "3");
        assert_eq!(of("create=3,locked-read=1").recommend, "either");
        let nothing = of("media");
        assert_eq!(nothing.recommend, UNDECIDED);
        assert_eq!(
            nothing.text,
            "Nothing that counts for media was compared: measure sequential-read, sequential-write and \
             winner-loser, or choose another profile."
        );
    }
}
