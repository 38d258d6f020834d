//! What all runs of a cell did together: a reason must not hang on a single run.

use std::collections::BTreeMap;

use crate::results::{Cell, Disk, Resources, Run};

/// Sums over runs, and means of what is a share or a time of one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Totals<'a> {
    pub(super) operations: f64,
    pub(super) seconds: f64,
    pub(super) rpcs: BTreeMap<&'a str, f64>,
    pub(super) wire_bytes: f64,
    pub(super) application_bytes: f64,
    pub(super) recalls: Option<f64>,
    pub(super) queue_ms: f64,
    pub(super) wire_ms: f64,
    /// Seconds of processors are sums, and shares are weighed by the length of their run.
    pub(super) resources: Option<Resources>,
}

impl<'a> Totals<'a> {
    /// Adds up the runs of `cell`, or takes its own counts where it has no runs.
    pub(super) fn of(cell: &'a Cell) -> Self {
        if cell.run_details.is_empty() {
            return Self::of_cell(cell);
        }
        let runs = &cell.run_details;
        let sum = |of: fn(&Run) -> f64| runs.iter().map(of).sum::<f64>();
        let mut rpcs: BTreeMap<&str, f64> = BTreeMap::new();
        for (name, count) in runs.iter().flat_map(|run| &run.rpcs) {
            *rpcs.entry(name).or_default() += *count as f64;
        }
        let requests = |run: &Run| run.rpcs_total() as f64;
        let all = runs.iter().map(requests).sum::<f64>().max(1.0);
        let per_request =
            |of: fn(&Run) -> f64| runs.iter().map(|run| of(run) * requests(run)).sum::<f64>() / all;
        let recalls = runs.iter().filter_map(|run| run.callbacks.get("CB_RECALL"));
        let recalls = recalls.map(|count| *count as f64).reduce(|sum, count| sum + count);
        Self {
            operations: sum(|run| run.operations as f64),
            seconds: sum(|run| run.seconds),
            rpcs,
            wire_bytes: sum(|run| run.wire_bytes.sent as f64 + run.wire_bytes.received as f64),
            application_bytes: sum(|run| run.application_bytes as f64),
            recalls,
            queue_ms: per_request(|run| run.queue_ms),
            wire_ms: per_request(|run| run.wire_ms),
            resources: resources(runs),
        }
    }

    fn of_cell(cell: &'a Cell) -> Self {
        Self {
            operations: cell.operations as f64,
            seconds: cell.seconds,
            rpcs: cell.rpcs.iter().map(|(name, count)| (name.as_str(), *count as f64)).collect(),
            wire_bytes: cell.wire_bytes.sent as f64 + cell.wire_bytes.received as f64,
            application_bytes: cell.application_bytes as f64,
            recalls: cell.callbacks.get("CB_RECALL").map(|count| *count as f64),
            queue_ms: cell.queue_ms,
            wire_ms: cell.wire_ms,
            resources: cell.resources,
        }
    }
}

/// Those of the runs that have any.
fn resources(runs: &[Run]) -> Option<Resources> {
    let known: Vec<(f64, Resources)> =
        runs.iter().filter_map(|run| Some((run.seconds, run.resources?))).collect();
    let time: f64 = known.iter().map(|(seconds, _)| seconds).sum();
    if known.is_empty() || time <= 0.0 {
        return known.first().map(|(_, used)| *used);
    }
    let share = |of: fn(&Resources) -> Option<f64>| {
        let all: Option<Vec<f64>> = known.iter().map(|(seconds, used)| Some(of(used)? * seconds)).collect();
        all.map(|all| all.iter().sum::<f64>() / time)
    };
    let sum = |of: fn(&Resources) -> Option<f64>| {
        let all: Option<Vec<f64>> = known.iter().map(|(_, used)| of(used)).collect();
        all.map(|all| all.iter().sum())
    };
    let disks = |of: fn(&Resources) -> Option<Disk>| {
        let all: Option<Vec<Disk>> = known.iter().map(|(_, used)| of(used)).collect();
        Disk::sum(&all?)
    };
    Some(Resources {
        busy: share(|used| Some(used.busy)).unwrap_or_default(),
        client_seconds: sum(|used| Some(used.client_seconds)).unwrap_or_default(),
        server_seconds: sum(|used| used.server_seconds),
        disk_busy: share(|used| used.disk_busy),
        stolen: share(|used| used.stolen),
        server_busy: share(|used| used.server_busy),
        server_disk_busy: share(|used| used.server_disk_busy),
        io_wait: share(|used| used.io_wait),
        disk: disks(|used| used.disk),
        server_io_wait: share(|used| used.server_io_wait),
        server_disk: disks(|used| used.server_disk),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn runs_are_added_up_and_shares_weighed_by_time() {
        let run = |seconds: f64, opens: u64, busy: f64| Run {
            value: 1.0,
            seconds,
            operations: 100,
            rpcs: [("OPEN".to_owned(), opens)].into(),
            queue_ms: seconds,
            resources: Some(Resources { busy, client_seconds: 0.5, ..Resources::default() }),
            ..Run::default()
        };
        let runs = vec![run(1.0, 0, 0.2), run(3.0, 100, 0.6)];
        let cell = Cell::from_runs(samples::setting("4.1", 0.0), runs).unwrap();
        let totals = Totals::of(&cell);
        assert_eq!((totals.operations, totals.rpcs["OPEN"]), (200.0, 100.0));
        assert_eq!(totals.queue_ms, 3.0, "weighed by requests");
        let used = totals.resources.unwrap();
        assert!((used.busy - 0.5).abs() < 1e-12 && used.client_seconds == 1.0, "{used:?}");
        assert_eq!((used.server_seconds, totals.recalls), (None, None));
    }

    #[test]
    fn cell_without_runs_is_taken_as_it_stands() {
        let mut cell = samples::results().cells.remove(0);
        cell.run_details.clear();
        let totals = Totals::of(&cell);
        assert_eq!(totals.operations, cell.operations as f64);
        assert_eq!(totals.rpcs.values().sum::<f64>(), cell.rpcs_total as f64);
    }
}
