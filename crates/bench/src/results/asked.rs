//! What an experiment asks, how its figure is drawn, and what was published for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Cell, PHASE, Results, Run};

/// An experiment as its report needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// What it answers, in one sentence.
    pub question: String,
    /// Where it was published before.
    pub study: String,
    /// How its study drew it.
    #[serde(default)]
    pub figure: Figure,
    /// What was published.
    #[serde(default)]
    pub published: Vec<Mark>,
}

/// How an experiment is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The form.
    pub form: Form,
    /// What the axis across is: `delay`, `phase` or a factor.
    #[serde(default = "delay")]
    pub x: String,
}

/// Bars over the delay.
impl Default for Figure {
    fn default() -> Self {
        Self { form: Form::Bars, x: delay() }
    }
}

/// The form of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Bars side by side.
    Bars,
    /// A line for each version.
    Lines,
    /// The shares of the requests, stacked.
    Mix,
    /// Rates over time.
    Timeline,
}

impl Form {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bars => "bars",
            Self::Lines => "lines",
            Self::Mix => "mix",
            Self::Timeline => "timeline",
        }
    }
}

/// A published value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Whose value it is, such as "Linux 3.14".
    pub label: String,
    /// The arm that it is about, where the results have arms with names; empty for any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arm: String,
    /// The version that it is about.
    pub version: String,
    /// The round-trip delay, in milliseconds.
    #[serde(default)]
    pub rtt_ms: f64,
    /// The levels of the experiment's factors, and its phase; what is not named is not told apart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, String>,
    /// The value.
    pub value: f64,
    /// One of [`MARK_UNITS`].
    pub unit: String,
    /// The requests that a share is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
    /// Where it stands.
    pub source: String,
    /// What was different in its set-up.
    pub difference: String,
}

/// The units of published values: those of metrics, the ratio to version 3, requests for each operation of
/// the application, writes to the export's disk for each of them, the share of the requests that have the
/// names in `of`, what the application read ÷ what its client did, and the rate of the fastest client ÷ that
/// of the slowest.
pub const MARK_UNITS: [&str; 10] =
    ["op/s", "MB/s", "ms", "s", "ratio", "requests/op", "disk writes/op", "share", "read gain", "max ÷ min"];

impl Mark {
    /// Our value for the same setting, in the same unit; none when it was not measured.
    #[must_use]
    pub fn ours(&self, experiment: &str, results: &Results) -> Option<f64> {
        self.ours_of(experiment, results, results.labels().first()?)
    }

    /// The same of one of the documents that were put together.
    #[must_use]
    pub fn ours_of(&self, experiment: &str, results: &Results, label: &str) -> Option<f64> {
        if self.unit == "ratio" {
            let same = |comparison: &&super::Comparison| {
                comparison.experiment == experiment
                    && comparison.label == label
                    && self.is_of_arm(&comparison.candidate_arm)
                    && comparison.candidate == self.version
                    && comparison.delegations
                    && comparison.rtt_ms == self.rtt_ms
                    && self.is_about(&comparison.levels)
            };
            return results.comparisons.iter().find(same)?.ratio;
        }
        let cell =
            results.cells.iter().find(|cell| cell.setting.label == label && self.fits(experiment, cell))?;
        match self.unit.as_str() {
            "requests/op" => cell.rpcs_per_operation(),
            "disk writes/op" => disk_writes(cell),
            "share" => cell.share_of(&self.of.iter().map(String::as_str).collect::<Vec<_>>()),
            "read gain" => cell.read_gain(),
            "max ÷ min" => cell.median_run().and_then(max_by_min),
            unit => in_unit(cell, unit),
        }
    }

    /// The cell that it is to be set beside.
    #[must_use]
    pub fn cell<'a>(&self, experiment: &str, results: &'a Results) -> Option<&'a Cell> {
        results.cells.iter().find(|cell| self.fits(experiment, cell))
    }

    fn fits(&self, experiment: &str, cell: &Cell) -> bool {
        let setting = &cell.setting;
        setting.experiment == experiment
            && self.is_of_arm(&setting.arm)
            && setting.version == self.version
            && (setting.delegations || setting.version == "3")
            && setting.rtt_ms == self.rtt_ms
            && self.is_about(&setting.levels)
    }

    /// Whether `arm` is the one that it names, where arms have names.
    fn is_of_arm(&self, arm: &str) -> bool {
        self.arm.is_empty() || arm.is_empty() || self.arm == arm
    }

    /// Whether `levels` are those that it names.
    fn is_about(&self, levels: &BTreeMap<String, String>) -> bool {
        self.levels.iter().all(|(factor, level)| levels.get(factor) == Some(level))
    }
}

