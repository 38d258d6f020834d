//! What was found: `failover-gap.json`, and its table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::operation::Operation;
use crate::results::{Environment, version_name};
use crate::statistics::percentile;
use crate::terminal::{Style, align_right, finished, new_table, printable};
use crate::text::number;

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gaps {
    /// Where and how it was measured.
    pub environment: Environment,
    /// The server: its address, or "builtin".
    pub server: String,
    /// One for each version, kind of operation and restart.
    pub gaps: Vec<Gap>,
}

/// How long operations of one kind stood still around one restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// "3", "4.1" or "4.2".
    pub version: String,
    /// The kind.
    pub operation: Operation,
    /// Which restart, from 0.
    pub repeat: u32,
    /// Whether operations of every client went on; where they did not, the standstill is longer than it says.
    pub went_on: bool,
    /// The longest time in which some client did none, in milliseconds.
    pub standstill_ms: f64,
    /// The same before the restart.
    pub before_ms: f64,
    /// Operations that failed.
    pub errors: u64,
}

/// The table, ending in a newline.
#[must_use]
pub fn summary(found: &Gaps, style: Style) -> String {
    let mut groups: BTreeMap<(&str, Operation), Vec<&Gap>> = BTreeMap::new();
    for gap in &found.gaps {
        groups.entry((&gap.version, gap.operation)).or_default().push(gap);
    }
    let mut table = new_table(style);
    table.set_header([
        "version",
        "operation",
        "restarts",
        "median, ms",
        "longest, ms",
        "before, ms",
        "errors",
    ]);
    for ((version, operation), gaps) in groups {
        let times: Vec<f64> = gaps.iter().map(|gap| gap.standstill_ms).collect();
        let longest = times.iter().copied().fold(0.0, f64::max);
        let over = if gaps.iter().all(|gap| gap.went_on) { "" } else { "> " };
        table.add_row([
            printable(&version_name(version, true)),
            operation.name().to_owned(),
            gaps.len().to_string(),
            number(percentile(&times, 50.0).unwrap_or_default()),
            format!("{over}{}", number(longest)),
            number(gaps.iter().map(|gap| gap.before_ms).fold(0.0, f64::max)),
            gaps.iter().map(|gap| gap.errors).sum::<u64>().to_string(),
        ]);
    }
    align_right(&mut table, 2..7);
    format!(
        "{}\n\nThe longest time in which some client of {} did no such operation.\n",
        finished(&mut table),
        found.server
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_and_operation_has_a_line_and_what_never_went_on_is_marked() {
        let gap = |operation, repeat, standstill_ms, went_on| Gap {
            version: "3".to_owned(),
            operation,
            repeat,
            went_on,
            standstill_ms,
            before_ms: 2.0,
            errors: 1,
        };
        let gaps = vec![
            gap(Operation::Read, 0, 100.0, true),
            gap(Operation::Read, 1, 300.0, true),
            gap(Operation::Lock, 0, 5000.0, false),
        ];
        let found = Gaps { environment: Environment::default(), server: "builtin".to_owned(), gaps };
        let text = summary(&found, Style::Plain);
        let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_owned();
        assert!(line("read").contains("300") && line("read").ends_with('2'), "{text}");
        assert!(line("lock").contains("> 5,000"), "{text}");
    }
}
