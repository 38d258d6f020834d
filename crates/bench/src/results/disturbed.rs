//! Runs around which the processor was slower than around others of the same setting.

use super::Run;
use crate::text::percent;

/// A processor that takes this much longer for the same work is disturbed.
const SLOWER_MIN: f64 = 1.25;
/// The share of runs from which it is a doubt.
const SHARE_MIN: f64 = 0.25;

/// Says so when the machine was disturbed around a quarter of the runs or more.
pub(super) fn disturbed(runs: &[Run]) -> Option<String> {
    let slowest = |run: &Run| run.calibration_ms.map(|[before, after]| before.max(after));
    let fastest = runs.iter().filter_map(|run| run.calibration_ms).flatten().reduce(f64::min)?;
    let found: Vec<f64> =
        runs.iter().filter_map(slowest).filter(|time| *time >= fastest * SLOWER_MIN).collect();
    let most = found.iter().copied().reduce(f64::max)?;
    (found.len() as f64 >= SHARE_MIN * runs.len() as f64).then(|| {
        format!(
            "The same work took a processor up to {} longer around {} of {} runs: something else used \
             the machine.",
            percent(most / fastest - 1.0),
            found.len(),
            runs.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(times: &[f64]) -> Option<String> {
        let run = |time: &f64| Run { calibration_ms: Some([5.0, *time]), ..Run::default() };
        disturbed(&times.iter().map(run).collect::<Vec<_>>())
    }

    #[test]
    fn quarter_of_slow_runs_is_a_doubt_and_less_is_none() {
        let doubt = found(&[5.0, 5.1, 9.0, 5.2]).unwrap();
        assert!(doubt.contains("up to 80 % longer around 1 of 4 runs"), "{doubt}");
        assert_eq!(found(&[5.0, 5.1, 9.0, 5.2, 5.3]), None);
        assert_eq!(found(&[5.0, 5.9, 6.0]), None);
        assert_eq!(disturbed(&[Run::default()]), None, "agents do not look");
    }
}
