//! The page as a whole: what comes after what.

use std::collections::BTreeMap;

use super::escape::{escape, script_json};
use super::figures::Figures;
use super::{latency_tables, machine_table, tables};
use crate::explain::UNDECIDED;
use crate::results::{LOCAL, Results, Verdict, client_sentences, version_name};
use crate::statistics::Outcome;
use crate::text::percent;

pub(crate) const STYLE: &str = include_str!("../../assets/report.css");
/// One script in several files, each of which may use what those before it name.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n\n",
    include_str!("../../assets/report/data.js"),
    include_str!("../../assets/report/colours.js"),
    include_str!("../../assets/report/drawing.js"),
    include_str!("../../assets/report/saving.js"),
    include_str!("../../assets/report/ratios.js"),
    include_str!("../../assets/report/means.js"),
    include_str!("../../assets/report/requests.js"),
    include_str!("../../assets/report/studies.js"),
    include_str!("../../assets/report/time.js"),
    include_str!("../../assets/report/page.js"),
    "})();\n"
);
const VEGA: [&str; 3] = [
    include_str!("../../assets/vendor/vega.min.js"),
    include_str!("../../assets/vendor/vega-lite.min.js"),
    include_str!("../../assets/vendor/vega-embed.min.js"),
];
const LICENCE: &str = include_str!("../../assets/vendor/LICENSE.vega");

/// Nothing from anywhere: what is inline runs, images are those the page makes itself, and no address is
/// fetched.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; base-uri 'none'; form-action 'none'";

/// The same for a page that needs no script either.
pub(crate) const NO_SCRIPT_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Settings named beside a doubt; results.json has them all.
const PLACES_MAX: usize = 6;

/// The whole page.
#[must_use]
pub fn html(results: &Results) -> String {
    let mut page = head(results);
    page.push_str(&verdict(results));
    let rows = Figures::of(results);
    page.push_str(&figures(results, &rows));
    page.push_str("<section aria-labelledby=\"why\"><h2 id=\"why\">Every comparison, and why</h2>\n");
    page.push_str(&tables::comparisons(results));
    if let Some(table) = latency_tables::latencies(results) {
        page.push_str(&details("Times of one operation side by side", &table));
    }
    page.push_str("</section>\n");
    page.push_str(&environment(results));
    page.push_str(&foot(&rows));
    page
}

fn head(results: &Results) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>primetime: {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        escape(&title(results))
    )
}

