//! The final table and the verdict.

use std::collections::BTreeSet;

use comfy_table::Cell as TableCell;

use super::Style;
use super::table::{align_right, finished, new_table, printable, verdict};
use crate::report::latency_ratios;
use crate::results::{ArmId, Cell, Comparison, Results, client_sentences};
use crate::statistics::Outcome;
use crate::text::{delay, list, measured, ratio};

/// What the intervals of ratios are.
const INTERVALS: &str = "A verdict follows from the interval of its ratio. All intervals hold together with \
                         95 %. p50 and p99 are ratios of the times of an operation.\n\n";

/// Settings named in the hint.
const HINTS_MAX: usize = 3;

/// The table of all comparisons (of all cells, when nothing was compared) and the verdict, ending in a
/// newline.
///
/// Control characters that a document from elsewhere may hold are left out: they must not reach a terminal.
#[must_use]
pub fn summary(results: &Results, style: Style) -> String {
    let mut text = String::new();
    let pair = |one: &Comparison| (one.candidate_id(), one.baseline_id());
    let pairs: BTreeSet<(ArmId, ArmId)> = results.comparisons.iter().map(pair).collect();
    for pair in &pairs {
        text.push_str(&comparison_table(results, pair, style));
        text.push_str("\n\n");
    }
    if results.comparisons.iter().any(|comparison| comparison.interval.is_some()) {
        text.push_str(INTERVALS);
    }
    if pairs.is_empty() && !results.cells.is_empty() {
        text.push_str(&cell_table(&results.cells, style));
        text.push_str("\n\n");
    }
    let verdict = &results.verdict;
    let conditions = verdict.flips.iter().chain(&verdict.levers);
    for sentence in std::iter::once(&verdict.text).chain(conditions).chain(&client_sentences(results)) {
        text.push_str(&printable(sentence));
        text.push('\n');
    }
    if let Some(hint) = hint(results) {
        text.push_str(&format!("{}\n", printable(&hint)));
    }
    for doubt in &results.environment.doubts {
        text.push_str(&format!("Doubt: {}\n", printable(doubt)));
    }
    for comparison in &results.comparisons {
        for doubt in &comparison.doubts {
            let place = format!("{} at {}", comparison.name(), delay(comparison.rtt_ms));
            text.push_str(&printable(&format!("Doubt about {place}: {doubt}")));
            text.push('\n');
        }
    }
    text
}

/// How many runs would decide what is unclear; none when everything is decided.
fn hint(results: &Results) -> Option<String> {
    let unclear: Vec<&Comparison> =
        results.comparisons.iter().filter(|comparison| comparison.verdict == Outcome::Unclear).collect();
    if !unclear.is_empty() && results.comparisons.iter().all(|one| one.shown_interval().is_none()) {
        return Some(
            "One run of each version cannot decide anything: ask for more (--runs or --time).".to_owned(),
        );
    }
    let mut needed: Vec<(u32, &Comparison)> =
        unclear.iter().filter_map(|one| Some((one.runs_to_detect?, *one))).collect();
    needed.sort_by_key(|(runs, _)| *runs);
    let named: Vec<String> = needed
        .iter()
        .take(HINTS_MAX)
        .map(|(runs, one)| format!("{runs} runs for {} at {}", one.name(), delay(one.rtt_ms)))
        .collect();
    let (most, _) = needed.last()?;
    let rest = if needed.len() > HINTS_MAX { format!(", {most} for all of them") } else { String::new() };
    let beyond = unclear.len() - needed.len();
    let beyond = if beyond > 0 { format!("; no number decides {beyond} of them") } else { String::new() };
    Some(format!(
        "{} of {} were not decided. A difference of 5 % needs about {}{rest}{beyond} (--time or --runs).",
        unclear.len(),
        results.comparisons.len(),
        list(&named)
    ))
}

fn comparison_table(results: &Results, (candidate, baseline): &(ArmId, ArmId), style: Style) -> String {
    let own = results
        .comparisons
        .iter()
        .filter(|one| one.candidate_id() == *candidate && one.baseline_id() == *baseline);
    let mut table = new_table(style);
    let names = [baseline, candidate].map(|arm| printable(&arm.name()));
    let ratio_title = format!("{} ÷ {} [95 %]", names[1], names[0]);
    table.set_header(["experiment", "delay", &names[0], &names[1], &ratio_title, "p50, p99", "verdict"]);
    let mut last = String::new();
    for comparison in own {
        // The name stands once for its delays.
        let name = comparison.name();
        let shown = if name == last && style != Style::Plain { "" } else { name.as_str() };
        let means = results
            .cells_of(comparison)
            .map_or([String::new(), String::new()], |(left, right)| [mean(left), mean(right)]);
        let [left, right] = means;
        table.add_row([
            TableCell::new(printable(shown)),
            TableCell::new(delay(comparison.rtt_ms)),
            TableCell::new(left),
            TableCell::new(right),
            TableCell::new(ratio(comparison.ratio, comparison.shown_interval())),
            TableCell::new(latency_ratios(comparison)),
            verdict(comparison.verdict, &results.verdict_words(comparison), style),
        ]);
        last = name;
    }
    align_right(&mut table, 1..6);
    finished(&mut table)
}

