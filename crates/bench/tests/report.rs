//! The report in a real browser: the figures are drawn, nothing is complained about, nothing is fetched.
//!
//! Needs Chromium. Without it the tests skip and say so; with `CI=true` that is a failure.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail it")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bench::results::{Figure, Form, Timeline, merge};
use bench::{report, samples};

/// Far longer than a browser needs; only so that one that hangs does not hang the tests.
const BROWSER_PATIENCE: Duration = Duration::from_secs(120);

/// Experiments of the sample with published values.
const PUBLISHED: usize = 6;

/// What a browser made of a page.
struct Visit {
    dom: String,
    console: Vec<String>,
}

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path)
            .flat_map(|directory| names.map(|name| directory.join(name)))
            .find(|candidate| candidate.is_file())
    });
    if found.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs Chromium for the report's tests");
        // Past the test harness, which keeps what passing tests print to itself.
        std::io::stderr().write_all(b"skipped: Chromium is not installed\n").unwrap();
    }
    found
}

fn visit(browser: &Path, page: &str) -> Visit {
    // One at a time: a browser is a dozen processes, which wait for each other.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    let [out, err] = ["out", "err"].map(|name| directory.path().join(name));
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args([
            "--enable-logging=stderr",
            "--window-size=1280,2000",
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&out).unwrap())
        .stderr(std::fs::File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > BROWSER_PATIENCE {
            child.kill().unwrap();
            panic!("the browser did not finish");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let console = text(&err).lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    // What follows the figures is the code that drew them, which must not be mistaken for a drawing.
    let dom = text(&out);
    let dom = dom.split("<script type=\"application/json\"").next().unwrap_or_default().to_owned();
    Visit { dom, console }
}

fn text(path: &Path) -> String {
    let mut bytes = Vec::new();
    std::fs::File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How many drawn paths have the marks of `kind`, which Vega names in the class of each group.
fn groups(dom: &str, kind: &str) -> usize {
    dom.matches(&format!("class=\"mark-{kind} role-mark")).count()
}

#[test]
fn every_figure_is_drawn_without_a_complaint() {
    let Some(browser) = browser() else { return };
    let results = samples::results();
    let visit = visit(&browser, &report::html(&results));
    assert!(visit.console.is_empty(), "{:#?}", visit.console);
    assert!(visit.dom.contains("data-drawn=\"true\""), "the script did not come to its end");
    // The ratios, the requests, for each of eight experiments its means and its sweep, and the published ones.
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
    let Some(browser) = browser() else { return };
    let mut results = samples::results();
    let timeline =
        Timeline { slice_seconds: 0.1, values: vec![3.0; 5], clients: vec![vec![1.0; 5], vec![2.0; 5]] };
    for cell in &mut results.cells {
        if cell.setting.experiment == "create" {
            cell.setting.levels.insert("phase".to_owned(), "first".to_owned());
        }
        for run in &mut cell.run_details {
            run.timeline = Some(timeline.clone());
        }
    }
    let forms =
        [(Form::Mix, "delay"), (Form::Timeline, "delay"), (Form::Lines, "delay"), (Form::Bars, "phase")];
    for (asked, (form, x)) in results.experiments.iter_mut().zip(forms) {
        asked.figure = Figure { form, x: x.to_owned() };
    }
    results.experiments[4].figure = Figure { form: Form::Lines, x: "phase".to_owned() };
    let visit = visit(&browser, &report::html(&results));
    assert!(visit.console.is_empty(), "{:#?}", visit.console);
    for name in ["share of the requests", "client 2", "seconds", "phase", "first"] {
        assert!(visit.dom.contains(&format!(">{name}</text>")), "no figure says {name}");
    }
    assert!(visit.dom.contains("Every published value beside ours") && visit.dom.contains("× v3"));
}

#[test]
fn several_results_are_drawn_side_by_side() {
    let Some(browser) = browser() else { return };
    let parts = ["primetime", "knfsd", "ganesha"].map(|name| (name.to_owned(), samples::results()));
    let results = merge(parts.into()).unwrap();
    let visit = visit(&browser, &report::html(&results));
    assert!(visit.console.is_empty(), "{:#?}", visit.console);
    assert_eq!(visit.dom.matches("class=\"marks\"").count(), 2 + 2 * 8 + PUBLISHED);
    // Six bars for each experiment and delay, and as many lines of requests.
    assert!(groups(&visit.dom, "line") >= 8 * 6, "{}", groups(&visit.dom, "line"));
    for name in ["v3 · ganesha", "v4.1 · knfsd", "create · primetime · 10 ms"] {
        assert!(visit.dom.contains(&format!(">{name}</text>")), "no figure says {name}");
    }
}

#[test]
fn hostile_data_runs_nothing_and_breaks_no_figure() {
    let Some(browser) = browser() else { return };
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
    let Some(browser) = browser() else { return };
    let mut results = samples::results();
    results.cells.clear();
    results.comparisons.clear();
    let visit = visit(&browser, &report::html(&results));
    assert!(visit.console.is_empty(), "{:#?}", visit.console);
    assert!(visit.dom.contains("Nothing was compared."));
}

/// The page's policy forbids every request, and the browser says so when one is tried: this is what makes the empty
/// console of the other tests mean that none was.
#[test]
fn an_attempt_to_fetch_would_be_seen() {
    let Some(browser) = browser() else { return };
    let page = report::html(&samples::results());
    let page = page.replacen("<main>", "<main><img src=\"http://127.0.0.1:9/spy.png\" alt=\"\">", 1);
    let visit = visit(&browser, &page);
    assert!(
        visit.console.iter().any(|line| line.contains("Content Security Policy")),
        "{:#?}",
        visit.console
    );
}
