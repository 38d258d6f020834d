//! Gates that need no baseline: a number of requests for each operation that is named.

use std::str::FromStr;

use super::Finding;
use crate::diff::place;
use crate::results::Cell;
use crate::text::per_operation;

/// The most requests for each operation that an experiment may send over a version, at every delay.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestLimit {
    experiment: String,
    version: String,
    most: f64,
}

impl FromStr for RequestLimit {
    type Err = String;

    /// Reads `EXPERIMENT:VERSION=NUMBER`, such as `locked-read:4.1=0.4`. The version is meant with its
    /// delegations.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('=')
            .and_then(|(cell, most)| Some((cell.split_once(':')?, most.parse::<f64>().ok()?)));
        match parts {
            Some(((experiment, version), most)) if most.is_finite() && most >= 0.0 => {
                Ok(Self { experiment: experiment.to_owned(), version: version.to_owned(), most })
            }
            _ => Err("write EXPERIMENT:VERSION=NUMBER, such as locked-read:4.1=0.4".to_owned()),
        }
    }
}

impl RequestLimit {
    /// One finding for each delay; a failure when the experiment was not measured over that version.
    pub(super) fn judge(&self, cells: &[Cell]) -> Vec<Finding> {
        let found: Vec<Finding> = cells
            .iter()
            .filter(|cell| {
                let setting = &cell.setting;
                setting.experiment == self.experiment
                    && setting.version == self.version
                    && (setting.delegations || setting.version.starts_with('3'))
            })
            .map(|cell| self.judge_cell(cell))
            .collect();
        if found.is_empty() {
            let text = format!("{} over v{} was not measured.", self.experiment, self.version);
            return vec![Finding::Failed(text)];
        }
        found
    }

    /// The run with the most requests for each operation counts.
    fn judge_cell(&self, cell: &Cell) -> Finding {
        let worst = cell
            .run_details
            .iter()
            .filter(|run| run.operations > 0)
            .map(|run| run.rpcs.values().sum::<u64>() as f64 / run.operations as f64)
            .reduce(f64::max);
        match worst {
            None => Finding::Failed(format!("{} has completed no operation.", place(cell))),
            Some(worst) if worst > self.most => Finding::Failed(format!(
                "{} sends {} requests for each operation, and {} are allowed.",
                place(cell),
                per_operation(worst),
                per_operation(self.most)
            )),
            Some(_) => Finding::Passed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::request_limits;
    use crate::samples;

    fn limit(text: &str) -> RequestLimit {
        text.parse().unwrap()
    }

    #[test]
    fn every_delay_is_held() {
        let results = samples::results();
        // The sample sends 0.3 requests a round over v4.1 and 5.1 over v3, at each of three delays.
        let report = request_limits(&results, &[limit("locked-read:4.1=0.4"), limit("locked-read:3=6")]);
        assert_eq!((report.passed, report.failed), (6, vec![]));
        let report = request_limits(&results, &[limit("locked-read:3=5")]);
        assert_eq!((report.passed, report.failed.len()), (0, 3));
        assert!(
            report.failed[0].starts_with("locked-read at 0 ms over v3 sends 5.1"),
            "{}",
            report.failed[0]
        );
    }

    #[test]
    fn missing_measurement_fails() {
        let report = request_limits(&samples::results(), &[limit("locked-read:4.2=1")]);
        assert_eq!(report.failed, ["locked-read over v4.2 was not measured."]);
    }

    #[test]
    fn invalid_limit_is_refused() {
        for text in ["locked-read=1", "locked-read:3", "locked-read:3=few", "locked-read:3=-1", "a:3=inf"] {
            assert!(text.parse::<RequestLimit>().is_err(), "{text}");
        }
    }
}