fn cell_table(cells: &[Cell], style: Style) -> String {
    let mut table = new_table(style);
    table.set_header(["experiment", "delay", "arm", "mean"]);
    for cell in cells {
        table.add_row([
            printable(&cell.setting.name()),
            delay(cell.setting.rtt_ms),
            printable(&cell.version_name()),
            mean(cell),
        ]);
    }
    align_right(&mut table, [1, 3]);
    finished(&mut table)
}

fn mean(cell: &Cell) -> String {
    printable(&format!("{} {}", measured(cell.mean, cell.ci95), cell.setting.metric.unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;
    use crate::samples;

    #[test]
    fn every_comparison_has_a_line_with_its_numbers_and_its_word() {
        let results = samples::results();
        let text = summary(&results, Style::Plain);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.iter().filter(|line| line.contains(" ± ")).count(), results.comparisons.len());
        assert!(lines[0].contains("v4.1 ÷ v3 [95 %]"), "{}", lines[0]);
        let locked =
            lines.iter().find(|line| line.contains("locked-read") && line.contains("10 ms")).unwrap();
        assert!(locked.contains("op/s") && locked.contains(" ± ") && locked.contains('['), "{locked}");
        assert!(locked.ends_with("faster"), "{locked}");
        assert!(text.contains(&results.verdict.text));
    }

    #[test]
    fn undecided_comparison_shows_the_runs_it_needs() {
        let mut results = samples::results();
        for comparison in &mut results.comparisons {
            comparison.verdict = Outcome::Same;
        }
        assert_eq!(hint(&results), None);
        for (index, runs) in [(0, Some(40)), (1, Some(9)), (2, None)] {
            results.comparisons[index].verdict = Outcome::Unclear;
            results.comparisons[index].runs_to_detect = runs;
        }
        let found = hint(&results).unwrap();
        let (first, second) = (&results.comparisons[1], &results.comparisons[0]);
        let expected = format!(
            "about 9 runs for {} at {} and 40 runs for {} at {}; no number decides 1 of them (--time or \
             --runs).",
            first.experiment,
            delay(first.rtt_ms),
            second.experiment,
            delay(second.rtt_ms)
        );
        assert!(found.ends_with(&expected), "{found}");
        assert!(summary(&results, Style::Plain).contains(&found));
    }

    #[test]
    fn plain_text_has_no_control_characters_even_from_the_data() {
        let mut results = samples::results();
        results.verdict.text = "\u{1b}[31mred".to_owned();
        results.comparisons[0].experiment = "bad\u{7}name".to_owned();
        let text = summary(&results, Style::Plain);
        assert!(text.chars().all(|character| character == '\n' || !character.is_control()));
        assert!(text.contains("badname"));
    }

    #[test]
    fn colours_appear_only_where_asked_for() {
        let results = samples::results();
        assert!(summary(&results, Style::Terminal { colours: true }).contains('\u{1b}'));
        assert!(!summary(&results, Style::Terminal { colours: false }).contains('\u{1b}'));
    }

    #[test]
    fn one_version_alone_shows_its_cells() {
        let mut results = samples::results();
        results.cells.retain(|cell| cell.setting.version == "3");
        results.comparisons.clear();
        results.verdict = explain::recommend(&[], &[], &explain::Profile::even(), 0.03);
        let text = summary(&results, Style::Plain);
        assert_eq!(text.lines().filter(|line| line.contains(" ms ")).count(), results.cells.len());
    }

    #[test]
    fn each_candidate_has_a_table_of_its_own() {
        let mut results = samples::results();
        let mut without = results.comparisons.clone();
        without.iter_mut().for_each(|comparison| comparison.delegations = false);
        results.comparisons.extend(without);
        let text = summary(&results, Style::Plain);
        assert!(text.contains("v4.1 ÷ v3") && text.contains("v4.1 without delegations ÷ v3"));
    }
}
