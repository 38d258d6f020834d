//! `hash-cast.html`: one file with everything in it, made from the document alone. It needs no network and no
//! script.

use super::cures;
use super::document::{HashCast, Measurement, Setup};
use super::svg;
use crate::report::{NO_SCRIPT_POLICY, STYLE, escape};
use crate::text::{delay, number, percent};

const OWN_STYLE: &str = "svg { width: 100%; height: auto; display: block; } svg text { font-size: 12px; \
                         fill: var(--soft); }\n\
    .rule { stroke: var(--line); } .mark { stroke: var(--soft); stroke-dasharray: 3 3; }\n\
    .curve { fill: none; stroke: var(--v41); stroke-width: 2; } .bar { fill: var(--v41); opacity: 0.75; }\n\
    .tick { stroke: var(--v3); stroke-width: 2.5; }\n";

/// The whole page.
#[must_use]
pub fn html(document: &HashCast) -> String {
    let title = format!("{} clients, {} queues", document.probabilities.flows, document.probabilities.queues);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{NO_SCRIPT_POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>primetime: Hash-Cast, \
         {title}</title>\n<style>\n{STYLE}{OWN_STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header><p class=\"brand\">primetime <span>{}</span></p>\n<h1>Hash-Cast: {title}</h1>\n\
         <div class=\"verdict\"><p>{}</p></div></header>\n",
        escape(&document.environment.date),
        escape(&document.verdict)
    );
    page.push_str(&probabilities(document));
    if let Some(setup) = &document.setup {
        page.push_str(&cures(document));
        page.push_str(&cures_within_tcp(document));
        page.push_str(&clients(document, setup));
    }
    page.push_str(&cards(document));
    page.push_str(&doubts(document));
    page.push_str(
        "<footer><p>The numbers are in hash-cast.json beside this file. Jain\u{2019}s index is 1 when all \
         clients get the same and 1/n when one of n has \
         everything.</p></footer>\n</main>\n</body>\n</html>\n",
    );
    page
}

fn section(name: &str, heading: &str, content: &str) -> String {
    format!("<section aria-labelledby=\"{name}\"><h2 id=\"{name}\">{heading}</h2>\n{content}</section>\n")
}

fn probabilities(document: &HashCast) -> String {
    let figure = format!(
        "<figure><figcaption>The probability that the best served flow gets at least so many times as much \
         as the worst served one, for {} queues: exact, from all ways in which flows can fall into queues. \
         The dashed line is at {} flows.</figcaption>\n\
         <div class=\"figure\">{}</div></figure>\n",
        document.probabilities.queues,
        document.probabilities.flows,
        svg::probability_curves(&document.probabilities)
    );
    let rows: String = document
        .probabilities
        .curves
        .iter()
        .map(|curve| {
            let probability = document.probabilities.of(curve.ratio).unwrap_or_default();
            format!(
                "<tr><th scope=\"row\">\u{2265} {}</th><td class=\"n\">{}</td></tr>\n",
                curve.ratio,
                percent(probability)
            )
        })
        .collect();
    let caption = format!("Probabilities for {} flows", document.probabilities.flows);
    section(
        "chance",
        "How probable it is",
        &(figure + &table(&caption, &["Best ÷ worst", "Probability"], &rows)),
    )
}

fn cures(document: &HashCast) -> String {
    let row = |measurement: &Measurement| {
        let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), number);
        let predicted =
            measurement.runs.iter().filter_map(|run| run.predicted_max_min_ratio).fold(1.0, f64::max);
        let inside: Vec<f64> = measurement.runs.iter().filter_map(|run| run.variation_inside).collect();
        let inside = (!inside.is_empty()).then(|| inside.iter().sum::<f64>() / inside.len() as f64);
        let share = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), percent);
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{:.3}</td><td class=\"n\">{}</td><td \
             class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
            escape(&measurement.workload),
            escape(&measurement.scenario),
            measurement.fairness(),
            ratio(measurement.worst_ratio()),
            ratio(Some(predicted)),
            number(measurement.total() * 8.0 / 1e6),
            share(inside),
            share(measurement.variation_across_runs)
        )
    };
    let rows: String = document.measurements.iter().map(row).collect();
    let heads = [
        "Workload",
        "Queueing",
        "Jain\u{2019}s index",
        "Best ÷ worst",
        "Predicted",
        "All, Mbit/s",
        "Varies inside a run",
        "Varies across runs",
    ];
    section("cures", "The card, and what cures it", &table("The card and its cures", &heads, &rows))
}