/// The mean of a cell in another unit, where it follows from what was counted.
fn in_unit(cell: &Cell, unit: &str) -> Option<f64> {
    let bytes = (cell.operations > 0).then(|| cell.application_bytes as f64 / cell.operations as f64);
    match (unit, cell.setting.metric.unit.as_str()) {
        (asked, measured) if asked == measured => Some(cell.mean),
        ("MB/s", "op/s") => bytes.map(|bytes| cell.mean * bytes / 1e6),
        ("ms", "op/s" | "MB/s") => cell.latency_ms.map(|latency| latency.mean),
        _ => None,
    }
}

/// Writes to the export's disk for each operation, where it is known which disk that is.
fn disk_writes(cell: &Cell) -> Option<f64> {
    let disk = cell.resources?.export_disk().filter(|disk| disk.is_of_export)?;
    (cell.operations > 0).then(|| disk.writes as f64 / cell.operations as f64)
}

fn max_by_min(run: &Run) -> Option<f64> {
    let max = run.client_values.iter().copied().reduce(f64::max)?;
    let min = run.client_values.iter().copied().reduce(f64::min)?;
    (min > 0.0).then(|| max / min)
}

impl Asked {
    /// Where a setting with these levels and this delay is on the axis across.
    #[must_use]
    pub fn place(&self, levels: &BTreeMap<String, String>, rtt_ms: f64) -> String {
        match self.figure.x.as_str() {
            "delay" => crate::text::delay(rtt_ms),
            factor => levels.get(factor).cloned().unwrap_or_default(),
        }
    }

    /// What else tells a setting from others in the figure: the delay and the factors that are not the axis.
    #[must_use]
    pub fn panel(&self, levels: &BTreeMap<String, String>, rtt_ms: f64) -> String {
        let mut parts = Vec::new();
        if self.figure.x != "delay" {
            parts.push(crate::text::delay(rtt_ms));
        }
        for (factor, level) in levels.iter().filter(|(factor, _)| **factor != self.figure.x) {
            let short = factor.rsplit('.').next().unwrap_or(factor);
            parts.push(if factor == PHASE { level.clone() } else { format!("{short} {level}") });
        }
        parts.join(" · ")
    }
}

fn delay() -> String {
    "delay".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn mark(unit: &str) -> Mark {
        Mark {
            arm: String::new(),
            label: "Linux".to_owned(),
            version: "4.1".to_owned(),
            rtt_ms: 10.0,
            levels: BTreeMap::new(),
            value: 1.0,
            unit: unit.to_owned(),
            of: vec!["OPEN".to_owned(), "CLOSE".to_owned()],
            source: "somewhere".to_owned(),
            difference: "disks".to_owned(),
        }
    }

    #[test]
    fn ours_is_the_same_quantity_of_the_same_setting() {
        let results = samples::results();
        let cell = results
            .cells
            .iter()
            .find(|cell| {
                let setting = &cell.setting;
                (setting.experiment.as_str(), setting.version.as_str(), setting.rtt_ms)
                    == ("create", "4.1", 10.0)
            })
            .unwrap();
        assert_eq!(mark("op/s").ours("create", &results), Some(cell.mean));
        assert_eq!(mark("requests/op").ours("create", &results), cell.rpcs_per_operation());
        assert_eq!(mark("share").ours("create", &results), Some(1.0));
        let ratio =
            results.comparisons.iter().find(|c| c.experiment == "create" && c.rtt_ms == 10.0).unwrap();
        assert_eq!(mark("ratio").ours("create", &results), ratio.ratio);
        assert_eq!(mark("MB/s").ours("create", &results), Some(0.0), "the files are empty");
        assert_eq!(mark("s").ours("create", &results), None, "it was measured in another unit");
        assert_eq!(mark("ms").ours("create", &results), cell.latency_ms.map(|latency| latency.mean));
        assert_eq!(mark("disk writes/op").ours("create", &results), Some(2.0));
        assert!(mark("max ÷ min").ours("create", &results).unwrap() < 1.1);
        let level = Mark { levels: BTreeMap::from([("threads".to_owned(), "8".to_owned())]), ..mark("op/s") };
        assert_eq!(level.ours("create", &results), None, "that level was not measured");
        assert_eq!(mark("op/s").ours("absent", &results), None);
    }

    #[test]
    fn a_setting_has_its_place_on_the_axis_and_the_rest_in_the_panel() {
        let levels = BTreeMap::from([
            ("phase".to_owned(), "rewrite".to_owned()),
            ("sets.files.size".to_owned(), "4 KiB".to_owned()),
        ]);
        let asked = |x: &str| Asked {
            name: "a".to_owned(),
            question: "b?".to_owned(),
            study: "c".to_owned(),
            figure: Figure { form: Form::Lines, x: x.to_owned() },
            published: Vec::new(),
        };
        assert_eq!(asked("delay").place(&levels, 10.0), "10 ms");
        assert_eq!(asked("delay").panel(&levels, 10.0), "rewrite · size 4 KiB");
        assert_eq!(asked("phase").place(&levels, 10.0), "rewrite");
        assert_eq!(asked("phase").panel(&levels, 10.0), "10 ms · size 4 KiB");
    }
}
