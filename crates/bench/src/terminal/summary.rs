//! The final table and the verdict.

use std::collections::BTreeSet;

use comfy_table::{
    Attribute, Cell as TableCell, CellAlignment, Color, ContentArrangement, LineStyle, Table, TableStyle,
};

use super::Style;
use crate::results::{Cell, Comparison, Results, version_name};
use crate::statistics::Outcome;
use crate::text::{delay, measured, ratio};

/// The table of all comparisons (of all cells, when nothing was compared) and the verdict, ending in a newline.
///
/// Control characters that a document from elsewhere may hold are left out: they must not reach a terminal.
#[must_use]
pub fn summary(results: &Results, style: Style) -> String {
    let mut text = String::new();
    let candidates: BTreeSet<(&str, bool)> = results
        .comparisons
        .iter()
        .map(|comparison| (comparison.candidate.as_str(), comparison.delegations))
        .collect();
    for candidate in &candidates {
        text.push_str(&comparison_table(results, *candidate, style));
        text.push_str("\n\n");
    }
    if candidates.is_empty() && !results.cells.is_empty() {
        text.push_str(&cell_table(&results.cells, style));
        text.push_str("\n\n");
    }
    text.push_str(&printable(&results.verdict.text));
    text.push('\n');
    for doubt in &results.environment.doubts {
        text.push_str(&format!("Doubt: {}\n", printable(doubt)));
    }
    text
}

fn comparison_table(results: &Results, (candidate, delegations): (&str, bool), style: Style) -> String {
    let own: Vec<&Comparison> = results
        .comparisons
        .iter()
        .filter(|comparison| comparison.candidate == candidate && comparison.delegations == delegations)
        .collect();
    let baseline = own.first().map_or("", |comparison| comparison.baseline.as_str());
    let mut table = new_table(style);
    let names =
        [version_name(baseline, false), version_name(candidate, delegations)].map(|name| printable(&name));
    let ratio_title = format!("{} ÷ {} [95 %]", names[1], names[0]);
    table.set_header(["experiment", "delay", &names[0], &names[1], &ratio_title, "verdict"]);
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
            TableCell::new(ratio(comparison.ratio, comparison.ci95)),
            verdict(comparison.verdict, style),
        ]);
        last = name;
    }
    align_right(&mut table, 1..5);
    finished(&mut table)
}

fn cell_table(cells: &[Cell], style: Style) -> String {
    let mut table = new_table(style);
    table.set_header(["experiment", "delay", "version", "mean"]);
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

fn verdict(outcome: Outcome, style: Style) -> TableCell {
    let cell = TableCell::new(outcome.as_str());
    if style != (Style::Terminal { colours: true }) {
        return cell;
    }
    match outcome {
        Outcome::Faster => cell.fg(Color::Green).add_attribute(Attribute::Bold),
        Outcome::Slower => cell.fg(Color::Red).add_attribute(Attribute::Bold),
        Outcome::Same => cell,
        Outcome::Unclear => cell.add_attribute(Attribute::Dim),
    }
}

fn new_table(style: Style) -> Table {
    let mut table = Table::new();
    match style {
        Style::Plain => {
            table.load_style(TableStyle::new()).force_no_tty();
        }
        Style::Terminal { colours } => {
            let rule = LineStyle::none().fill('─').junction('─');
            table
                .load_style(TableStyle::new().header_separator(rule))
                .set_content_arrangement(ContentArrangement::Dynamic);
            if colours {
                table.enforce_styling();
            }
        }
    }
    table
}

fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn finished(table: &mut Table) -> String {
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn printable(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn every_comparison_has_a_line_with_its_numbers_and_its_word() {
        let results = samples::results();
        let text = summary(&results, Style::Plain);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.iter().filter(|line| line.contains(" ms ")).count(), results.comparisons.len());
        assert!(lines[0].contains("v4.1 ÷ v3 [95 %]"), "{}", lines[0]);
        let locked =
            lines.iter().find(|line| line.contains("locked-read") && line.contains("10 ms")).unwrap();
        assert!(locked.contains("op/s") && locked.contains(" ± ") && locked.contains('['), "{locked}");
        assert!(locked.ends_with("faster"), "{locked}");
        assert!(text.contains(&results.verdict.text));
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
