//! What is left on the server and in temporary directories: nothing.

use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Place, is_empty};

pub(crate) const SCAN: &str = "[default]\nclients = 2\n[default.workload.sequential-read]\nfile_bytes \
                               = \"256 KiB\"\n\
                    io_bytes = \"64 KiB\"\nseconds = 0.2\n";

#[test]
fn own_server_and_directory_are_gone_at_the_end_and_results_written() {
    let place = Place::new();
    place.measure(&place.experiment("scan", "MB/s", SCAN), &[]);
    assert!(is_empty(&place.path("temporary")));
    for name in [
        "results.json",
        "report.html",
        "cells.csv",
        "runs.csv",
        "comparisons.csv",
        "rpcs.csv",
        "timelines.csv",
        "summary.md",
    ] {
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
        let server = place.serve();
        let (mut child, lines) = measuring(&place, "out", &["--server", &server.url]);
        kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(2));
        assert!(lines.last().unwrap().unwrap().contains("stopped before the end"));
        assert!(is_empty(&place.path("export")), "left on the server");
        assert!(!place.path("out").exists(), "an empty directory for results was left");
    }
}

/// Starts a benchmark that takes long and waits until it measures; gives it with what it says from then on.
pub(crate) fn measuring(place: &Place, out: &str, more: &[&str]) -> (Child, Lines<BufReader<ChildStderr>>) {
    let experiment = place.experiment("scan", "MB/s", &SCAN.replace("0.2", "600"));
    let arguments = [&["bench", "--experiment", &experiment, "--rtt-ms", "0", "--out", out], more].concat();
    until_it_measures(place.command(&arguments))
}

/// As [`measuring`], for any command that measures [`SCAN`].
pub(crate) fn until_it_measures(mut command: Command) -> (Child, Lines<BufReader<ChildStderr>>) {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    lines.by_ref().find(|line| line.as_ref().unwrap().contains("scan at 0 ms")).unwrap().unwrap();
    (child, lines)
}

/// Starts a benchmark, waits until it measures, and kills it.
fn killed(place: &Place, more: &[&str]) {
    let (mut child, _lines) = measuring(place, "killed", more);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn next_run_removes_files_of_a_killed_benchmark() {
    let place = Place::new();
    let server = place.serve();
    killed(&place, &["--server", &server.url]);
    assert!(!is_empty(&place.path("export")));
    // Another machine's, and one that nobody has marked: neither is ours to judge.
    let foreign = place.path("export").join("primetime-bench-1-elsewhere");
    let mine = place.path("export").join("primetime-bench-mine");
    // A benchmark that was killed between its last two steps has left this.
    let unmarked = place.path("export").join("primetime-bench-77-0123abcd");
    for directory in [&foreign, &mine, &unmarked] {
        std::fs::create_dir(directory).unwrap();
    }
    let mark = r#"{"host":"another","boot_id":"x","pid_namespace":"y","pid":1,"started_ticks":1}"#;
    std::fs::write(foreign.join("owner.json"), mark).unwrap();

    let experiment = place.experiment("scan", "MB/s", SCAN);
    let once = [
        "--experiment",
        &experiment,
        "--runs",
        "1",
        "--rtt-ms",
        "0",
        "--out",
        "out",
        "--server",
        &server.url,
    ];
    let output = place.bench(&once);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("Removed /primetime-bench-") && said.contains("by a benchmark on another"),
        "{said}"
    );
    assert!(said.contains("/primetime-bench-77-0123abcd bears no mark"), "{said}");
    let left = |place: &Place| std::fs::read_dir(place.path("export")).unwrap().count();
    assert_eq!(left(&place), 3, "the other three stay");

    let output = place.bench(&[&once[..], &["--clean"]].concat());
    assert!(output.status.success());
    assert!(!foreign.exists() && !unmarked.exists() && mine.exists());
}

/// A file system that is mounted on a directory: the directory cannot be removed.
struct Obstacle(PathBuf);

impl Obstacle {
    /// `None`, with the reason on standard error, where nothing can be mounted.
    fn new(at: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&at).status();
        if mounted.is_ok_and(|ended| ended.success()) {
            return Some(Self(at));
        }
        eprintln!("skipped: file systems are mounted by root only");
        None
    }
}

impl Drop for Obstacle {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn mark_of_a_directory_stays_when_its_removal_fails() {
    let place = Place::new();
    let server = place.serve();
    let directory = place.path("export").join("primetime-bench-1-elsewhere");
    std::fs::create_dir(&directory).unwrap();
    let mark = r#"{"host":"another","boot_id":"x","pid_namespace":"y","pid":1,"started_ticks":1}"#;
    std::fs::write(directory.join("owner.json"), mark).unwrap();
    std::fs::write(directory.join("file"), "data").unwrap();
    let Some(obstacle) = Obstacle::new(directory.join("inner/obstacle")) else { return };
    let experiment = place.experiment("scan", "MB/s", SCAN);
    let clean =
        ["--experiment", &experiment, "--runs", "1", "--rtt-ms", "0", "--server", &server.url, "--clean"];
    place.bench(&[&clean[..], &["--out", "first"]].concat());
    assert!(!directory.join("file").exists(), "the removal had begun");
    assert!(directory.join("owner.json").exists(), "otherwise no later clean-up finds the rest");
    drop(obstacle);
    place.bench(&[&clean[..], &["--out", "second"]].concat());
    assert!(!directory.exists());
}

#[test]
fn the_own_server_of_a_killed_benchmark_is_stopped_by_the_next() {
    let place = Place::new();
    killed(&place, &[]);
    let left = std::fs::read_dir(place.path("temporary")).unwrap().next().unwrap().unwrap().path();
    let mark: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(left.join("server.json")).unwrap()).unwrap();
    let server = Pid::from_raw(i32::try_from(mark["pid"].as_i64().unwrap()).unwrap()).unwrap();
    assert!(rustix::process::test_kill_process(server).is_ok(), "a server does not die with its benchmark");
    place.measure(&place.experiment("scan", "MB/s", SCAN), &[]);
    assert!(is_empty(&place.path("temporary")));
    // Somebody must have waited for it before its number is free; whoever adopts orphans does.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !has_ended(server) && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(has_ended(server));
}

/// Whether a process is gone, waits for nothing but to be waited for, or is being ended (PF_EXITING of its
/// flags, the ninth field): whoever serves a mount that it also uses may then wait for itself.
pub(crate) fn has_ended(pid: Pid) -> bool {
    const PF_EXITING: u32 = 4;
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) else {
        return true;
    };
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[0] == "Z" || fields[6].parse::<u32>().unwrap() & PF_EXITING != 0
}
