//! `primetime bench --client kernel`: what Linux asks of the server for the work of the studies, counted by
//! Linux itself.

use std::collections::BTreeMap;

use bench::results::{Cell, Results};
use netlab::guest::{GuestOptions, Lab};

use crate::foreign::knfsd::{Knfsd, KnfsdOptions};
use crate::guests::{TIME_LIMIT, entries};
use crate::server::{PORT, Server};

/// Directories are believed to the end: however long that takes, they are not asked for again.
const MOUNT_OPTIONS: &str = "nolock,acdirmin=3600,acdirmax=3600";
/// As in the studies.
const ROUNDS: u64 = 10;

const EACH_TIME: &str = "locked-each-time";
const ONCE: &str = "locked-once";

/// Files that are locked and read ten times each, opened for each time or once.
fn experiment(name: &str, files: u64, reopen: bool) -> (String, Vec<u8>) {
    let text = format!(
        "name = \"{name}\"\nquestion = \"How many?\"\nstudy = \"none\"\n[metric]\nname \
         = \"throughput\"\nunit = \"op/s\"\n\
         better = \"higher\"\n[default]\nclients = 1\n[default.workload.locked-read]\nfiles = \
         {files}\nrounds = {ROUNDS}\n\
         file_bytes = 4096\nthreads = 1\nreopen = {reopen}\n"
    );
    (format!("{name}.toml"), text.into_bytes())
}

fn measured(lab: &Lab, url: &str, files: u64, versions: &str) -> Results {
    // The guest does not see every place of its host.
    std::fs::copy(env!("CARGO_BIN_EXE_primetime"), lab.shared().join("primetime")).unwrap();
    let env = [
        ("URL", url.to_owned()),
        ("VERSIONS", versions.to_owned()),
        ("EXTRA_OPTIONS", MOUNT_OPTIONS.to_owned()),
    ];
    let options = GuestOptions {
        name: "benchmark".into(),
        script: include_str!("benchmark.sh").into(),
        files: vec![experiment(EACH_TIME, files, true), experiment(ONCE, files, false)],
        env: env.map(|(key, value)| (key.to_owned(), value)).into(),
        time_limit: TIME_LIMIT,
        memory_mb: 512,
        ..GuestOptions::default()
    };
    let result = lab.boot(&options).unwrap().wait().unwrap();
    assert_eq!(result.exit_code, Some(0), "{}\n{}", result.output, result.console);
    serde_json::from_str(&result.read("results.json").unwrap()).unwrap()
}

/// The cell of an experiment and a version.
fn cell<'a>(results: &'a Results, experiment: &str, version: &str) -> &'a Cell {
    let wanted = |cell: &&Cell| cell.setting.experiment == experiment && cell.setting.version == version;
    let found = results.cells.iter().find(wanted).unwrap();
    assert_eq!(found.setting.client, "kernel");
    found
}

/// The requests for each file of a version, all of them and by name: exactly so many.
fn costs(cell: &Cell, files: u64, each: u64, names: &[(&str, u64)]) {
    let expected: BTreeMap<String, u64> =
        names.iter().map(|(name, count)| ((*name).to_owned(), count * files)).collect();
    assert_eq!(cell.rpcs, expected, "{} {}", cell.setting.experiment, cell.setting.version);
    assert_eq!((cell.rpcs_total, cell.operations), (each * files, ROUNDS * files));
}

/// Of files that nobody delegates: 40,000 requests beside those of NLM and 70,000 for 1000 files that are
/// opened each time, 22,000 and 52,000 for files that are opened once.
fn as_published_without_delegations(results: &Results, files: u64) {
    let names = [("ACCESS", 10), ("GETATTR", 19), ("LOOKUP", 1), ("READ", 10)];
    costs(cell(results, EACH_TIME, "3"), files, 40, &names);
    let names = [("ACCESS", 1), ("GETATTR", 10), ("LOOKUP", 1), ("READ", 10)];
    costs(cell(results, ONCE, "3"), files, 22, &names);
    let locks = [("FREE_STATEID", 10), ("GETATTR", 10), ("LOCK", 10), ("LOCKU", 10), ("READ", 10)];
    let opens = [("CLOSE", 10), ("OPEN", 1), ("OPEN_NOATTR", 9)];
    costs(cell(results, EACH_TIME, "4.1"), files, 70, &[&locks[..], &opens].concat());
    let opens = [("CLOSE", 1), ("OPEN", 1)];
    costs(cell(results, ONCE, "4.1"), files, 52, &[&locks[..], &opens].concat());
}

/// Of files that are delegated: 3,000 requests for 1000 files.
fn as_published_with_delegations(results: &Results, files: u64) {
    for experiment in [EACH_TIME, ONCE] {
        let names = [("CLOSE", 1), ("OPEN", 1), ("READ", 1)];
        costs(cell(results, experiment, "4.1"), files, 3, &names);
    }
}

/// The published column of Linux 6.1, at this server.
fn as_published_here(files: u64) {
    let Some(lab) = Lab::for_test() else { return };
    let url = format!("nfs://{}:{PORT}/", lab.host_address());
    {
        let server = Server::with_options(&lab, &["--async", "--no-delegations"]);
        as_published_without_delegations(&measured(&lab, &url, files, "3,4.1"), files);
        assert_eq!(entries(server.directory()), 0, "nothing is left behind");
    }
    let server = Server::start(&lab);
    as_published_with_delegations(&measured(&lab, &url, files, "4.1"), files);
    assert_eq!(entries(server.directory()), 0, "nothing is left behind");
}

/// The same column, at the server that it was taken from: it delegates, or not, what was not delegated
/// before.
fn as_published_at_the_kernels_server(files: u64, delegations: bool) {
    let Some(lab) = Lab::for_test() else { return };
    // For as long as that Linux gives nothing back that it does not use.
    let how = KnfsdOptions { lease_seconds: 90, delegations, ..KnfsdOptions::default() };
    let server = Knfsd::start(&lab, TIME_LIMIT, &how);
    let place = server.place();
    let url = format!("nfs://{}:{}/?mountport={}", place.host, place.port, place.mount_port);
    match delegations {
        true => as_published_with_delegations(&measured(&lab, &url, files, "4.1"), files),
        false => as_published_without_delegations(&measured(&lab, &url, files, "3,4.1"), files),
    }
    server.stop();
}

#[test]
fn linux_asks_for_locked_reads_what_the_studies_counted() {
    as_published_here(50);
}

#[test]
fn linux_asks_its_own_server_for_locked_reads_what_the_studies_counted() {
    as_published_at_the_kernels_server(50, false);
    as_published_at_the_kernels_server(50, true);
}

#[test]
#[ignore = "minutes: the size of the studies, with the same counts for each file"]
fn linux_asks_for_locked_reads_what_the_studies_counted_at_their_size() {
    as_published_here(1000);
    as_published_at_the_kernels_server(1000, false);
    as_published_at_the_kernels_server(1000, true);
}
