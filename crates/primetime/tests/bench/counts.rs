//! What each version sends for the same work, exactly.

use crate::support::{Place, cell, requests};

const LOCKED: &str = "[default]\nclients = 1\n[default.workload.locked-read]\nfiles = 50\nrounds = 10\n\
                      file_bytes = 4096\nthreads = 1\n";

#[test]
fn locked_reads_send_no_more_requests_than_the_studies_set_as_aim() {
    let place = Place::new();
    let experiment = place.experiment("locked", "op/s", &format!("{LOCKED}reopen = true\n"));
    let results = place.measure(&experiment, &[]);
    for cell in &results.cells {
        assert_eq!(cell.operations, 500, "{}", cell.version_name());
        assert_eq!(cell.application_bytes, 500 * 4096);
    }
    let v3 = cell(&results, "3", false);
    let locks = requests(v3, &["LOCK", "UNLOCK"]);
    assert_eq!(locks, 1000, "every round locks and unlocks: {:?}", v3.rpcs);
    assert!(v3.rpcs_total - locks <= 2000, "{:?}", v3.rpcs);
    let without = cell(&results, "4.1", false);
    assert!(without.rpcs_total <= 2600, "{:?}", without.rpcs);
    assert!(requests(without, &["OPEN"]) >= 500, "without delegations each open asks: {:?}", without.rpcs);
    let with = cell(&results, "4.1", true);
    assert!(with.rpcs_total <= 150, "{:?}", with.rpcs);
}

#[test]
fn locked_reads_with_one_open_send_no_opens_beyond_the_first() {
    let place = Place::new();
    let experiment = place.experiment("locked-once", "op/s", &format!("{LOCKED}reopen = false\n"));
    let results = place.measure(&experiment, &[]);
    let without = cell(&results, "4.1", false);
    assert_eq!(requests(without, &["OPEN"]), 50, "{:?}", without.rpcs);
    assert_eq!(requests(without, &["LOCK"]), 500, "{:?}", without.rpcs);
    assert!(cell(&results, "4.1", true).rpcs_total <= 150);
}

#[test]
fn warm_small_files_need_no_request_with_a_delegation() {
    let place = Place::new();
    let sizes = "[default]\nclients = 2\n[default.workload.small-file-read]\nfiles = 20\nfile_bytes = 4096\n\
                 threads = 4\nwarm = true\nseconds = 0.2\n";
    let experiment = place.experiment("small", "op/s", sizes);
    let results = place.measure(&experiment, &[]);
    let with = cell(&results, "4.1", true);
    assert!(with.operations > 0);
    assert_eq!(
        requests(with, &["OPEN", "READ", "CLOSE", "GETATTR", "ACCESS", "LOOKUP"]),
        0,
        "{:?}",
        with.rpcs
    );
    for (version, name) in [("3", "v3"), ("4.1", "v4.1 without delegations")] {
        let cell = cell(&results, version, false);
        assert!(cell.rpcs_total >= cell.operations, "{name} must ask at each open: {:?}", cell.rpcs);
        assert_eq!(requests(cell, &["READ"]), 0, "what has not changed is not read again: {:?}", cell.rpcs);
    }
}

#[test]
fn created_files_take_one_create_in_v3_and_one_open_in_v4() {
    let place = Place::new();
    let sizes =
        "[default]\nclients = 2\n[default.workload.create]\nthreads = 3\nfile_bytes = 0\nfiles = 30\n";
    let experiment = place.experiment("create", "op/s", sizes);
    let results = place.measure(&experiment, &[]);
    for cell in &results.cells {
        assert_eq!(cell.operations, 60, "{}", cell.version_name());
    }
    assert_eq!(requests(cell(&results, "3", false), &["CREATE"]), 60);
    assert_eq!(requests(cell(&results, "4.1", true), &["OPEN"]), 60);
    assert_eq!(requests(cell(&results, "4.1", true), &["CLOSE"]), 0, "it goes with the OPEN");
}

#[test]
fn cold_scans_fetch_every_byte_over_the_network() {
    let place = Place::new();
    let sizes = "[default]\nclients = 2\n[default.workload.sequential-read]\nfile_bytes = \"1 MiB\"\n\
                 io_bytes = \"64 KiB\"\nseconds = 0.3\n";
    let experiment = place.experiment("scan", "MB/s", sizes);
    let results = place.measure(&experiment, &[]);
    for cell in &results.cells {
        assert!(cell.application_bytes > 2 << 20, "the file was scanned only once");
        assert!(
            cell.wire_bytes.received >= cell.application_bytes,
            "{} read {} bytes and fetched {}",
            cell.version_name(),
            cell.application_bytes,
            cell.wire_bytes.received
        );
    }
}

#[test]
fn synchronous_writes_cross_the_network_each() {
    let place = Place::new();
    for kind in ["sequential-write", "random-write"] {
        let threads = if kind == "random-write" { "threads = 2\n" } else { "" };
        let sizes = format!(
            "[default]\nclients = 2\n[default.workload.{kind}]\nfile_bytes = \"256 KiB\"\nio_bytes = \"16 \
             KiB\"\n\
             {threads}sync = true\nseconds = 0.2\n"
        );
        let results = place.measure(&place.experiment(kind, "MB/s", &sizes), &[]);
        for cell in &results.cells {
            assert_eq!(requests(cell, &["WRITE"]), cell.operations, "{kind} {}", cell.version_name());
            assert_eq!(requests(cell, &["COMMIT"]), 0, "a write that is stable needs no COMMIT");
        }
    }
}
