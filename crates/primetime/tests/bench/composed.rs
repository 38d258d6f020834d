//! Workloads put together from single operations: what they count, and what each version sends for them.

use crate::support::{Place, cell, phase, requests};

/// One client, one thread, ten passes of the File Server's loop over files of 1 KiB.
const FILE_SERVER: &str = r#"[default]
clients = 1
[default.workload.composed]
sets.files = { entries = 20, size = "1 KiB", width = 5, preallocated = 0.8 }
[[default.workload.composed.phases]]
name = "serve"
passes = 10
loop = [
    "create files",
    "write-whole",
    "close",
    "open files rw",
    "append-random 2 KiB",
    "close",
    "open files rw",
    "read-whole",
    "close",
    "delete files",
    "stat files",
]
"#;

#[test]
fn the_file_server_sends_its_mix() {
    let place = Place::new();
    let results = place.measure(&place.experiment("file-server", "op/s", FILE_SERVER), &[]);
    for cell in &results.cells {
        assert_eq!(cell.operations, 110, "{}", cell.version_name());
        assert_eq!(cell.setting.threads, 1);
        assert!(cell.setting.levels.is_empty(), "one phase needs no name");
        assert!(cell.application_read_bytes >= 10 * 1024, "{}", cell.application_read_bytes);
        assert_eq!(requests(cell, &["REMOVE"]), 10, "{:?}", cell.rpcs);
        assert_eq!(
            requests(cell, &["WRITE"]),
            20,
            "a new file and an append are one WRITE each: {:?}",
            cell.rpcs
        );
        assert!(cell.latency_ms.unwrap().max > 0.0);
    }
    assert_eq!(requests(cell(&results, "3", false), &["CREATE"]), 10);
    let without = cell(&results, "4.1", false);
    assert_eq!(requests(without, &["OPEN"]), 30, "{:?}", without.rpcs);
    assert_eq!(without.compound_operations["CLOSE"], 30, "{:?}", without.compound_operations);
    assert_eq!(without.compound_operations["OPEN"], 30);
}

/// Every operation of the vocabulary once, in an order in which all of them make sense.
const EVERYTHING: &str = r#"[default]
clients = 2
[default.workload.composed]
threads = 2
sets.files = { entries = 12, size = "uniform 1 KiB to 9 KiB", width = 3, preallocated = 0.5, pick = "random" }
sets.big = { entries = 1, size = "64 KiB", shared = true }
[[default.workload.composed.phases]]
name = "change"
passes = 6
loop = [
    "create files sync",
    "write-whole",
    "append 100",
    "fsync",
    "lock write",
    "read-at same 100",
    "unlock",
    "close",
    "stat files",
    "list files",
    "mkdir files",
    "rename files",
    "think 0.1 ms",
    "delete files",
]
[[default.workload.composed.phases]]
name = "prepare"
measured = false
clients = "first"
threads = 1
passes = 1
loop = ["open big read", "read-whole", "close"]
[[default.workload.composed.phases]]
name = "scan"
clients = "others"
unit = "MB/s"
passes = 16
cold = true
first = ["open big rw"]
loop = ["read-at sequential 4 KiB", "write-at same 4 KiB", "2 * read-at random 1 KiB"]
last = ["fsync"]
counts = ["read-at"]
"#;

#[test]
fn every_operation_is_carried_out_and_each_phase_is_a_result() {
    let place = Place::new();
    let server = place.serve();
    let experiment = place.experiment("everything", "op/s", EVERYTHING);
    let results = place.measure(&experiment, &["--server", &server.url]);
    assert_eq!(results.cells.len(), 2 * 3, "two phases, three arms");
    for (version, delegations) in [("3", false), ("4.1", false), ("4.1", true)] {
        let change = phase(&results, "change", version, delegations);
        // Two clients, six passes each, thirteen operations; thinking is none.
        assert_eq!(change.operations, 2 * 6 * 13, "{version}");
        assert_eq!(change.run_details[0].client_values.len(), 2);
        let scan = phase(&results, "scan", version, delegations);
        assert_eq!(scan.operations, 16 * 3, "only the second client, and only what counts: {version}");
        assert_eq!(scan.application_bytes, 16 * (4096 + 2 * 1024));
        assert_eq!(scan.setting.metric.unit, "MB/s");
        assert_eq!(scan.run_details[0].client_values.len(), 1);
    }
    assert_eq!(std::fs::read_dir(place.path("export")).unwrap().count(), 0, "everything was removed");
}

#[test]
fn levels_are_cells_of_their_own() {
    let place = Place::new();
    let sizes = "[default]\nclients = 1\n[default.workload.create]\nthreads = 1\nfile_bytes = 0\nfiles = 8\n\
                 [default.factors]\nthreads = [1, 4]\nfile_bytes = [\"0 B\", \"4 KiB\"]\n";
    let results = place.measure(&place.experiment("sweep", "op/s", sizes), &[]);
    assert_eq!(results.cells.len(), 4 * 3);
    assert_eq!(results.comparisons.len(), 4 * 2);
    for cell in &results.cells {
        let levels = &cell.setting.levels;
        assert_eq!(levels["threads"], cell.setting.threads.to_string());
        let bytes = if levels["file_bytes"] == "0 B" { 0 } else { 8 * 4096 };
        assert_eq!((cell.operations, cell.application_bytes), (8, bytes), "{levels:?}");
    }
    for comparison in &results.comparisons {
        let (baseline, candidate) = results.cells_of(comparison).unwrap();
        assert_eq!(baseline.setting.levels, candidate.setting.levels);
    }
}

#[test]
fn clients_can_start_one_after_another() {
    let place = Place::new();
    let sizes = "[default]\nclients = 3\nstagger_seconds = 0.2\n[default.workload.sequential-read]\n\
                 file_bytes = \"1 MiB\"\nio_bytes = \"64 KiB\"\nseconds = 0.3\n";
    let results = place.measure(&place.experiment("staggered", "MB/s", sizes), &[]);
    for cell in &results.cells {
        assert!(cell.seconds < 0.6, "the window begins with the last client: {}", cell.seconds);
        assert!(cell.start_skew_ms < 200.0, "what was meant is no skew: {}", cell.start_skew_ms);
        assert_eq!(cell.run_details[0].client_values.len(), 3);
    }
}
