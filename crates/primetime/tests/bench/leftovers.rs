//! What is left on the server and in temporary directories: nothing.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Place, is_empty};

const SCAN: &str = "[default]\nclients = 2\n[default.workload.sequential-read]\nfile_bytes = \"256 KiB\"\n\
                    io_bytes = \"64 KiB\"\nseconds = 0.2\n";

#[test]
fn its_own_server_and_directory_are_gone_at_the_end_and_everything_is_written() {
    let place = Place::new();
    place.measure(&place.experiment("scan", "MB/s", SCAN), &[]);
    assert!(is_empty(&place.path("temporary")));
    for name in ["results.json", "report.html", "cells.csv", "runs.csv", "comparisons.csv", "rpcs.csv"] {
        assert!(place.path("out").join(name).is_file(), "{name}");
    }
    std::fs::remove_file(place.path("out").join("report.html")).unwrap();
    let output = place.bench(&["report", "out"]);
    assert!(output.status.success());
    assert!(place.path("out").join("report.html").is_file());
    assert!(String::from_utf8_lossy(&output.stdout).contains("scan"));
}

#[test]
fn a_named_server_keeps_what_was_there_and_nothing_else() {
    let place = Place::new();
    std::fs::write(place.path("export").join("mine"), "mine").unwrap();
    let server = place.serve();
    let results = place.measure(&place.experiment("scan", "MB/s", SCAN), &["--server", &server.url]);
    assert!(results.cells.iter().all(|cell| cell.setting.server.starts_with("nfs://")));
    let left: Vec<_> =
        std::fs::read_dir(place.path("export")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["mine"]);
    assert_eq!(std::fs::read_to_string(place.path("export").join("mine")).unwrap(), "mine");
}

#[test]
fn being_stopped_leaves_nothing_and_is_an_invalid_run() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = Place::new();
        let experiment = place.experiment("scan", "MB/s", &SCAN.replace("0.2", "600"));
        let server = place.serve();
        let mut child = place
            .command(&[
                "bench",
                "--experiment",
                &experiment,
                "--rtt-ms",
                "0",
                "--out",
                "out",
                "--server",
                &server.url,
            ])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        lines.by_ref().find(|line| line.as_ref().unwrap().contains("scan at 0 ms")).unwrap().unwrap();
        kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(2));
        assert!(lines.last().unwrap().unwrap().contains("stopped before the end"));
        assert!(is_empty(&place.path("export")), "left on the server");
        assert!(!place.path("out").exists(), "an empty directory for results was left");
    }
}
