//! `--client-namespaces auto`: one network namespace for each client, made and removed by the benchmark.

use std::fs;
use std::process::Command;

use bench::results::Results;
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::clients::can_mount;
use crate::leftovers::{SCAN, measuring};
use crate::support::{Place, cell, is_empty, requests};

const LOCKED: &str = "[default]\nclients = 3\n[default.workload.locked-read]\nfiles = 5\nrounds = 2\n\
                      file_bytes = 4096\nthreads = 1\nreopen = false\n";
const IN_NAMESPACES: [&str; 4] = ["--client", "fuse", "--client-namespaces", "auto"];

/// Whether a test can run here; says why not otherwise.
fn is_possible() -> bool {
    let has_ip = Command::new("ip").arg("-V").output().is_ok();
    if !geteuid().is_root() || !has_ip {
        eprintln!("skipped: network namespaces need root and ip(8)");
    }
    geteuid().is_root() && has_ip && can_mount()
}

/// The namespaces and links of the process `pid`.
fn made_by(pid: u32) -> Vec<String> {
    let entries =
        fs::read_dir("/run/netns").into_iter().flatten().chain(fs::read_dir("/sys/class/net").unwrap());
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let prefixes = [format!("primetime-{pid}-"), format!("pt{pid}-")];
    names.filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix))).collect()
}

#[test]
fn each_client_works_in_a_namespace_with_and_without_delay() {
    if !is_possible() {
        return;
    }
    let place = Place::new();
    let experiment = place.experiment("locked", "op/s", LOCKED);
    let more = ["--experiment", &experiment, "--rtt-ms", "0,10", "--runs", "1", "--out", "out"];
    let arguments = [&["bench"], &more[..], &IN_NAMESPACES[..]].concat();
    let child = place.command(&arguments).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results = Results::load(&place.path("out").join("results.json")).unwrap();
    let found: Vec<(f64, &str)> =
        results.cells.iter().map(|cell| (cell.setting.rtt_ms, cell.setting.version.as_str())).collect();
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(results.cells.iter().all(|cell| cell.operations == 3 * 5 * 2));
    // Three clients with five files of their own, each opened and read once where it is delegated.
    assert_eq!(requests(cell(&results, "4.1", true), &["READ"]), 15);
    assert_eq!(made_by(pid), [""; 0]);
    assert!(is_empty(&place.path("temporary")));
}

#[test]
fn stopped_and_killed_benchmarks_leave_no_namespace() {
    if !is_possible() {
        return;
    }
    for signal in [Signal::INT, Signal::KILL] {
        let place = Place::new();
        let (mut child, lines) = measuring(&place, "out", &IN_NAMESPACES);
        let pid = child.id();
        // Two clients, a bridge and the ends of two pairs.
        assert_eq!(made_by(pid).len(), 5, "{:?}", made_by(pid));
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
        child.wait().unwrap();
        drop(lines);
        if signal == Signal::KILL {
            let experiment = place.experiment("short", "MB/s", SCAN);
            let more = ["--experiment", &experiment, "--rtt-ms", "0", "--runs", "1", "--out", "next"];
            let output = place.bench(&[&more[..], &IN_NAMESPACES[..]].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(made_by(pid), [""; 0]);
    }
}

#[test]
fn server_out_of_reach_of_namespaces_is_one_sentence() {
    if !is_possible() {
        return;
    }
    let place = Place::new();
    let server = place.serve();
    let experiment = place.experiment("short", "MB/s", SCAN);
    let more = ["--experiment", &experiment, "--server", &server.url, "--rtt-ms", "0", "--out", "out"];
    let output = place.bench(&[&more[..], &IN_NAMESPACES[..]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(3), 1), "{said}");
    assert!(said.contains("do not reach 127.0.0.1") && said.contains("other than loopback"), "{said}");
    assert!(is_empty(&place.path("export")) && !place.path("out").exists());
}
