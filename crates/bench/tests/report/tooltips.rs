//! Tooltips say what was measured, in every form of figure.

use std::collections::BTreeMap;

use bench::report;
use bench::results::{Cell, Results};

use crate::browser::{self, DESKTOP, Page};
use crate::pages;

/// What the tooltip says at every mark of a section's figures, or of those of one experiment in it: name by
/// value.
const TOOLTIPS: &str = r#"((section, experiment) => {
    const isOf = (panel) => panel.querySelector("h3").textContent.split(",")[0] === experiment;
    const places = [...document.querySelectorAll(experiment === "" ? section : `${section} .panel`)];
    const place = places.find((place) => experiment === "" || isOf(place));
    const said = [];
    for (const mark of place.querySelectorAll(".mark-rect.role-mark > path, .mark-symbol.role-mark > path")) {
        const { left, top, width, height } = mark.getBoundingClientRect();
        // The place of a published value where there is none.
        if (width === 0 && height === 0) continue;
        const at = { bubbles: true, clientX: left + width / 2, clientY: top + height / 2 };
        mark.dispatchEvent(new PointerEvent("pointermove", at));
        const tooltip = document.getElementById("vg-tooltip-element");
        if (!tooltip?.classList.contains("visible")) continue;
        const rows = [...tooltip.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent));
        said.push(Object.fromEntries(rows));
        tooltip.classList.remove("visible");
    }
    return said;
})"#;

type Tooltip = BTreeMap<String, String>;

fn tooltips(page: &mut Page, section: &str, experiment: &str) -> Vec<Tooltip> {
    let said = page.evaluate(&format!("{TOOLTIPS}({section:?}, {experiment:?})"));
    serde_json::from_value(said).unwrap()
}

/// The numbers called `value` of the tooltips that say all of `where_`.
fn values(tooltips: &[Tooltip], where_: &[(&str, &str)], value: &str) -> Vec<f64> {
    let is_there = |tooltip: &&Tooltip| {
        where_.iter().all(|(name, text)| tooltip.get(*name).is_some_and(|is| is == text))
    };
    let number = |tooltip: &Tooltip| {
        // A published value stands after the name of who published it.
        let text = tooltip[value].rsplit(": ").next().unwrap();
        let digits: String = text
            .chars()
            .take_while(|letter| !" %".contains(*letter))
            .filter(|letter| *letter != ',')
            .collect();
        digits.parse().unwrap_or_else(|error| panic!("{tooltip:?}: {error}"))
    };
    tooltips.iter().filter(is_there).map(number).collect()
}

/// What is shown has three digits or more.
#[track_caller]
fn assert_near(shown: &[f64], expected: f64) {
    assert!(!shown.is_empty(), "nothing says {expected}");
    let is_near = |shown: &f64| (shown - expected).abs() <= 0.006 * expected.abs();
    assert!(shown.iter().all(is_near), "{shown:?} instead of {expected}");
}

fn cells<'a>(results: &'a Results, experiment: &str) -> Vec<&'a Cell> {
    results.cells.iter().filter(|cell| cell.setting.experiment == experiment).collect()
}

fn key(cell: &Cell) -> (String, String) {
    (format!("v{}", cell.setting.version), format!("{} ms", cell.setting.rtt_ms))
}

fn open(results: &Results) -> Option<Page> {
    let browser = browser::find()?;
    Some(Page::open(&browser, &report::html(results), DESKTOP))
}

#[test]
fn ratios_say_what_was_compared_and_why() {
    let results = pages::every_form();
    let Some(mut page) = open(&results) else { return };
    let said = tooltips(&mut page, "#ratio", "");
    assert_eq!(said.len(), results.comparisons.len());
    for comparison in &results.comparisons {
        let row = format!("{} · {} ms", comparison.experiment, comparison.rtt_ms);
        assert_near(&values(&said, &[("comparison", &row)], "ratio"), comparison.ratio.unwrap());
        let tooltip = said.iter().find(|tooltip| tooltip["comparison"] == row).unwrap();
        assert_eq!(tooltip["verdict"], comparison.verdict.words());
        assert_eq!(tooltip["reason"], comparison.reason);
    }
}

#[test]
fn means_and_sweeps_say_the_mean_and_its_interval() {
    let results = pages::every_form();
    let Some(mut page) = open(&results) else { return };
    let bars = tooltips(&mut page, "#means", "locked-read");
    let points = tooltips(&mut page, "#sweep", "locked-read");
    assert_eq!(points.len(), 6);
    for cell in cells(&results, "locked-read") {
        let (version, delay) = key(cell);
        let here = [("version", version.as_str()), ("delay", delay.as_str()), ("unit", "op/s")];
        let [low, high] = cell.ci95.unwrap();
        for (name, expected) in [("mean", cell.mean), ("95 % from", low), ("to", high)] {
            assert_near(&values(&bars, &here, name), expected);
        }
        assert_near(&values(&points, &here, "mean"), cell.mean);
    }
}

