//! The report in a real browser: the figures are drawn, nothing is complained about, nothing is fetched.
//!
//! Needs Chromium. Without it the tests skip and say so; with `CI=true` that is a failure.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail it")]

mod browser;
mod looks;
mod pages;
mod saving;
mod tooltips;

use std::path::Path;

use bench::report;
use bench::samples;

use browser::{DESKTOP, Page};

/// Experiments of the sample with published values.
const PUBLISHED: usize = 7;

/// What a browser made of a page.
struct Visit {
    dom: String,
    console: Vec<String>,
}

fn visit(browser: &Path, page: &str) -> Visit {
    let mut page = Page::open(browser, page, DESKTOP);
    Visit { dom: page.dom(), console: std::mem::take(&mut page.console) }
}

/// How many drawn paths have the marks of `kind`, which Vega names in the class of each group.
fn groups(dom: &str, kind: &str) -> usize {
    dom.matches(&format!("class=\"mark-{kind} role-mark")).count()
}

#[test]
fn every_figure_is_drawn_without_a_complaint() {
    let Some(browser) = browser::find() else { return };
    let results = samples::results();
    let visit = visit(&browser, &report::html(&results));
    assert!(visit.console.is_empty(), "{:#?}", visit.console);
    assert!(visit.dom.contains("data-drawn=\"true\""), "the script did not come to its end");
    // The ratios, the requests, for each of eight experiments its means and its sweep, and the published
    // ones.
    assert_eq!(visit.dom.matches("class=\"marks\"").count(), 2 + 2 * 8 + PUBLISHED);
    // Bars: for each experiment and delay the means, and for each experiment the requests at one delay.
    assert!(groups(&visit.dom, "rect") >= 8 * 3 + 8, "{}", groups(&visit.dom, "rect"));
    assert!(groups(&visit.dom, "line") >= 8 * 2, "{}", groups(&visit.dom, "line"));
    assert!(groups(&visit.dom, "symbol") > 8, "{}", groups(&visit.dom, "symbol"));
    for name in ["small-file-read · 10 ms", "faster", "GETATTR", "OPEN", "round-trip delay"] {
        assert!(visit.dom.contains(&format!(">{name}</text>")), "no figure says {name}");
    }
}

#[test]
fn every_form_of_the_studies_is_drawn() {
    let Some(browser) = browser::find() else { return };
    let results = pages::every_form();
    let visit = visit(&browser, &report::html(&results));
    assert!(visit.console.is_empty(), "{:#?}", visit.console);
    for name in ["share of the requests", "client 2", "seconds", "phase", "first"] {
        assert!(visit.dom.contains(&format!(">{name}</text>")), "no figure says {name}");
    }
    assert!(visit.dom.contains("Every published value beside ours") && visit.dom.contains("× v3"));
    for name in ["time of an operation, ms", "locked-read"] {
        assert!(visit.dom.contains(&format!(">{name}")), "no figure says {name}");
    }
    for table in
        ["In the columns of fio", "Times of one operation side by side", "Processors and disks as a table"]
    {
        assert!(visit.dom.contains(table), "there is no table {table}");
    }
}

#[test]
fn several_results_are_drawn_side_by_side() {
    let Some(browser) = browser::find() else { return };
    let results = pages::of_three_servers();
    let visit = visit(&browser, &report::html(&results));
    assert!(visit.console.is_empty(), "{:#?}", visit.console);
    // The 72 ratios are in three pieces, the requests in two.
    assert_eq!(visit.dom.matches("class=\"marks\"").count(), 5 + 2 * 8 + PUBLISHED);
    // Six bars for each experiment and delay, and as many lines of requests.
    assert!(groups(&visit.dom, "line") >= 8 * 6, "{}", groups(&visit.dom, "line"));
    for name in ["v3 · ganesha", "v4.1 · knfsd", "create · primetime · 10 ms"] {
        assert!(visit.dom.contains(&format!(">{name}</text>")), "no figure says {name}");
    }
}

#[test]
fn hostile_data_runs_nothing_and_breaks_no_figure() {
    let Some(browser) = browser::find() else { return };
    const HOSTILE: &str =
        "</script><script>console.log('ran')</script><img src=x onerror=console.log('ran')>";
    let mut results = samples::results();
    results.verdict.text = HOSTILE.to_owned();
    for comparison in &mut results.comparisons {
        comparison.reason = HOSTILE.to_owned();
    }
    for cell in &mut results.cells {
        cell.rpcs.insert(HOSTILE.to_owned(), 1_000_000);
        cell.doubts.push(HOSTILE.to_owned());
    }
    let visit = visit(&browser, &report::html(&results));
    assert!(visit.console.is_empty(), "{:#?}", visit.console);
    assert_eq!(visit.dom.matches("class=\"marks\"").count(), 2 + 2 * 8 + PUBLISHED);
}

#[test]
fn an_empty_result_is_drawn_without_a_complaint() {
    let Some(browser) = browser::find() else { return };
    let mut results = samples::results();
    results.cells.clear();
    results.comparisons.clear();
    let visit = visit(&browser, &report::html(&results));
    assert!(visit.console.is_empty(), "{:#?}", visit.console);
    assert!(visit.dom.contains("Nothing was compared."));
}

#[test]
fn an_experiment_with_factors_alone_has_no_empty_section() {
    let Some(browser) = browser::find() else { return };
    let visit = visit(&browser, &report::html(&pages::of_factors_alone()));
    assert!(visit.console.is_empty(), "{:#?}", visit.console);
    for missing in ["id=\"means\"", "id=\"requests\"", "id=\"sweep\""] {
        assert!(!visit.dom.contains(missing), "{missing}");
    }
    // The ratios in one piece and the experiment in its form.
    assert_eq!(visit.dom.matches("class=\"marks\"").count(), 2);
    assert!(visit.dom.contains("Means of all settings as a table"));
}

/// The page's policy forbids every request, and the browser says so when one is tried: this is what makes the
/// empty console of the other tests mean that none was.
#[test]
fn an_attempt_to_fetch_would_be_seen() {
    let Some(browser) = browser::find() else { return };
    let page = report::html(&samples::results());
    let page = page.replacen("<main>", "<main><img src=\"http://127.0.0.1:9/spy.png\" alt=\"\">", 1);
    let visit = visit(&browser, &page);
    assert!(
        visit.console.iter().any(|line| line.contains("Content Security Policy")),
        "{:#?}",
        visit.console
    );
}
