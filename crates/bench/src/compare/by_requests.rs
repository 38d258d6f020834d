//! What exact counts decide where times are too noisy: requests one after the other, each of which takes the
//! delay of the link.

use crate::results::{Cell, Run};
use crate::statistics::Outcome;

/// The share of an operation's time that its requests × delay must explain at least, in both arms.
const DELAY_SHARE_MIN: f64 = 0.5;
/// Requests that are sent side by side take less time than one after the other: then counts decide nothing.
const DELAY_SHARE_MAX: f64 = 1.05;
/// The difference must be as many times the margin within which arms are the same.
const MARGINS_MIN: f64 = 2.0;
const RUNS_MIN: usize = 2;

/// Returns what the counts of requests say of `candidate`; `None` where they decide nothing.
///
/// They decide where every run of one arm sent fewer requests for each operation than every run of the other,
/// where requests × delay explain most of the time in both, and where the difference × delay is at least
/// twice `margin` of that time.
pub(super) fn outcome(baseline: &Cell, candidate: &Cell, margin: f64) -> Option<Outcome> {
    let [own, other] = [Requests::of(candidate)?, Requests::of(baseline)?];
    let is_serial = |one: &Requests| (DELAY_SHARE_MIN..=DELAY_SHARE_MAX).contains(&one.delay_share);
    if !is_serial(&own) || !is_serial(&other) {
        return None;
    }
    let (fewer, more) = if own.most < other.fewest { (&own, &other) } else { (&other, &own) };
    if fewer.most >= more.fewest {
        return None;
    }
    let saved = (more.fewest - fewer.most) / more.mean * more.delay_share;
    let outcome = if own.most < other.fewest { Outcome::Faster } else { Outcome::Slower };
    (saved >= MARGINS_MIN * margin).then_some(outcome)
}

/// Requests for each operation, over the runs of a cell.
struct Requests {
    fewest: f64,
    most: f64,
    mean: f64,
    /// Requests × delay ÷ time of an operation.
    delay_share: f64,
}

impl Requests {
    /// `None` where the counts are not exact, or there is no delay or too few runs. A kernel counts no
    /// requests of its lock manager.
    fn of(cell: &Cell) -> Option<Self> {
        let is_exact = matches!(cell.setting.client.as_str(), "builtin" | "fuse");
        let runs: Vec<&Run> = cell.run_details.iter().filter(|run| run.operations > 0).collect();
        if !is_exact || cell.setting.rtt_ms <= 0.0 || runs.len() < RUNS_MIN {
            return None;
        }
        let counts: Vec<f64> = runs.iter().filter_map(|run| run.rpcs_per_operation()).collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let threads = f64::from(cell.setting.clients) * f64::from(cell.setting.threads);
        let operations: u64 = runs.iter().map(|run| run.operations).sum();
        let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
        let operation_ms = seconds * 1000.0 * threads / operations as f64;
        (operation_ms > 0.0 && mean > 0.0).then(|| Self {
            fewest: counts.iter().copied().fold(f64::INFINITY, f64::min),
            most: counts.iter().copied().fold(0.0, f64::max),
            mean,
            delay_share: mean * cell.setting.rtt_ms / operation_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Setting;
    use crate::samples;

    /// A cell at 10 ms whose operations take `operation_ms`, with so many requests in each run of 100
    /// operations.
    fn cell(client: &str, operation_ms: f64, requests: &[u64]) -> Cell {
        let setting =
            Setting { client: client.to_owned(), clients: 1, threads: 1, ..samples::setting("4.1", 10.0) };
        let run = |requests: &u64| Run {
            value: 1.0,
            operations: 100,
            seconds: operation_ms / 10.0,
            rpcs: [("OPEN".to_owned(), *requests)].into(),
            ..Run::default()
        };
        Cell::from_runs(setting, requests.iter().map(run).collect()).unwrap()
    }

    #[test]
    fn fewer_serial_requests_decide() {
        let (four, three) = (cell("builtin", 42.0, &[400, 400]), cell("builtin", 36.0, &[301, 300]));
        assert_eq!(outcome(&four, &three, 0.03), Some(Outcome::Faster));
        assert_eq!(outcome(&three, &four, 0.03), Some(Outcome::Slower));
        assert_eq!(outcome(&three, &four, 0.2), None, "a quarter is less than twice the margin");
    }

    #[test]
    fn counts_decide_nothing_that_they_do_not_explain() {
        let three = cell("builtin", 36.0, &[301, 300]);
        for other in [
            cell("builtin", 42.0, &[400, 290]),
            cell("builtin", 12.0, &[400, 400]),
            cell("builtin", 400.0, &[400, 400]),
            cell("kernel", 42.0, &[400, 400]),
            cell("builtin", 42.0, &[400]),
        ] {
            assert_eq!(outcome(&other, &three, 0.03), None, "{:?}", other.run_details);
        }
    }
}