#[test]
fn requests_say_how_many_there_were_of_each_kind() {
    let results = pages::every_form();
    let Some(mut page) = open(&results) else { return };
    let said = tooltips(&mut page, "#requests", "");
    let plain =
        results.cells.iter().filter(|cell| cell.setting.levels.is_empty() && cell.setting.rtt_ms == 10.0);
    let mut count = 0;
    for cell in plain {
        let (version, delay) = key(cell);
        for (operation, requests) in &cell.rpcs {
            let experiment = cell.setting.experiment.as_str();
            let here = [
                ("version", version.as_str()),
                ("delay", &delay),
                ("experiment", experiment),
                ("operation", operation),
            ];
            assert_near(&values(&said, &here, "per operation"), *requests as f64 / cell.operations as f64);
            count += 1;
        }
    }
    assert_eq!(said.len(), count);
}

#[test]
fn shares_say_what_part_of_the_requests_they_are() {
    let results = pages::every_form();
    let Some(mut page) = open(&results) else { return };
    let said = tooltips(&mut page, "#studies", "sequential-read");
    let mut count = 0;
    for cell in cells(&results, "sequential-read") {
        let (version, delay) = key(cell);
        for (operation, requests) in &cell.rpcs {
            let here = [("version", version.as_str()), ("at", &delay), ("operation", operation)];
            let share = 100.0 * *requests as f64 / cell.rpcs_total as f64;
            let shown = values(&said, &here, "share");
            assert!(shown.len() == 1 && (shown[0] - share).abs() < 0.06, "{shown:?} instead of {share}");
            count += 1;
        }
    }
    assert_eq!(said.len(), count);
}

#[test]
fn rates_say_when_and_how_fast_each_client_was() {
    let results = pages::every_form();
    let Some(mut page) = open(&results) else { return };
    let said = tooltips(&mut page, "#studies", "sequential-write");
    let cells = cells(&results, "sequential-write");
    let timeline = cells[0].run_details[0].timeline.as_ref().unwrap();
    for (client, rates) in timeline.clients.iter().enumerate() {
        let client = format!("client {}", client + 1);
        for (slice, rate) in rates.iter().enumerate() {
            let seconds = format!("{}", (slice as f64 * timeline.slice_seconds * 100.0).round() / 100.0);
            let shown = values(&said, &[("client", &client), ("seconds", &seconds)], "rate");
            assert_eq!(shown.len(), cells.len());
            assert_near(&shown, *rate);
        }
    }
}

#[test]
fn curves_say_the_rates_of_applications_and_of_their_clients() {
    let results = pages::every_form();
    let Some(mut page) = open(&results) else { return };
    let said = tooltips(&mut page, "#time", "sequential-write");
    let cells = cells(&results, "sequential-write");
    let timeline = cells[0].median_run().unwrap().timeline.as_ref().unwrap();
    for (whose, rates) in
        [("applications", &timeline.values), ("clients from the server", &timeline.client_reads)]
    {
        for (slice, rate) in rates.iter().enumerate().filter(|(_, rate)| **rate > 0.0) {
            let seconds = format!("{}", (slice as f64 * timeline.slice_seconds * 100.0).round() / 100.0);
            let shown = values(&said, &[("rate of", whose), ("seconds", &seconds)], "rate");
            assert_eq!(shown.len(), cells.len());
            assert_near(&shown, *rate);
        }
    }
}

#[test]
fn histograms_say_the_share_of_the_operations() {
    let results = pages::every_form();
    let Some(mut page) = open(&results) else { return };
    let said = tooltips(&mut page, "#latency", "locked-read");
    let cells = cells(&results, "locked-read");
    let buckets: usize = cells.iter().map(|cell| cell.latency_histogram.buckets.len()).sum();
    assert_eq!(said.len(), buckets);
    for cell in cells {
        let shares = values(&said, &[("version", &format!("v{}", cell.setting.version))], "share");
        assert!(shares.iter().all(|share| (0.0..=100.0).contains(share)) && !shares.is_empty(), "{shares:?}");
    }
}

#[test]
fn lines_bars_and_diamonds_say_their_values() {
    let results = pages::every_form();
    let Some(mut page) = open(&results) else { return };
    // Lines and bars over the delay, each with a published value, and lines over a factor in a panel for each
    // delay.
    for (experiment, published) in
        [("random-read", Some(0.3)), ("random-write", Some(62.0)), ("create", None)]
    {
        let mut expected: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
        for cell in cells(&results, experiment) {
            let (version, delay) = key(cell);
            let at = cell.setting.levels.values().next().cloned().unwrap_or(delay);
            expected.entry((version, at)).or_default().push(cell.mean);
        }
        if let Some(value) = published {
            expected.get_mut(&("v4.1".to_owned(), "0 ms".to_owned())).unwrap().push(value);
        }
        let said = tooltips(&mut page, "#studies", experiment);
        assert_eq!(said.len(), expected.values().map(Vec::len).sum::<usize>(), "{said:#?}");
        for ((version, at), mut expected) in expected {
            let mut shown = values(&said, &[("version", &version), ("at", &at)], "value");
            shown.sort_by(f64::total_cmp);
            expected.sort_by(f64::total_cmp);
            for (shown, expected) in shown.iter().zip(expected) {
                assert_near(&[*shown], expected);
            }
        }
    }
}
