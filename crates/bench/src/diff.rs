//! Two result documents against each other: two servers, two dates, two settings.
//!
//! Owns the comparison of cells that were not measured together, and what must be said of the circumstances. It knows nothing
//! of how it is shown.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::compare::matching::matched;
use crate::results::{Cell, Environment, Link, Results, version_name};
use crate::statistics::{LogRatio, Outcome, decide, welch_ratio};
use crate::text::{delay, number};

/// Links that differ by more than this share, and by more than [`LINK_MS_MAX`], are not the same network.
const LINK_SHARE_MAX: f64 = 0.02;
const LINK_MS_MAX: f64 = 0.2;

/// What two documents say of the same settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    /// One for each setting that both have.
    pub cells: Vec<CellDiff>,
    /// Settings that only the first has.
    pub only_in_first: Vec<String>,
    /// Settings that only the second has.
    pub only_in_second: Vec<String>,
    /// What differs besides what was measured, one sentence each.
    pub warnings: Vec<String>,
}

/// One setting in both documents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellDiff {
    /// The experiment's name.
    pub experiment: String,
    /// The level of each factor that the experiment varies.
    pub levels: BTreeMap<String, String>,
    /// The round-trip delay asked for, in milliseconds.
    pub rtt_ms: f64,
    /// The version.
    pub version: String,
    /// Whether its client could use delegations.
    pub delegations: bool,
    /// The unit of the means.
    pub unit: String,
    /// Mean of the first, and its 95 % interval.
    pub first: Mean,
    /// Mean of the second, and its 95 % interval.
    pub second: Mean,
    /// Second ÷ first of the metric; none when one has no usable value.
    pub ratio: Option<f64>,
    /// The ratio's 95 % interval, uncorrected; none with a single run.
    pub ci95: Option<[f64; 2]>,
    /// What it means for the second, corrected over all settings.
    pub verdict: Outcome,
    /// Corrected p of "there is no difference".
    pub p_different: f64,
    /// Corrected p of "they differ by more than 3 %".
    pub p_same: f64,
}

/// The mean of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Its 95 % interval; none with a single run.
    pub ci95: Option<[f64; 2]>,
}

/// Compares every setting that both documents have, by Welch's t on logarithms; all of them are one family.
#[must_use]
pub fn diff(first: &Results, second: &Results) -> Diff {
    let sides = matched(&first.cells, &second.cells);
    let ratios: Vec<Option<LogRatio>> =
        sides.both.iter().map(|(left, right)| welch_ratio(&left.runs, &right.runs)).collect();
    let family: Vec<_> = sides
        .both
        .iter()
        .zip(&ratios)
        .map(|((left, _), ratio)| (*ratio, left.setting.metric.better))
        .collect();
    let decisions = decide(&family);
    let cells =
        sides.both.iter().zip(&ratios).zip(&decisions).map(|(((left, right), ratio), decision)| CellDiff {
            experiment: left.setting.experiment.clone(),
            levels: left.setting.levels.clone(),
            rtt_ms: left.setting.rtt_ms,
            version: left.setting.version.clone(),
            delegations: left.setting.delegations,
            unit: left.setting.metric.unit.clone(),
            first: mean(left),
            second: mean(right),
            ratio: ratio.and_then(|ratio| ratio.finite_ratio()),
            ci95: ratio.and_then(|ratio| ratio.finite_interval()),
            verdict: decision.outcome,
            p_different: decision.p_different,
            p_same: decision.p_same,
        });
    let mut warnings = environment_warnings(&first.environment, &second.environment);
    warnings.extend(sides.both.iter().flat_map(|(left, right)| setting_warnings(left, right)));
    warnings.dedup();
    Diff {
        cells: cells.collect(),
        only_in_first: sides.only_first.iter().map(|cell| place(cell)).collect(),
        only_in_second: sides.only_second.iter().map(|cell| place(cell)).collect(),
        warnings,
    }
}

/// "create at 10 ms over v4.1".
pub(crate) fn place(cell: &Cell) -> String {
    let setting = &cell.setting;
    format!("{} at {} over {}", setting.name(), delay(setting.rtt_ms), cell.version_name())
}

fn mean(cell: &Cell) -> Mean {
    Mean { mean: cell.mean, ci95: cell.ci95 }
}

