//! How much of everything a benchmark runs.

use super::{Experiment, Point, Size, Space, builtin, standard};

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
    pub runs: u32,
}

impl Plan {
    /// What `primetime bench` does: everything at 0, 1 and 10 ms, five times. Within three minutes on two cores.
    #[must_use]
    pub fn standard() -> Self {
        Self {
            experiments: standard(),
            size: Size::Default,
            delays_ms: vec![0.0, 1.0, 10.0],
            versions: vec!["3".to_owned(), "4.1".to_owned()],
            runs: 5,
        }
    }

    /// What `primetime bench --quick` does: the experiments that have a quick size, at 0 and 10 ms, three times.
    /// Within 40 seconds.
    #[must_use]
    pub fn quick() -> Self {
        let experiments = standard().into_iter().filter(|experiment| experiment.quick.is_some()).collect();
        Self { experiments, size: Size::Quick, delays_ms: vec![0.0, 10.0], runs: 3, ..Self::standard() }
    }

    /// What `primetime bench --all` does: every built-in experiment in its quick size, at 0 and 10 ms, once.
    #[must_use]
    pub fn all() -> Self {
        Self { experiments: builtin(), runs: 1, ..Self::quick() }
    }

    /// Space that all experiments together take on the server, with `clients` instead of their own number.
    #[must_use]
    pub fn space(&self, clients: Option<u32>) -> Space {
        let points = self.experiments.iter().flat_map(|experiment| experiment.setup(self.size).points());
        Space::of_all(
            points.map(|Point { setup, .. }| setup.workload.space(clients.unwrap_or(setup.clients))),
        )
    }

    /// Runs in all.
    #[must_use]
    pub fn runs_total(&self) -> u64 {
        let points: usize =
            self.experiments.iter().map(|experiment| experiment.setup(self.size).points().len()).sum();
        [points, self.delays_ms.len(), self.versions.len()]
            .iter()
            .fold(u64::from(self.runs), |total, count| total.saturating_mul(*count as u64))
    }

    /// The sum of the runs' time limits in seconds, without what surrounds them; workloads that only counts limit
    /// are not in it.
    #[must_use]
    pub fn seconds_bound(&self) -> f64 {
        let once: f64 = self
            .experiments
            .iter()
            .flat_map(|experiment| experiment.setup(self.size).points())
            .filter_map(|point| point.setup.seconds())
            .sum();
        once * self.delays_ms.len() as f64 * self.versions.len() as f64 * f64::from(self.runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_plan_leaves_half_of_three_minutes_to_what_surrounds_the_runs() {
        let plan = Plan::standard();
        assert_eq!(plan.runs_total(), 8 * 3 * 2 * 5);
        assert!(plan.seconds_bound() <= 90.0, "{}", plan.seconds_bound());
    }

    #[test]
    fn the_quick_plan_leaves_half_of_forty_seconds() {
        let plan = Plan::quick();
        assert!(plan.experiments.len() >= 3, "too few to mean anything");
        assert_eq!(plan.runs, 3);
        assert!(plan.seconds_bound() <= 20.0, "{}", plan.seconds_bound());
    }

    #[test]
    fn all_experiments_in_their_smallest_size_take_two_minutes_at_most() {
        let plan = Plan::all();
        assert_eq!(plan.experiments.len(), 20);
        assert!(plan.runs_total() <= 27 * 2 * 2, "{}", plan.runs_total());
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
