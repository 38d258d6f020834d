//! `primetime bench hash-cast`: what it finds, what it leaves behind, and what it says when it cannot.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};

use bench::hash_cast::HashCast;
use netlab::packet::{Access, access, has_congestion_control};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Place, is_empty};

/// A rate in Mbit/s that a busy machine carries too: the command ends when its link is not as fast as was
/// asked for.
const SLOW_MBIT: &str = "20";

/// Six clients, four queues, a slow link, and windows that open at once.
const SMALL: [&str; 12] = [
    "--clients",
    "6",
    "--queues",
    "4",
    "--rate-mbit",
    SLOW_MBIT,
    "--runs",
    "1",
    "--seconds",
    "2",
    "--congestion",
    "reno",
];

/// Whether networks can be made here; a test that must be skipped says why.
fn possible() -> bool {
    let found = access();
    if found == Ok(Access::Here) {
        return true;
    }
    assert_ne!(env::var("CI").as_deref(), Ok("true"), "a network must be possible here: {found:?}");
    eprintln!("skipped: {found:?}");
    false
}

fn run(place: &Place, arguments: &[&str]) -> Output {
    place.bench(&[&["hash-cast", "--out", "out"], arguments].concat())
}

fn document(place: &Place) -> HashCast {
    serde_json::from_slice(&fs::read(place.path("out").join("hash-cast.json")).unwrap()).unwrap()
}