fn environment_warnings(first: &Environment, second: &Environment) -> Vec<String> {
    let texts = [
        ("kernels", &first.kernel, &second.kernel),
        ("processors", &first.cpu_model, &second.cpu_model),
        ("versions of primetime", &first.tool_version, &second.tool_version),
    ]
    .map(|(what, left, right)| (what, left.clone(), right.clone()));
    let numbers = [
        ("numbers of processors", first.cores.to_string(), second.cores.to_string()),
        ("seeds", first.seed.to_string(), second.seed.to_string()),
    ];
    let mut warnings: Vec<String> = texts
        .into_iter()
        .chain(numbers)
        .filter(|(_, left, right)| left != right && !left.is_empty() && !right.is_empty())
        .map(|(what, left, right)| format!("They have different {what}: {left} and {right}."))
        .collect();
    warnings.extend(["size", "sizes"].iter().find_map(|name| {
        let [left, right] = [first, second].map(|environment| environment.plan.get(*name));
        let (left, right) = left.zip(right).filter(|(left, right)| left != right)?;
        Some(format!("They have different sizes of the experiments: {left} and {right}."))
    }));
    warnings.extend(first.links.iter().filter_map(|left| link_warning(left, &second.links)));
    warnings.extend(negotiated_warnings(first, second));
    warnings
}

fn link_warning(left: &Link, others: &[Link]) -> Option<String> {
    let right = others.iter().find(|link| link.rtt_ms == left.rtt_ms)?;
    let off_ms = (left.measured_ms - right.measured_ms).abs();
    let allowed_ms = (left.measured_ms * LINK_SHARE_MAX).max(LINK_MS_MAX);
    let asked = delay(left.rtt_ms);
    if off_ms > allowed_ms {
        let [left, right] = [left, right].map(|link| number(link.measured_ms));
        return Some(format!(
            "Their networks differ: with {asked} asked for a round trip takes {left} ms and {right} ms."
        ));
    }
    (left.kind != right.kind).then(|| {
        format!("Their delays of {asked} were made in different ways: {} and {}.", left.kind, right.kind)
    })
}

/// What one version has agreed on with both servers, but differently.
fn negotiated_warnings(first: &Environment, second: &Environment) -> Vec<String> {
    let mut warnings = Vec::new();
    for (version, agreed) in &first.negotiated {
        let Some(others) = second.negotiated.get(version) else { continue };
        for (name, left) in agreed {
            if let Some(right) = others.get(name).filter(|right| *right != left) {
                let version = version_name(version, true);
                warnings.push(format!(
                    "Over {version} they have agreed on different {name}: {left} and {right}."
                ));
            }
        }
    }
    warnings
}

fn setting_warnings(left: &Cell, right: &Cell) -> Vec<String> {
    let (a, b) = (&left.setting, &right.setting);
    [
        ("clients", u64::from(a.clients), u64::from(b.clients)),
        ("threads", u64::from(a.threads), u64::from(b.threads)),
        ("bytes in each read or write", a.io_bytes, b.io_bytes),
    ]
    .into_iter()
    .filter(|(_, left, right)| left != right)
    .map(|(what, left, right)| format!("{} was measured with {left} and {right} {what}.", a.name()))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_document_does_not_differ_from_itself() {
        let results = samples::results();
        let found = diff(&results, &results);
        assert_eq!(found.cells.len(), results.cells.len());
        assert!(found.cells.iter().all(|cell| cell.ratio == Some(1.0) && cell.p_different == 1.0));
        assert_eq!((found.warnings.len(), found.only_in_first.len(), found.only_in_second.len()), (0, 0, 0));
    }

    #[test]
    fn what_became_slower_is_told_for_that_setting_only() {
        let first = samples::results();
        let mut second = samples::results();
        second.cells[3].runs.iter_mut().for_each(|value| *value *= 0.7);
        let found = diff(&first, &second);
        for (index, cell) in found.cells.iter().enumerate() {
            assert_eq!(cell.verdict == Outcome::Slower, index == 3, "{cell:?}");
        }
        let [low, high] = found.cells[3].ci95.unwrap();
        assert!(low < 0.7 && 0.7 < high && high < 0.75, "{low} {high}");
    }

    #[test]
    fn what_only_one_has_is_named() {
        let first = samples::results();
        let mut second = samples::results();
        let gone = second.cells.remove(0);
        second.cells[0].setting.version = "4.2".to_owned();
        let found = diff(&first, &second);
        assert_eq!(found.only_in_first[0], place(&gone));
        assert_eq!(found.only_in_second, [place(&second.cells[0])]);
    }

    #[test]
    fn different_circumstances_are_told() {
        let first = samples::results();
        let mut second = samples::results();
        second.environment.kernel = "Linux 7.0".to_owned();
        second.environment.seed += 1;
        second.environment.links[2].measured_ms += 1.0;
        second.environment.negotiated.get_mut("3").unwrap().insert("rsize".to_owned(), "65536".to_owned());
        for cell in second.cells.iter_mut().filter(|cell| cell.setting.experiment == "create") {
            cell.setting.clients = 50;
        }
        let found = diff(&first, &second).warnings.join("\n");
        for part in [
            "kernels: Linux 6.1.0 and Linux 7.0",
            "seeds: 42 and 43",
            "10 ms asked for",
            "rsize",
            "create was measured with 5 and 50 clients",
        ] {
            assert!(found.contains(part), "{part} is not in {found}");
        }
        assert_eq!(found.lines().count(), 5, "{found}");
    }
}
