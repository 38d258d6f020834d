//! How many blocks finding a difference of a given size takes, from the spread of those that were measured.

use super::{paired, seen};
use crate::results::Cell;
use crate::statistics::{Look, PLANNED_POWER, SIGNIFICANCE, pairs_needed};

/// A comparison and what it needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Forecast<'a> {
    /// Its candidate.
    pub(crate) candidate: &'a Cell,
    /// Blocks of the look that finds the difference with a chance of 95 %; none where no look does.
    pub(crate) blocks: Option<u32>,
}

/// Returns what every comparison of `cells` needs to find a difference of `share`, such as 0.05 for 5 %.
pub(crate) fn forecasts(cells: &[Cell], share: f64) -> Vec<Forecast<'_>> {
    let pairs = paired(cells);
    let level = SIGNIFICANCE / pairs.len().max(1) as f64;
    let of_pair = |(baseline, candidate): &(&Cell, &'_ Cell)| {
        let last = seen(baseline, candidate).last()?.ratio;
        look_of(&candidate.looks, share, last.deviation()?, level)
    };
    pairs.iter().map(|pair| Forecast { candidate: pair.1, blocks: of_pair(pair) }).collect()
}

/// The first look that has pairs enough for its share of `level`.
pub(super) fn look_of(looks: &[Look], share: f64, deviation: f64, level: f64) -> Option<u32> {
    let is_enough = |look: &&Look| {
        pairs_needed(share.ln_1p(), deviation, level * look.share, PLANNED_POWER)
            .is_some_and(|needed| needed <= look.blocks)
    };
    looks.iter().find(is_enough).map(|look| look.blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Run;
    use crate::samples;
    use crate::statistics::detection;

    #[test]
    fn spread_decides_how_many_blocks_are_needed() {
        let looks = detection();
        let needed = |deviation: f64| look_of(&looks, 0.05, deviation, 0.05);
        assert_eq!([needed(0.01), needed(0.05), needed(0.15)], [Some(12), Some(24), Some(384)]);
        assert_eq!(needed(1.0), None);
        let wider = look_of(&looks, 0.05, 0.05, 0.05 / 24.0);
        assert_eq!(wider, Some(48), "a family of 24 needs more");
    }

    #[test]
    fn every_comparison_is_forecast_from_its_own_pairs() {
        let cell = |version: &str, spread: f64| {
            let run = |block: u32| {
                let sign = if block.is_multiple_of(2) { 1.0 } else { -1.0 };
                Run { block, value: 100.0 * (1.0 + sign * spread), ..Run::default() }
            };
            let cell = Cell::from_runs(samples::setting(version, 0.0), (0..12).map(run).collect()).unwrap();
            Cell { looks: detection(), ..cell }
        };
        let cells = [cell("3", 0.0), cell("4.1", 0.001), cell("4.2", 0.5)];
        let found: Vec<Option<u32>> = forecasts(&cells, 0.05).iter().map(|one| one.blocks).collect();
        assert_eq!(found, [Some(12), None]);
    }
}
