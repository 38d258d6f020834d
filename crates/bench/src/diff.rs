//! Result documents against each other: two servers, two dates, two settings.
//!
//! Owns the comparison of cells that were not measured together, and what must be said of the circumstances.
//! It knows nothing of how it is shown.
//!
//! The document is the unit of the comparison, not the run: between two benchmarks the speed of a machine
//! moves by more than the runs of one of them can tell. One document of each side therefore decides nothing.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::compare::matching::{matched, partner};
use crate::results::{Cell, Environment, Link, Results, version_name};
use crate::statistics::{
    Decision, Interval, LogRatio, LookResult, Member, Outcome, decide, estimate, welch_ratio,
};
use crate::text::{delay, number};

/// Documents of each side without which nothing is decided.
pub const DOCUMENTS_MIN: usize = 2;

/// Links that differ by more than this share, and by more than [`LINK_MS_MAX`], are not the same network.
const LINK_SHARE_MAX: f64 = 0.02;
const LINK_MS_MAX: f64 = 0.2;

/// What the documents of two sides say of the same settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Diff {
    /// One for each setting that both have.
    pub cells: Vec<CellDiff>,
    /// Settings that only the first has.
    pub only_in_first: Vec<String>,
    /// Settings that only the second has.
    pub only_in_second: Vec<String>,
    /// What differs besides what was measured, one sentence each.
    pub warnings: Vec<String>,
    /// Documents of the first side and of the second.
    pub documents: [usize; 2],
}

impl Diff {
    /// Whether both sides have documents enough for their spread to be known.
    #[must_use]
    pub fn has_repeats(&self) -> bool {
        self.documents.iter().all(|count| *count >= DOCUMENTS_MIN)
    }
}

/// One setting in all documents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellDiff {
    /// The experiment's name.
    pub experiment: String,
    /// The level of each factor that the experiment varies.
    pub levels: BTreeMap<String, String>,
    /// The round-trip delay asked for, in milliseconds.
    pub rtt_ms: f64,
    /// The name that its arm was given; empty where versions are compared.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub arm: String,
    /// The version.
    pub version: String,
    /// Whether its client could use delegations.
    pub delegations: bool,
    /// The unit of the means.
    pub unit: String,
    /// Mean of the first side, and its 95 % interval: over its documents, or over the runs of its only one.
    pub first: Mean,
    /// The same of the second side.
    pub second: Mean,
    /// Second ÷ first of the metric; none when one has no usable value.
    pub ratio: Option<f64>,
    /// The ratio's 95 % interval, uncorrected; none without repeats.
    pub ci95: Option<[f64; 2]>,
    /// The interval that `verdict` follows from: all settings have their true ratio within theirs with 95 %.
    pub interval: Option<[f64; 2]>,
    /// What it means for the second, corrected over all settings; unclear without repeats.
    pub verdict: Outcome,
    /// Corrected p of "there is no difference".
    pub p_different: f64,
    /// Corrected p of "they differ by more than the margin".
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

/// Compares every setting that all documents of `first` and of `second` have, by Welch's t on the logarithms
/// of the documents' means; all settings are one family. Ratios within the margin of the first document count
/// as the same.
#[must_use]
pub fn diff(first: &[Results], second: &[Results]) -> Diff {
    let documents = [first.len(), second.len()];
    let (Some(one), Some(other)) = (first.first(), second.first()) else {
        return Diff { documents, ..Diff::default() };
    };
    let sides = matched(&one.cells, &other.cells);
    let settings: Vec<Setting<'_>> =
        sides.both.iter().filter_map(|both| Setting::of(*both, (first, second))).collect();
    let ratios: Vec<Option<LogRatio>> = settings.iter().map(Setting::ratio).collect();
    let family: Vec<Member> = settings
        .iter()
        .zip(&ratios)
        .map(|(setting, ratio)| Member {
            seen: ratio.map(LookResult::once).into_iter().collect(),
            better: setting.first[0].setting.metric.better,
        })
        .collect();
    let decisions = decide(&family, one.environment.same_within);
    let cells = settings
        .iter()
        .zip(&ratios)
        .zip(&decisions)
        .map(|((setting, ratio), decision)| setting.diff(ratio.as_ref(), decision));
    let cells: Vec<CellDiff> = cells.collect();
    let mut warnings = environment_warnings(&one.environment, &other.environment);
    warnings.extend(sides.both.iter().flat_map(|(left, right)| setting_warnings(left, right)));
    warnings.dedup();
    Diff {
        cells,
        only_in_first: sides.only_first.iter().map(|cell| place(cell)).collect(),
        only_in_second: sides.only_second.iter().map(|cell| place(cell)).collect(),
        warnings,
        documents,
    }
}