#[test]
fn fair_queueing_cures_what_the_queues_of_a_card_do_to_tcp() {
    if !possible() {
        return;
    }
    let place = Place::new();
    let output = run(&place, &[&SMALL[..], &["--tcp-only"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = document(&place);
    let fairness = |scenario| found.measurement("tcp", scenario).unwrap().fairness();
    assert!(fairness("fair-queueing") >= 0.99, "{found:?}");
    // The seed and the ports put six flows into four queues unevenly, always in the same way.
    let card = &found.measurement("tcp", "card").unwrap().runs[0];
    assert!(card.predicted_max_min_ratio.unwrap() >= 1.5, "{card:?}");
    assert!(fairness("card") < 0.98, "{card:?}");
    assert_eq!(found.measurements.len(), 4);
    assert!(card.queues.iter().all(|queues| queues.len() == 1), "{card:?}");
    let many = &found.measurement("tcp", "more-connections").unwrap().runs[0];
    assert_eq!(many.queues.iter().map(Vec::len).sum::<usize>(), 24);
    let page = fs::read_to_string(place.path("out").join("hash-cast.html")).unwrap();
    assert!(page.ends_with("</html>\n"));
    assert!(is_empty(&place.path("temporary")));
}

#[test]
fn clamped_windows_cure_what_the_queues_of_a_card_do_to_tcp() {
    if !possible() {
        return;
    }
    let place = Place::new();
    let output = run(&place, &[&SMALL[..], &["--tcp-only", "--cures", "--rtt-ms", "50"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = document(&place);
    let of = |scenario| found.measurement("tcp", scenario).unwrap();
    let (card, clamped) = (of("card"), of("clamped-window"));
    // 2.5 MB/s for 50 ms, in six equal parts.
    assert_eq!((card.window_clamp_bytes, clamped.window_clamp_bytes), (None, Some(20_833)));
    assert_eq!(card.runs[0].queues, clamped.runs[0].queues, "the same draw");
    let predicted = card.runs[0].predicted_max_min_ratio.unwrap();
    assert!(predicted >= 1.5 && card.runs[0].groups.len() > 1, "{card:?}");
    // The card takes away much; what is left of that with clamped windows is TCP's own unevenness.
    assert!(1.0 - clamped.fairness() < (1.0 - card.fairness()) / 2.0, "{card:?} {clamped:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("reno, window ≤ 20833"), "{text}");
    for name in ["vegas", "bbr"] {
        let mend = format!("modprobe tcp_{name}");
        let is_measured = found.measurement("tcp", name).is_some();
        assert_eq!(is_measured, has_congestion_control(name));
        assert_eq!(is_measured, !found.notes.iter().any(|note| note.contains(&mend)), "{:?}", found.notes);
    }
}

#[test]
fn clients_of_nfs_are_served_over_the_same_card() {
    if !possible() {
        return;
    }
    let place = Place::new();
    let arguments = [
        "--clients",
        "2",
        "--rate-mbit",
        SLOW_MBIT,
        "--runs",
        "1",
        "--seconds",
        "1",
        "--connections",
        "2",
        "--cures",
    ];
    let output = run(&place, &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = document(&place);
    for scenario in ["card", "clamped-window", "more-connections", "one-queue", "fair-queueing"] {
        let run = &found.measurement("nfs", scenario).unwrap().runs[0];
        assert!(run.client_bytes_per_second.iter().all(|rate| *rate > 0.0), "{scenario}: {run:?}");
        assert!(run.queues.iter().all(|queues| !queues.is_empty()), "{scenario}: {run:?}");
    }
    let draw = |scenario| &found.measurement("nfs", scenario).unwrap().runs[0].queues;
    assert_eq!(draw("card"), draw("clamped-window"), "cures have the same draws");
    assert!(is_empty(&place.path("temporary")), "the server's directory was left");
}

#[test]
fn probabilities_need_no_network_and_no_rights() {
    let place = Place::new();
    let output = run(&place, &["--probability", "--clients", "6"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("6 flows in 8 queues  90 %"), "{text}");
    let found = document(&place);
    assert!(found.measurements.is_empty() && found.setup.is_none());
    assert!((found.probabilities.of(2).unwrap() - 236_376.0 / 262_144.0).abs() < 1e-12);
}

#[test]
fn invalid_options_are_refused_in_one_sentence() {
    let place = Place::new();
    for (arguments, named) in [
        (["--clients", "1"], "--clients"),
        (["--queues", "0"], "--queues"),
        (["--rate-mbit", "0.1"], "--rate-mbit"),
        (["--rtt-ms", "NaN"], "--rtt-ms"),
        (["--connections", "17"], "--connections"),
        (["--window-clamp", "100"], "--window-clamp"),
    ] {
        let output = run(&place, &[&arguments[..], &["--probability"]].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.lines().count() == 1 && stderr.contains(named), "{stderr}");
        assert!(!place.path("out").exists());
    }
}

#[test]
fn a_congestion_control_that_the_kernel_does_not_have_is_named() {
    if !possible() {
        return;
    }
    let place = Place::new();
    let output = run(&place, &["--congestion", "no-such-one"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("no-such-one") && stderr.contains("cubic"), "{stderr}");
    assert!(!place.path("out").exists());
}

#[test]
fn being_stopped_leaves_nothing_and_is_an_invalid_run() {
    if !possible() {
        return;
    }
    for (step, workload) in [("tcp: card", "--tcp-only"), ("nfs: card", "--json")] {
        let place = Place::new();
        let seconds = if workload == "--tcp-only" { "600" } else { "0.5" };
        let mut child = place
            .command(&[
                "bench",
                "hash-cast",
                "--clients",
                "2",
                "--rate-mbit",
                SLOW_MBIT,
                "--runs",
                "1",
                "--seconds",
                seconds,
                "--out",
                "out",
                workload,
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut before = Vec::new();
        while !before.last().is_some_and(|line: &String| line.contains(step)) {
            let Some(line) = lines.next() else { panic!("it ended before {step:?}: {before:#?}") };
            before.push(line.unwrap());
        }
        kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
        let said: Vec<String> = lines.map(Result::unwrap).collect();
        assert_eq!(child.wait().unwrap().code(), Some(2), "{said:#?}");
        assert!(said.last().unwrap().contains("stopped before the end"), "{said:#?}");
        assert!(is_empty(&place.path("temporary")) && !place.path("out").exists(), "{said:#?}");
    }
}