fn title(results: &Results) -> String {
    let mut arms: Vec<&str> = Vec::new();
    for cell in &results.cells {
        if !cell.setting.arm.is_empty() && !arms.contains(&cell.setting.arm.as_str()) {
            arms.push(&cell.setting.arm);
        }
    }
    if !arms.is_empty() {
        return arms.join(" or ");
    }
    let mut versions: Vec<&str> = results.cells.iter().map(|cell| cell.setting.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    let names: Vec<String> = versions.iter().map(|version| title_of(version)).collect();
    if names.is_empty() { "NFS".to_owned() } else { names.join(" or ") }
}

fn title_of(version: &str) -> String {
    if version == LOCAL { "no NFS".to_owned() } else { format!("NFS{}", version_name(version, true)) }
}

const PARTIAL: &str =
    "<p class=\"partial\"><b>Stopped before its end:</b> settings are missing, and --resume makes them.</p>";

fn verdict(results: &Results) -> String {
    let recommend = match results.verdict.recommend.as_str() {
        "either" => "Either will do, or it depends".to_owned(),
        UNDECIDED => "Not decided".to_owned(),
        arm if results.cells.iter().any(|cell| cell.setting.arm == arm) => arm.to_owned(),
        version => format!("NFSv{version}"),
    };
    let count = |outcome: Outcome| {
        results.comparisons.iter().filter(|comparison| comparison.verdict == outcome).count()
    };
    let tiles: String = [Outcome::Faster, Outcome::Slower, Outcome::Same, Outcome::Unclear]
        .iter()
        .map(|outcome| {
            let (word, words) = (outcome.as_str(), outcome.words());
            format!("<li class=\"{word}\"><b>{}</b> <span>{words}</span></li>", count(*outcome))
        })
        .collect();
    let partial = if results.partial { PARTIAL } else { "" };
    format!(
        "<header><p class=\"brand\">primetime <span>{}</span></p>\n<h1>{}?</h1>\n\
         <div class=\"verdict\"><p class=\"recommend\">{}</p>{partial}<p>{}</p>{}\n\
         <ul class=\"tiles\" aria-label=\"Comparisons by verdict\">{tiles}</ul></div></header>\n",
        escape(&results.environment.date),
        escape(&title(results)),
        escape(&recommend),
        escape(&results.verdict.text),
        conditions(&results.verdict)
    )
}

/// For what the answer is another one, what mattered most, and what it stands on.
fn conditions(verdict: &Verdict) -> String {
    let sentences: String = verdict
        .flips
        .iter()
        .chain(&verdict.levers)
        .map(|sentence| format!("<li>{}</li>", escape(sentence)))
        .collect();
    let sentences =
        if sentences.is_empty() { sentences } else { format!("<ul class=\"conditions\">{sentences}</ul>") };
    if verdict.weights.is_empty() {
        return sentences;
    }
    let weights: Vec<String> =
        verdict.weights.iter().map(|(experiment, weight)| format!("{experiment} {weight}")).collect();
    let basis = format!("Weighed for {}: {}.", verdict.profile, weights.join(", "));
    format!("{sentences}<p class=\"basis\">{}</p>", escape(&basis))
}

/// The figures that have something to show, and the tables of their numbers.
fn figures(results: &Results, rows: &Figures) -> String {
    let mut means = details("The same numbers as a table", &tables::means(&results.cells));
    means.push_str(&machines(results));
    let requests = details("The same numbers as a table", &tables::requests(&results.cells));
    let mut text = figure(
        "ratio",
        "How many times as fast",
        &format!(
            "Each line is one comparison: the ratio of the means with the interval that its verdict follows \
             from, on a logarithmic axis. The line at 1 is \u{201c}no difference\u{201d}, the grey band is \
             \u{201c}the same within {}\u{201d}.",
            percent(rows.same_within)
        ),
        "",
    );
    if rows.means.is_empty() {
        text.push_str(&studies(results, rows));
        text.push_str(&times(results, rows));
        text.push_str(&numbers(results));
        return text;
    }
    text.push_str(&figure(
        "means",
        "What each version reached",
        "Means of the runs with 95 % intervals (Student\u{2019}s t). Each group of bars starts at zero and \
         has a scale of its own.",
        &means,
    ));
    text.push_str(&figure(
        "requests",
        "What each version asked of the server",
        "Requests for each operation of the application, by name; a COMPOUND counts once, under the \
         operation that it was sent for.",
        &requests,
    ));
    if rows.has_sweep() {
        text.push_str(&figure(
            "sweep",
            "What delay does",
            "The same means over the round-trip delay of the network, on logarithmic axes; the band is the \
             95 % interval.",
            "",
        ));
    }
    text.push_str(&studies(results, rows));
    text.push_str(&times(results, rows));
    text
}

/// The table of the use of the machines, where that is known.
fn machines(results: &Results) -> String {
    let table = machine_table::resources(&results.cells);
    table.map_or_else(String::new, |table| details("Processors and disks as a table", &table))
}

/// Rates over time, and how many operations took how long.
fn times(results: &Results, rows: &Figures) -> String {
    let mut text = String::new();
    if !rows.slices.is_empty() {
        text.push_str(&figure(
            "time",
            "Rates over time",
            "What all clients together did in each slice of the median run. A dashed line is what the \
             clients read from the server meanwhile; where it is below the line of its version, caches \
             served the rest.",
            "",
        ));
    }
    if !rows.buckets.is_empty() {
        let fio = latency_tables::fio(&results.cells);
        text.push_str(&figure(
            "latency",
            "How long one operation took",
            "The share of the operations of all runs by their time, with four steps for each doubling, for \
             settings with one operation at a time.",
            &fio.map_or_else(String::new, |table| details("In the columns of fio", &table)),
        ));
    }
    text
}

fn studies(results: &Results, rows: &Figures) -> String {
    if rows.studies.is_empty() {
        return String::new();
    }
    let published = tables::published(results);
    let published =
        published.map_or_else(String::new, |table| details("Every published value beside ours", &table));
    figure(
        "studies",
        "As the studies drew it",
        "Experiments in the form in which they were published. A diamond is a published value; what was \
         different in its set-up stands in the table.",
        &published,
    )
}

/// The tables where no figure goes with them: one for each level of a factor would be too many.
fn numbers(results: &Results) -> String {
    if results.cells.is_empty() {
        return String::new();
    }
    format!(
        "<section aria-labelledby=\"numbers\"><h2 id=\"numbers\">What each version reached and asked of the \
         server</h2>\n\
         {}{}{}</section>\n",
        details("Means of all settings as a table", &tables::means(&results.cells)),
        machines(results),
        details("Requests and bytes of all settings as a table", &tables::requests(&results.cells))
    )
}

/// A figure that the page's script fills; `after` follows it.
fn figure(name: &str, heading: &str, caption: &str, after: &str) -> String {
    format!(
        "<section aria-labelledby=\"{name}-title\"><h2 id=\"{name}-title\">{heading}</h2>\n<figure>\
         <figcaption>{caption}</figcaption>\n<div class=\"figure\" id=\"{name}\">\
         <noscript>The figures need JavaScript; the tables do \
         not.</noscript></div></figure>\n{after}</section>\n"
    )
}

fn details(summary: &str, content: &str) -> String {
    format!("<details><summary>{summary}</summary>\n{content}</details>\n")
}

fn environment(results: &Results) -> String {
    let mut text = "<section aria-labelledby=\"where\"><h2 id=\"where\">Where and how</h2>\n".to_owned();
    for sentence in client_sentences(results) {
        text.push_str(&format!("<p>{}</p>\n", escape(&sentence)));
    }
    text.push_str(&tables::environment(&results.environment));
    text.push_str("</section>\n<section aria-labelledby=\"doubts\"><h2 id=\"doubts\">Doubts</h2>\n");
    text.push_str(&doubts(results));
    text.push_str("</section>\n");
    text
}

/// Every doubt once, with the settings that it is about.
fn doubts(results: &Results) -> String {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for cell in &results.cells {
        for doubt in &cell.doubts {
            let place =
                format!("{} at {} ms, {}", cell.setting.name(), cell.setting.rtt_ms, cell.version_name());
            places.entry(doubt).or_default().push(place);
        }
    }
    for comparison in &results.comparisons {
        for doubt in &comparison.doubts {
            let candidate = comparison.candidate_name();
            let place = format!("{} at {} ms, {candidate}", comparison.name(), comparison.rtt_ms);
            places.entry(doubt).or_default().push(place);
        }
    }
    let general = results.environment.doubts.iter().map(|doubt| format!("<li>{}</li>\n", escape(doubt)));
    let of_cells = places.iter().map(|(doubt, places)| {
        format!("<li>{} <small>{}</small></li>\n", escape(doubt), escape(&shortened(places)))
    });
    let items: String = general.chain(of_cells).collect();
    if items.is_empty() { "<p>None.</p>\n".to_owned() } else { format!("<ul>\n{items}</ul>\n") }
}

fn shortened(places: &[String]) -> String {
    let named = places.iter().take(PLACES_MAX).map(String::as_str).collect::<Vec<_>>().join("; ");
    match places.len().saturating_sub(PLACES_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn foot(rows: &Figures) -> String {
    let mut text = format!(
        "<footer><p>Ratios are of paired runs, by Student\u{2019}s t on their logarithms, from 24 runs on \
         without the wildest; verdicts are corrected over all comparisons (Holm) and over the looks at \
         growing numbers of runs, and \u{201c}same\u{201d} is itself a tested claim: within {}. The numbers \
         are in \
         results.json beside this file, from which <code>primetime bench report</code> makes it again.</p>\n\
         <details><summary>Licence of the figures\u{2019} code (Vega, Vega-Lite, \
         Vega-Embed)</summary><pre>{}</pre></details>\
         </footer>\n</main>\n<i class=\"paper\" hidden></i>\n<script type=\"application/json\" \
         id=\"figures-data\">{}</script>\n",
        percent(rows.same_within),
        escape(LICENCE),
        script_json(rows)
    );
    for script in VEGA {
        // The maps that these lines point to are not here, and nothing may be fetched.
        let end = script.find("//# sourceMappingURL=").unwrap_or(script.len());
        text.push_str(&format!("<script>{}</script>\n", &script[..end]));
    }
    text.push_str(&format!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_page_has_every_reason_every_doubt_and_the_verdict() {
        let results = samples::results();
        let page = html(&results);
        assert!(page.contains(&escape(&results.verdict.text)));
        for comparison in &results.comparisons {
            assert!(page.contains(&escape(&comparison.reason)), "{}", comparison.reason);
        }
        for doubt in results.cells.iter().flat_map(|cell| &cell.doubts).chain(&results.environment.doubts) {
            assert!(page.contains(&escape(doubt)), "{doubt}");
        }
    }

    #[test]
    fn a_benchmark_that_was_stopped_is_marked() {
        let mut results = samples::results();
        assert!(!html(&results).contains("Stopped before its end"));
        results.partial = true;
        assert!(html(&results).contains("Stopped before its end"));
    }

    #[test]
    fn hostile_data_stays_data() {
        const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&";
        let clean = html(&samples::results());
        let mut results = samples::results();
        results.environment.kernel = HOSTILE.to_owned();
        results.verdict.text = HOSTILE.to_owned();
        results.verdict.recommend = HOSTILE.to_owned();
        results.comparisons[0].reason = HOSTILE.to_owned();
        for cell in &mut results.cells {
            cell.setting.experiment = HOSTILE.to_owned();
            cell.setting.version = HOSTILE.to_owned();
            cell.setting.metric.unit = HOSTILE.to_owned();
            cell.rpcs.insert(HOSTILE.to_owned(), 1);
            cell.doubts.push(HOSTILE.to_owned());
        }
        let page = html(&results);
        let own = &page[..page.find("<script>").unwrap()];
        assert!(!page.contains("<script>alert") && !own.contains("<img"));
        for end in ["</script", "<script"] {
            assert_eq!(page.matches(end).count(), clean.matches(end).count());
        }
    }

    #[test]
    fn the_page_names_nothing_to_fetch() {
        let page = html(&samples::results());
        let own = &page[..page.find("<script>").unwrap()];
        assert!(!own.contains("http:") && !own.contains("https:"), "an address stands in the page");
        assert!(!page.contains("sourceMappingURL"));
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn empty_figure_is_left_out() {
        let sections = |results: &Results| {
            let page = html(results);
            ["means", "requests", "sweep", "studies", "numbers"]
                .map(|name| page.contains(&format!("<h2 id=\"{name}")))
        };
        let mut results = samples::results();
        assert_eq!(sections(&results), [true, true, true, true, false]);
        results.cells.retain(|cell| cell.setting.rtt_ms < 1.0);
        assert_eq!(sections(&results), [true, true, false, true, false], "there is one delay");
        for cell in &mut results.cells {
            cell.setting.levels.insert("threads".to_owned(), "8".to_owned());
        }
        assert_eq!(sections(&results), [false, false, false, true, true], "all have factors");
        results.experiments.clear();
        assert_eq!(sections(&results), [false, false, false, false, true], "no study is known");
        results.cells.clear();
        assert_eq!(sections(&results), [false; 5], "nothing was measured");
    }

    #[test]
    fn an_empty_result_is_still_a_page() {
        let mut results = samples::results();
        results.cells.clear();
        results.comparisons.clear();
        let page = html(&results);
        assert!(page.contains("<h1>NFS?</h1>") && page.ends_with("</html>\n"));
    }
}