/// One setting in all documents.
struct Setting<'a> {
    first: Vec<&'a Cell>,
    second: Vec<&'a Cell>,
}

impl<'a> Setting<'a> {
    /// None where a document lacks it.
    fn of(
        (left, right): (&'a Cell, &'a Cell),
        (first, second): (&'a [Results], &'a [Results]),
    ) -> Option<Self> {
        Some(Self { first: in_all(left, first)?, second: in_all(right, second)? })
    }

    fn ratio(&self) -> Option<LogRatio> {
        let [first, second] = [&self.first, &self.second].map(|cells| document_means(cells));
        welch_ratio(&first?, &second?)
    }

    fn diff(&self, ratio: Option<&LogRatio>, decision: &Decision) -> CellDiff {
        let setting = &self.first[0].setting;
        CellDiff {
            experiment: setting.experiment.clone(),
            levels: setting.levels.clone(),
            rtt_ms: setting.rtt_ms,
            arm: setting.arm.clone(),
            version: setting.version.clone(),
            delegations: setting.delegations,
            unit: setting.metric.unit.clone(),
            first: mean(&self.first),
            second: mean(&self.second),
            ratio: ratio.and_then(LogRatio::finite_ratio),
            ci95: ratio.and_then(LogRatio::finite_interval),
            interval: decision.interval.and_then(Interval::finite_ends),
            verdict: decision.outcome,
            p_different: decision.p_different,
            p_same: decision.p_same,
        }
    }
}

/// The cell of the same setting in each document, that of the first one being `cell`.
fn in_all<'a>(cell: &'a Cell, documents: &'a [Results]) -> Option<Vec<&'a Cell>> {
    let others = documents.iter().skip(1).map(|document| partner(cell, &document.cells));
    std::iter::once(Some(cell)).chain(others).collect()
}

