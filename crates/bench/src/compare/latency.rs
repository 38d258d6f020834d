//! How the times of operations differ between two cells: the median and the 99th percentile.

use std::collections::BTreeMap;

use crate::results::{Cell, Latency, LatencyRatio, LatencyRatios};
use crate::statistics::{paired_ratio, welch_ratio};

/// Compares the percentiles of the runs of both cells: in pairs where they have blocks in common.
pub(super) fn ratios(baseline: &Cell, candidate: &Cell) -> Option<LatencyRatios> {
    Some(LatencyRatios {
        p50: ratio(baseline, candidate, |times| times.p50)?,
        p99: ratio(baseline, candidate, |times| times.p99)?,
    })
}

fn ratio(baseline: &Cell, candidate: &Cell, of: fn(&Latency) -> f64) -> Option<LatencyRatio> {
    let times = |cell: &Cell| -> BTreeMap<u32, f64> {
        cell.run_details.iter().filter_map(|run| Some((run.block, of(run.latency_ms.as_ref()?)))).collect()
    };
    let [left, right] = [baseline, candidate].map(times);
    let pairs: Vec<(f64, f64)> =
        right.iter().filter_map(|(block, time)| Some((*left.get(block)?, *time))).collect();
    let [left, right] = [left, right].map(|times| times.into_values().collect::<Vec<f64>>());
    let log_ratio = if pairs.is_empty() { welch_ratio(&left, &right)? } else { paired_ratio(&pairs)? };
    Some(LatencyRatio {
        baseline_ms: mean(&left)?,
        candidate_ms: mean(&right)?,
        ratio: log_ratio.finite_ratio(),
        ci95: log_ratio.finite_interval(),
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Run;
    use crate::samples;

    fn cell(version: &str, medians: &[(u32, f64)]) -> Cell {
        let run = |(block, p50): &(u32, f64)| Run {
            block: *block,
            value: 1.0,
            latency_ms: Some(Latency { p50: *p50, p99: 10.0 * p50, ..Latency::default() }),
            ..Run::default()
        };
        let runs = medians.iter().map(run).collect();
        Cell::from_runs(samples::setting(version, 0.0), runs).unwrap()
    }

    #[test]
    fn percentiles_are_compared_in_pairs() {
        // Each block is slower than the one before it, in both versions alike.
        let baseline = cell("3", &[(0, 1.0), (1, 2.0), (2, 4.0)]);
        let candidate = cell("4.1", &[(0, 2.0), (1, 4.0), (2, 8.0)]);
        let ratios = ratios(&baseline, &candidate).unwrap();
        assert!((ratios.p50.ratio.unwrap() - 2.0).abs() < 1e-12, "{ratios:?}");
        let [low, high] = ratios.p50.ci95.unwrap();
        assert!((low - 2.0).abs() < 1e-9 && (high - 2.0).abs() < 1e-9, "nothing varies within blocks");
        assert!((ratios.p99.baseline_ms - 70.0 / 3.0).abs() < 1e-9, "{ratios:?}");
        assert!((ratios.p99.candidate_ms - 140.0 / 3.0).abs() < 1e-9, "{ratios:?}");
    }

    #[test]
    fn runs_without_common_blocks_or_times_still_have_an_answer() {
        let baseline = cell("3", &[(0, 1.0), (1, 1.0)]);
        let apart = ratios(&baseline, &cell("4.1", &[(7, 3.0), (8, 3.0)])).unwrap();
        assert!((apart.p50.ratio.unwrap() - 3.0).abs() < 1e-12, "{apart:?}");
        let alone = ratios(&cell("3", &[(0, 1.0)]), &cell("4.1", &[(0, 3.0)])).unwrap();
        assert_eq!(alone.p50.ci95, None, "a single run has no interval");
        let mut without = cell("4.1", &[(0, 1.0)]);
        without.run_details[0].latency_ms = None;
        assert_eq!(ratios(&baseline, &without), None);
        assert_eq!(ratios(&baseline, &cell("4.1", &[(0, 0.0)])), None, "a time of zero has no logarithm");
    }
}
