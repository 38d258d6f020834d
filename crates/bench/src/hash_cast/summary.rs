//! What the command prints: the chance, the card with its cures, who got what, and the verdict.

use comfy_table::Table;

use super::cures;
use super::document::{HashCast, Measurement};
use crate::terminal::{Style, align_right, finished, new_table, printable};
use crate::text::{number, percent};

/// More runs than this are in the document only: a line has its end.
const RUNS_SHOWN: usize = 4;

/// The tables and the verdict, ending in a newline.
#[must_use]
pub fn summary(document: &HashCast, style: Style) -> String {
    let mut parts = vec![chances(document, style)];
    if !document.cards.is_empty() {
        parts.push(cards(document, style));
    }
    if !document.measurements.is_empty() {
        parts.push(measurements(document, style));
    }
    let cures = cures::rows(document);
    if !cures.is_empty() {
        parts.push(cures_table(cures, style));
    }
    for measurement in document.measurements.iter().filter(|measurement| measurement.scenario == "card") {
        parts.push(clients(measurement, style));
    }
    parts.push(printable(&document.verdict));
    let mut text = parts.join("\n\n");
    text.push('\n');
    for note in &document.notes {
        text.push_str(&format!("{}\n", printable(note)));
    }
    for doubt in &document.environment.doubts {
        text.push_str(&format!("Doubt: {}\n", printable(doubt)));
    }
    text
}

fn chances(document: &HashCast, style: Style) -> String {
    let mut table = new_table(style);
    let flows = format!("{} flows in {} queues", document.probabilities.flows, document.probabilities.queues);
    let ratios = document.probabilities.curves.iter().map(|curve| format!("≥ {}×", curve.ratio));
    table.set_header(std::iter::once("best ÷ worst".to_owned()).chain(ratios));
    let chances = document
        .probabilities
        .curves
        .iter()
        .map(|curve| percent(document.probabilities.of(curve.ratio).unwrap_or_default()));
    table.add_row(std::iter::once(flows).chain(chances));
    align_right(&mut table, 1..=document.probabilities.curves.len());
    finished(&mut table)
}

fn cards(document: &HashCast, style: Style) -> String {
    let mut table = new_table(style);
    table.set_header(["card of this machine", "queues", "discipline", "≥ 2× if hashed"]);
    for card in &document.cards {
        let discipline = card.discipline.as_deref().unwrap_or("–");
        let queues = card.transmit_queues.to_string();
        table.add_row([printable(&card.name), queues, printable(discipline), percent(card.at_least_twice)]);
    }
    align_right(&mut table, [1, 3]);
    finished(&mut table)
}

fn measurements(document: &HashCast, style: Style) -> String {
    let mut table = new_table(style);
    table.set_header(["workload", "queueing", "Jain", "best ÷ worst", "predicted", "all, Mbit/s"]);
    for measurement in &document.measurements {
        let predicted =
            measurement.runs.iter().filter_map(|run| run.predicted_max_min_ratio).fold(1.0, f64::max);
        table.add_row([
            printable(&measurement.workload),
            printable(&measurement.scenario),
            format!("{:.3}", measurement.fairness()),
            measurement.worst_ratio().map_or_else(|| "∞".to_owned(), number),
            number(predicted),
            number(measurement.total() * 8.0 / 1e6),
        ]);
    }
    align_right(&mut table, 2..6);
    finished(&mut table)
}

/// The cures within TCP beside the card as it is.
fn cures_table(rows: Vec<[String; 7]>, style: Style) -> String {
    let mut table = new_table(style);
    table.set_header(cures::HEADS);
    for row in rows {
        table.add_row(row.map(|cell| printable(&cell)));
    }
    align_right(&mut table, 2..6);
    finished(&mut table)
}

/// What each client got in Mbit/s, in brackets what its queue predicts.
fn clients(measurement: &Measurement, style: Style) -> String {
    let mut table: Table = new_table(style);
    let shown = &measurement.runs[..measurement.runs.len().min(RUNS_SHOWN)];
    let heads = (1..=shown.len())
        .flat_map(|run| [format!("run {run}, Mbit/s"), "(predicted)".to_owned(), "queue".to_owned()]);
    table.set_header(std::iter::once(format!("{}, card", printable(&measurement.workload))).chain(heads));
    let mbit = |rates: &[f64], client: usize| {
        rates.get(client).map_or_else(String::new, |rate| number(rate * 8.0 / 1e6))
    };
    let count = shown.iter().map(|run| run.client_bytes_per_second.len()).max().unwrap_or(0);
    for client in 0..count {
        let cells = shown.iter().flat_map(|run| {
            let queues: Vec<String> = run
                .queues
                .get(client)
                .map(|queues| queues.iter().flatten().map(u32::to_string).collect())
                .unwrap_or_default();
            [
                mbit(&run.client_bytes_per_second, client),
                format!("({})", mbit(&run.predicted_bytes_per_second, client)),
                queues.join(" "),
            ]
        });
        table.add_row(std::iter::once(format!("client {}", client + 1)).chain(cells));
    }
    align_right(&mut table, 1..=shown.len() * 3);
    finished(&mut table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_cast::samples;

    #[test]
    fn everything_that_was_measured_has_a_line() {
        let document = samples::document();
        let text = summary(&document, Style::Plain);
        for part in [
            "8 flows in 8 queues",
            "eth0",
            "more-connections",
            "fair-queueing",
            "client 8",
            "run 3",
            "window ≤ 31250",
            "The cure `vegas` was not measured.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains(&document.verdict));
        assert!(text.chars().all(|character| character == '\n' || !character.is_control()));
    }
}