/// The cures within TCP, and which of them this kernel does not have.
fn cures_within_tcp(document: &HashCast) -> String {
    let rows = cures::rows(document);
    if rows.is_empty() && document.notes.is_empty() {
        return String::new();
    }
    let row = |[workload, tcp, numbers @ .., published]: &[String; 7]| {
        let numbers: String =
            numbers.iter().map(|cell| format!("<td class=\"n\">{}</td>", escape(cell))).collect();
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td>{numbers}<td>{}</td></tr>\n",
            escape(workload),
            escape(tcp),
            escape(published)
        )
    };
    let rows: String = rows.iter().map(row).collect();
    let notes: String = document.notes.iter().map(|note| format!("<p>{}</p>\n", escape(note))).collect();
    let caption = "Settings of TCP on the same card, in turns";
    section("tcp-cures", "Cures within TCP", &(table(caption, &cures::HEADS, &rows) + &notes))
}

fn clients(document: &HashCast, setup: &Setup) -> String {
    let most = document
        .measurements
        .iter()
        .flat_map(|measurement| &measurement.runs)
        .flat_map(|run| run.client_bytes_per_second.iter().chain(&run.predicted_bytes_per_second))
        .copied()
        .fold(0.0, f64::max);
    let panel = |measurement: &Measurement| {
        format!(
            "<div class=\"panel\"><h3>{}, {}</h3><p>Mbit/s of each client; round trip {} ms without \
             load.</p>{}</div>\n",
            escape(&measurement.workload),
            escape(&measurement.scenario),
            number(measurement.link.rtt_ms),
            svg::clients(measurement, most)
        )
    };
    let panels: String = document.measurements.iter().map(panel).collect();
    let caption = format!(
        "Bars are what each client got, ticks what follows from the queues that its flows were hashed to; \
         below each run is Jain\u{2019}s index. {} Mbit/s, round trip {}, {} s in each run, {}.",
        number(setup.rate_bytes_per_second as f64 * 8.0 / 1e6),
        delay(setup.rtt_ms),
        number(setup.seconds),
        escape(setup.congestion_control.as_deref().unwrap_or("the kernel\u{2019}s congestion control"))
    );
    let figure = format!(
        "<figure><figcaption>{caption}</figcaption>\n<div class=\"figure grid\">{panels}</div></figure>\n"
    );
    section("clients", "Winners and losers", &figure)
}

fn cards(document: &HashCast) -> String {
    let rows: String = document
        .cards
        .iter()
        .map(|card| {
            format!(
                "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td>{}</td><td \
                 class=\"n\">{}</td></tr>\n",
                escape(&card.name),
                card.transmit_queues,
                escape(card.discipline.as_deref().unwrap_or("–")),
                percent(card.at_least_twice)
            )
        })
        .collect();
    if rows.is_empty() {
        return section("cards", "The cards of this machine", "<p>The kernel shows none.</p>\n");
    }
    let heads = ["Card", "Transmit queues", "Discipline", "Twice as much or more"];
    section("cards", "The cards of this machine", &table("The cards of this machine", &heads, &rows))
}

fn doubts(document: &HashCast) -> String {
    let items: String =
        document.environment.doubts.iter().map(|doubt| format!("<li>{}</li>\n", escape(doubt))).collect();
    let content =
        if items.is_empty() { "<p>None.</p>\n".to_owned() } else { format!("<ul>\n{items}</ul>\n") };
    section("doubts", "Doubts", &content)
}

fn table(caption: &str, heads: &[&str], rows: &str) -> String {
    crate::report::table("hash-cast", caption, heads, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_cast::samples;

    #[test]
    fn the_page_has_the_verdict_every_measurement_and_every_card() {
        let mut document = samples::document();
        document.environment.doubts.push("It was dark.".to_owned());
        let page = html(&document);
        assert!(page.contains(&escape(&document.verdict)) && page.contains("It was dark."));
        assert_eq!(page.matches("<div class=\"panel\">").count(), 12);
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
        assert!(page.contains("window ≤ 31250") && page.contains("The cure `vegas` was not measured."));
        assert!(page.contains("eth0") && page.contains("fair-queueing") && page.ends_with("</html>\n"));
        assert!(!page.contains("<script") && !page.contains("://"));
    }

    #[test]
    fn without_measurements_the_page_is_about_probabilities() {
        let mut document = samples::document();
        document.measurements.clear();
        document.setup = None;
        let page = html(&document);
        assert!(page.contains("How probable") && !page.contains("Winners"));
    }

    #[test]
    fn hostile_data_stays_data() {
        const HOSTILE: &str = "</td><script>alert(1)</script>\"'&";
        let mut document = samples::document();
        document.verdict = HOSTILE.to_owned();
        document.environment.doubts.push(HOSTILE.to_owned());
        document.environment.date = HOSTILE.to_owned();
        document.notes.push(HOSTILE.to_owned());
        document.measurements[0].congestion_control = Some(HOSTILE.to_owned());
        document.cards[0].name = HOSTILE.to_owned();
        document.cards[0].discipline = Some(HOSTILE.to_owned());
        document.measurements[0].workload = HOSTILE.to_owned();
        document.measurements[0].scenario = HOSTILE.to_owned();
        if let Some(setup) = &mut document.setup {
            setup.congestion_control = Some(HOSTILE.to_owned());
        }
        assert!(!html(&document).contains("<script"));
    }
}
