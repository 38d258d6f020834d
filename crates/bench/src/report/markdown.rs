//! `summary.md`: the table and the verdict for pull requests, wikis and mails.

use super::latency_tables::latency_ratios;
use crate::results::{Cell, Comparison, Results, client_sentences};
use crate::text::{delay, floors, measured, per_operation, ratio};

/// The summary as Markdown with tables, ending in a newline. Whatever a document from elsewhere holds stays
/// text.
#[must_use]
pub fn markdown(results: &Results) -> String {
    let mut text = format!("# NFS versions compared\n\n{}\n\n", escaped(&results.verdict.text));
    let verdict = &results.verdict;
    let conditions: Vec<String> = verdict
        .flips
        .iter()
        .chain(&verdict.levers)
        .map(|sentence| format!("- {}\n", escaped(sentence)))
        .collect();
    if !conditions.is_empty() {
        text.push_str(&format!("{}\n", conditions.concat()));
    }
    if results.partial {
        text.push_str("**Stopped before its end: settings are missing.**\n\n");
    }
    if results.comparisons.is_empty() {
        text.push_str(
            "| experiment | delay | version | mean | requests for each operation | fewest: POSIX, COMPOUND \
                       |\n",
        );
        text.push_str("|---|---:|---|---:|---:|---:|\n");
        results.cells.iter().for_each(|cell| text.push_str(&cell_row(cell)));
    } else {
        text.push_str(
            "| experiment | delay | baseline | candidate | ratio [95 %] | p50, p99 | verdict | why |\n",
        );
        text.push_str("|---|---:|---:|---:|---:|---:|---|---|\n");
        let rows = results.comparisons.iter().map(|comparison| comparison_row(results, comparison));
        text.extend(rows);
    }
    let doubts: Vec<String> = doubts(results).map(|doubt| format!("- {}\n", escaped(&doubt))).collect();
    if !doubts.is_empty() {
        text.push_str(&format!("\n## Doubts\n\n{}", doubts.concat()));
    }
    let environment = &results.environment;
    let made = format!(
        "primetime {} on {}, {} processors, seed {}, {}",
        environment.tool_version, environment.kernel, environment.cores, environment.seed, environment.date
    );
    text.push('\n');
    client_sentences(results).iter().for_each(|sentence| text.push_str(&format!("{}\n", escaped(sentence))));
    text.push_str(&format!("\n{}\n", escaped(&made)));
    text
}

fn comparison_row(results: &Results, comparison: &Comparison) -> String {
    let [left, right] =
        results.cells_of(comparison).map_or_else(Default::default, |(left, right)| [left, right].map(mean));
    let names = [comparison.baseline_name(), comparison.candidate_name()];
    format!(
        "| {} | {} | {}: {left} | {}: {right} | {} | {} | {} | {} |\n",
        escaped(&comparison.name()),
        delay(comparison.rtt_ms),
        escaped(&names[0]),
        escaped(&names[1]),
        ratio(comparison.ratio, comparison.shown_interval()),
        latency_ratios(comparison),
        results.verdict_words(comparison),
        escaped(&comparison.reason)
    )
}

fn cell_row(cell: &Cell) -> String {
    let requests = cell.rpcs_per_operation().map_or_else(|| "–".to_owned(), per_operation);
    let floors = floors(cell.floors);
    format!(
        "| {} | {} | {} | {} | {requests} | {floors} |\n",
        escaped(&cell.setting.name()),
        delay(cell.setting.rtt_ms),
        escaped(&cell.version_name()),
        mean(cell)
    )
}

fn mean(cell: &Cell) -> String {
    format!("{} {}", measured(cell.mean, cell.ci95), escaped(&cell.setting.metric.unit))
}

/// Those of the whole, of comparisons and of cells.
fn doubts(results: &Results) -> impl Iterator<Item = String> {
    let of_comparisons = results.comparisons.iter().flat_map(|comparison| {
        let place = format!("{} at {}", comparison.name(), delay(comparison.rtt_ms));
        comparison.doubts.iter().map(move |doubt| format!("{place}: {doubt}"))
    });
    let of_cells = results.cells.iter().flat_map(|cell| {
        let place =
            format!("{} at {} over {}", cell.setting.name(), delay(cell.setting.rtt_ms), cell.version_name());
        cell.doubts.iter().map(move |doubt| format!("{place}: {doubt}"))
    });
    results.environment.doubts.iter().cloned().chain(of_comparisons).chain(of_cells)
}

/// `text` on one line, without anything that Markdown or HTML would take for more than text.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '[' | ']' | '`' | '*' | '_' | '\\' => escaped.extend(['\\', character]),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn every_comparison_is_a_row_of_eight_columns() {
        let results = samples::results();
        let text = markdown(&results);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(rows.len(), results.comparisons.len() + 1);
        for row in rows {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 9, "{row}");
        }
        assert!(text.contains("- These numbers are made up."));
    }

    #[test]
    fn one_version_alone_shows_its_cells_and_hostile_text_stays_text() {
        let mut results = samples::results();
        results.comparisons.clear();
        results.cells[0].setting.experiment = "<script>|\n[x](y)".to_owned();
        let text = markdown(&results);
        assert!(text.contains("| &lt;script>\\| \\[x\\](y) |"), "{text}");
        assert!(text.contains(" | 0.06 | 1.00, 0.06 |\n"), "requests beside the fewest: {text}");
        assert!(text.contains(" | 0.99 | – |\n"), "none are known for cached random reads: {text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("| ")).count(), results.cells.len() + 1);
    }
}
