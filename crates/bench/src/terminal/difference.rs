//! The table of two results side by side.

use comfy_table::Cell as TableCell;

use super::Style;
use super::table::{align_right, finished, new_table, printable, verdict};
use crate::diff::{CellDiff, DOCUMENTS_MIN, Diff, Mean};
use crate::results::{ArmId, named};
use crate::text::{delay, measured, ratio};

/// The table of all settings that both have, what only one has, and the warnings, ending in a newline.
/// `names` are what the two are called; control characters in any of it are left out.
#[must_use]
pub fn difference(diff: &Diff, names: [&str; 2], style: Style) -> String {
    let names = names.map(printable);
    let mut text = String::new();
    if diff.cells.is_empty() {
        text.push_str("They have no setting in common.\n");
    } else {
        text.push_str(&table(diff, &names, style));
        text.push('\n');
        if !diff.has_repeats() {
            text.push_str(&format!(
                "Not comparable without repeats: a machine's speed moves between two benchmarks by more than \
                 one of them can tell. Measure each side {DOCUMENTS_MIN} times or more, in turn, and name \
                 all of them (--before, --after).\n"
            ));
        }
    }
    for (name, only) in names.iter().zip([&diff.only_in_first, &diff.only_in_second]) {
        for place in only {
            text.push_str(&format!("Only in {name}: {}\n", printable(place)));
        }
    }
    for warning in &diff.warnings {
        text.push_str(&format!("Warning: {}\n", printable(warning)));
    }
    text
}

fn arm_name(cell: &CellDiff) -> String {
    ArmId { arm: cell.arm.clone(), version: cell.version.clone(), delegations: cell.delegations }.name()
}

fn table(diff: &Diff, names: &[String; 2], style: Style) -> String {
    let mut table = new_table(style);
    let title = format!("{} ÷ {} [95 %]", names[1], names[0]);
    table.set_header(["experiment", "delay", "arm", &names[0], &names[1], &title, "verdict"]);
    let mut last = String::new();
    for cell in &diff.cells {
        let full = named(&cell.experiment, &cell.levels);
        let name = if full == last && style != Style::Plain { "" } else { &full };
        table.add_row([
            TableCell::new(printable(name)),
            TableCell::new(delay(cell.rtt_ms)),
            TableCell::new(printable(&arm_name(cell))),
            TableCell::new(mean(cell, cell.first)),
            TableCell::new(mean(cell, cell.second)),
            TableCell::new(ratio(cell.ratio, cell.interval)),
            verdict(cell.verdict, words(diff, cell), style),
        ]);
        last = full;
    }
    align_right(&mut table, [1, 3, 4, 5]);
    finished(&mut table)
}

fn words(diff: &Diff, cell: &CellDiff) -> &'static str {
    if diff.has_repeats() { cell.verdict.words() } else { "not comparable" }
}

fn mean(cell: &CellDiff, mean: Mean) -> String {
    printable(&format!("{} {}", measured(mean.mean, mean.ci95), cell.unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diff::diff, samples};

    #[test]
    fn every_setting_has_a_line_and_what_is_missing_is_named() {
        let first = samples::results();
        let mut second = samples::results();
        second.cells[1].runs.iter_mut().for_each(|value| *value *= 2.0);
        second.cells.remove(0);
        second.environment.kernel = "Linux\u{7} 7".to_owned();
        let mut again = [first.clone(), second.clone()];
        again.iter_mut().flat_map(|one| &mut one.cells[1].runs).for_each(|value| *value *= 1.0001);
        let [again_first, again_second] = again;
        let found = diff(&[first.clone(), again_first], &[second, again_second]);
        let text = difference(&found, ["old", "new"], Style::Plain);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("new ÷ old [95 %]"), "{}", lines[0]);
        assert_eq!(lines.iter().filter(|line| line.contains(" ± ")).count(), first.cells.len() - 1);
        assert!(lines[1].ends_with("faster") && lines[1].contains("2.0"), "{}", lines[1]);
        assert!(text.contains("Only in old: sequential-read at 0 ms over v3\n"), "{text}");
        assert!(text.contains("Warning: They have different kernels: Linux 6.1.0 and Linux 7.\n"), "{text}");
    }

    #[test]
    fn without_repeats_nothing_is_decided() {
        let documents = [samples::results()];
        let text = difference(&diff(&documents, &documents), ["a", "b"], Style::Plain);
        assert!(text.lines().nth(1).unwrap().ends_with("not comparable"), "{text}");
        assert!(text.contains("Not comparable without repeats"), "{text}");
    }

    #[test]
    fn nothing_in_common_is_said() {
        let first = samples::results();
        let mut second = samples::results();
        second.cells.clear();
        let text = difference(&diff(&[first], &[second]), ["a", "b"], Style::Plain);
        assert!(text.starts_with("They have no setting in common.\nOnly in a: "), "{text}");
    }
}
