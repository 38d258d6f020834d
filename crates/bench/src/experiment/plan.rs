//! How much of everything a benchmark runs.

use std::time::Duration;

use super::{Experiment, Point, Size, Space, comparing_versions, standard};
use crate::statistics::{Look, detection, sequence, single};

/// Ratios within this share of 1 count as the same: what `primetime bench detect 5%` looks for.
const SAME_WITHIN: f64 = 0.05;
/// Seconds of the default benchmark.
const SECONDS: u32 = 180;
/// A week: no benchmark takes longer.
pub const SECONDS_MAX: u32 = 7 * 24 * 3600;
/// Seconds of the quick one.
const SECONDS_QUICK: u32 = 40;

/// How many runs each version has in each setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// So many, in each setting.
    Fixed(u32),
    /// As many as it takes to decide the comparisons, at least those of the first look, for about so many
    /// seconds in all.
    UntilDecided {
        /// The bound.
        seconds: u32,
    },
    /// As many as it takes to find a difference of [`Plan::same_within`], planned after the first look.
    UntilFound {
        /// The bound; none for what is planned.
        seconds: Option<u32>,
    },
}

impl Runs {
    /// After how many blocks the versions are compared.
    #[must_use]
    pub fn looks(self) -> Vec<Look> {
        match self {
            Self::Fixed(runs) => single(runs),
            Self::UntilDecided { .. } => sequence(),
            Self::UntilFound { .. } => detection(),
        }
    }

    /// How long a benchmark may go on after its first look; no bound where the number of runs is one.
    #[must_use]
    pub fn time_max(self) -> Duration {
        match self {
            Self::Fixed(_) => Duration::ZERO,
            Self::UntilDecided { seconds } => Duration::from_secs(seconds.into()),
            Self::UntilFound { seconds } => Duration::from_secs(seconds.unwrap_or(SECONDS_MAX).into()),
        }
    }

    /// Runs that each version has in each setting at least.
    #[must_use]
    pub fn first(self) -> u32 {
        self.looks().first().map_or(0, |look| look.blocks)
    }
}

impl std::fmt::Display for Runs {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(runs) => write!(formatter, "{runs}"),
            Self::UntilDecided { seconds } => write!(formatter, "until decided, {seconds} s"),
            Self::UntilFound { seconds: None } => formatter.write_str("until found"),
            Self::UntilFound { seconds: Some(seconds) } => write!(formatter, "until found, {seconds} s"),
        }
    }
}

/// The product that a benchmark goes through: experiments × delays × versions × runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// In the order in which they are run.
    pub experiments: Vec<Experiment>,
    /// Which size of each.
    pub size: Size,
    /// Round-trip delays, in milliseconds.
    pub delays_ms: Vec<f64>,
    /// Versions, the baseline first.
    pub versions: Vec<String>,
    /// Runs of each version in each setting; each run is one of a block that has all versions once.
    pub runs: Runs,
    /// Ratios within this share of 1 count as the same: 0.05 for 5 %.
    pub same_within: f64,
}

impl Plan {
    /// What `primetime bench` does: everything at 0, 1 and 10 ms, until it is decided. Within three minutes.
    #[must_use]
    pub fn standard() -> Self {
        Self {
            experiments: standard(),
            size: Size::Default,
            delays_ms: vec![0.0, 1.0, 10.0],
            versions: vec!["3".to_owned(), "4.1".to_owned()],
            runs: Runs::UntilDecided { seconds: SECONDS },
            same_within: SAME_WITHIN,
        }
    }

    /// What `primetime bench --quick` does: the experiments that have a quick size, at 0 and 10 ms, until
    /// they are decided. Within 40 seconds.
    #[must_use]
    pub fn quick() -> Self {
        let experiments = standard().into_iter().filter(|experiment| experiment.quick.is_some()).collect();
        let runs = Runs::UntilDecided { seconds: SECONDS_QUICK };
        Self { experiments, size: Size::Quick, delays_ms: vec![0.0, 10.0], runs, ..Self::standard() }
    }

    /// What `primetime bench --all` does: every built-in experiment in its quick size, at 0 and 10 ms, once.
    #[must_use]
    pub fn all() -> Self {
        Self { experiments: comparing_versions(), runs: Runs::Fixed(1), ..Self::quick() }
    }

    /// Space that all experiments together take on the server, with `clients` instead of their own number.
    #[must_use]
    pub fn space(&self, clients: Option<u32>) -> Space {
        let points = self.experiments.iter().flat_map(|experiment| experiment.setup(self.size).points());
        Space::of_all(
            points.map(|Point { setup, .. }| setup.workload.space(clients.unwrap_or(setup.clients))),
        )
    }

    /// Runs that there are at least.
    #[must_use]
    pub fn runs_total(&self) -> u64 {
        let points: usize =
            self.experiments.iter().map(|experiment| experiment.setup(self.size).points().len()).sum();
        [points, self.delays_ms.len(), self.versions.len()]
            .iter()
            .fold(u64::from(self.runs.first()), |total, count| total.saturating_mul(*count as u64))
    }

    /// The sum of the time limits of [`Plan::runs_total`] runs in seconds, without what surrounds them;
    /// workloads that only counts limit are not in it.
    #[must_use]
    pub fn seconds_bound(&self) -> f64 {
        let at = |rtt_ms: &f64| -> f64 {
            self.experiments
                .iter()
                .flat_map(|experiment| experiment.setup(self.size).points())
                .filter_map(|point| point.setup.at_delay(*rtt_ms).seconds())
                .sum()
        };
        let once: f64 = self.delays_ms.iter().map(at).sum();
        once * self.versions.len() as f64 * f64::from(self.runs.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_look_of_the_standard_plan_leaves_most_of_three_minutes() {
        let plan = Plan::standard();
        assert_eq!(plan.runs_total(), 8 * 3 * 2 * 6);
        assert!(plan.seconds_bound() <= 60.0, "{}", plan.seconds_bound());
    }

    #[test]
    fn first_look_of_the_quick_plan_leaves_half_of_forty_seconds() {
        let plan = Plan::quick();
        assert!(plan.experiments.len() >= 3, "too few to mean anything");
        assert_eq!(plan.runs, Runs::UntilDecided { seconds: 40 });
        assert!(plan.seconds_bound() <= 20.0, "{}", plan.seconds_bound());
    }

    #[test]
    fn all_experiments_in_their_smallest_size_take_two_minutes_at_most() {
        let plan = Plan::all();
        assert_eq!(plan.experiments.len(), 21);
        assert!(plan.runs_total() <= 28 * 2 * 2, "{}", plan.runs_total());
        assert!(plan.seconds_bound() <= 60.0, "{}", plan.seconds_bound());
    }

    #[test]
    fn every_workload_of_both_plans_has_a_time_limit() {
        for plan in [Plan::standard(), Plan::quick()] {
            for experiment in &plan.experiments {
                assert!(experiment.setup(plan.size).workload.seconds().is_some(), "{}", experiment.name);
            }
        }
    }
}