/// The geometric mean of each cell's runs; none where one has no value that is positive.
pub(crate) fn document_means(cells: &[&Cell]) -> Option<Vec<f64>> {
    let mean = |cell: &&Cell| {
        let logs: Vec<f64> = cell.runs.iter().map(|value| value.ln()).filter(|log| log.is_finite()).collect();
        (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    };
    cells.iter().map(mean).collect()
}

/// "10 ms in one and 10.5 ms in the other", where the delays of one setting differ.
pub(crate) fn other_delay(left: &Cell, right: &Cell) -> Option<String> {
    let [one, other] = [left, right].map(|cell| cell.setting.rtt_ms);
    (one != other).then(|| format!("{} in one and {} in the other", delay(one), delay(other)))
}

/// "create at 10 ms over v4.1".
pub(crate) fn place(cell: &Cell) -> String {
    let setting = &cell.setting;
    format!("{} at {} over {}", setting.name(), delay(setting.rtt_ms), cell.version_name())
}

/// That of one document with the interval of its runs, or that of several with the interval of the documents.
fn mean(cells: &[&Cell]) -> Mean {
    if let [only] = cells {
        return Mean { mean: only.mean, ci95: only.ci95 };
    }
    let means: Vec<f64> = cells.iter().map(|cell| cell.mean).collect();
    estimate(&means).map_or(Mean { mean: f64::NAN, ci95: None }, |estimate| Mean {
        mean: estimate.mean,
        ci95: estimate.interval.map(|interval| [interval.low, interval.high]),
    })
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
    let delays = other_delay(left, right).map(|delays| {
        format!("{} was measured at different delays, {delays}: times differ by as much.", a.name())
    });
    let settings = [
        ("clients", u64::from(a.clients), u64::from(b.clients)),
        ("threads", u64::from(a.threads), u64::from(b.threads)),
        ("bytes in each read or write", a.io_bytes, b.io_bytes),
    ]
    .into_iter()
    .filter(|(_, left, right)| left != right)
    .map(|(what, left, right)| format!("{} was measured with {left} and {right} {what}.", a.name()));
    settings.chain(delays).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    /// Documents whose cells have moved by these factors, one for each document.
    fn documents(factors: &[f64]) -> Vec<Results> {
        let moved = |factor: &f64| {
            let mut results = samples::results();
            let runs = results.cells.iter_mut().flat_map(|cell| &mut cell.runs);
            runs.for_each(|value| *value *= factor);
            results
        };
        factors.iter().map(moved).collect()
    }

    #[test]
    fn single_documents_are_not_comparable() {
        let found = diff(&documents(&[1.0]), &documents(&[1.5]));
        assert_eq!(found.cells.len(), samples::results().cells.len());
        assert!(!found.has_repeats());
        for cell in &found.cells {
            assert_eq!((cell.verdict, cell.interval), (Outcome::Unclear, None));
            assert!((cell.ratio.unwrap() - 1.5).abs() < 1e-9);
        }
    }

    #[test]
    fn delays_that_nearly_agree_are_compared_with_a_warning() {
        let later: Vec<Results> = documents(&[1.0, 1.0])
            .into_iter()
            .map(|mut results| {
                results.cells.iter_mut().for_each(|cell| cell.setting.rtt_ms *= 1.04);
                results
            })
            .collect();
        let found = diff(&documents(&[1.0, 1.0]), &later);
        assert_eq!(found.cells.len(), samples::results().cells.len());
        let warned =
            found.warnings.iter().filter(|warning| warning.contains("at different delays, 10 ms in one"));
        assert!(warned.count() > 0, "{:?}", found.warnings);
        assert!(diff(&documents(&[1.0]), &documents(&[1.0])).warnings.is_empty());
    }

    #[test]
    fn shift_of_all_settings_between_documents_is_no_difference() {
        // The runs of each document agree to a percent, the documents of one side do not.
        let found = diff(&documents(&[1.0, 1.08, 0.95]), &documents(&[1.06, 0.97, 1.1]));
        assert!(found.has_repeats());
        assert!(found.cells.iter().all(|cell| cell.verdict == Outcome::Unclear), "{:?}", found.cells[0]);
    }

    #[test]
    fn diff_reports_the_setting_that_became_slower_only() {
        let first = documents(&[1.0, 1.001, 0.999, 1.0005]);
        let mut second = documents(&[1.0005, 1.001, 0.9995, 0.999]);
        for document in &mut second {
            document.cells[3].runs.iter_mut().for_each(|value| *value *= 0.7);
        }
        let found = diff(&first, &second);
        for (index, cell) in found.cells.iter().enumerate() {
            assert_eq!(cell.verdict == Outcome::Slower, index == 3, "{cell:?}");
        }
        let [low, high] = found.cells[3].interval.unwrap();
        assert!(low < 0.7 && 0.7 < high && high < 0.75, "{low} {high}");
    }

    #[test]
    fn setting_that_a_repeat_lacks_is_not_compared() {
        let first = documents(&[1.0, 1.01]);
        let mut second = documents(&[1.0, 1.01]);
        second[1].cells.remove(0);
        assert_eq!(diff(&first, &second).cells.len(), first[0].cells.len() - 1);
        assert_eq!(diff(&first, &[]).cells, []);
    }

    #[test]
    fn diff_names_settings_of_one_document_only() {
        let first = samples::results();
        let mut second = samples::results();
        let gone = second.cells.remove(0);
        second.cells[0].setting.version = "4.2".to_owned();
        let found = diff(&[first], &[second.clone()]);
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
        let found = diff(&[first], &[second]).warnings.join("\n");
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
