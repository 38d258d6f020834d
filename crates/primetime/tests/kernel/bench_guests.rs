//! `primetime bench --guests N`: kernels of guests as clients, from one option.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use bench::results::Results;
use netlab::guest::Lab;

const EXPERIMENT: &str = "name = \"locked-few\"\nquestion = \"How many?\"\nstudy = \"none\"\n[metric]\n\
                          name = \"throughput\"\nunit = \"op/s\"\nbetter = \"higher\"\n[default]\nclients = \
                          2\n\
                          [default.workload.locked-read]\nfiles = 20\nrounds = 10\nfile_bytes = \
                          4096\nthreads = 1\n\
                          reopen = true\n";

/// Runs `primetime bench` with the experiment and these further options in `folder`.
fn bench(folder: &Path, options: &[&str]) -> Output {
    fs::write(folder.join("locked-few.toml"), EXPERIMENT).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
    command.args(["bench", "--experiment", "./locked-few.toml", "--runs", "1", "--out", "out"]);
    command.args(options).current_dir(folder).output().unwrap()
}

fn results_of(folder: &Path, options: &[&str]) -> Results {
    let output = bench(folder, options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Results::load(&folder.join("out/results.json")).unwrap()
}

#[test]
fn two_guests_are_two_kernels_with_counts_of_their_own() {
    // Says why where there can be no guests.
    if Lab::for_test().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let results = results_of(folder.path(), &["--guests", "2"]);
    let doubts = &results.environment.doubts;
    assert!(doubts.iter().any(|doubt| doubt.contains("user-mode guests")));
    assert_eq!(results.environment.hosts.len(), 2);
    let of = |version: &str| results.cells.iter().find(|cell| cell.setting.version == version).unwrap();
    // Two clients, 20 files each, ten rounds: OPEN, READ and CLOSE once for each file that is delegated.
    let cell = of("4.1");
    assert_eq!((cell.setting.client.as_str(), cell.operations), ("kernel", 400));
    let run = &cell.run_details[0];
    assert_eq!([run.rpcs["OPEN"], run.rpcs["CLOSE"], run.rpcs["READ"]], [40, 40, 40], "{:?}", run.rpcs);
    assert!(!run.rpcs.contains_key("UNLOCK"), "NFSv4 has LOCKU: {:?}", run.rpcs);
    assert_eq!(run.client_hosts.len(), 2);
    assert_ne!(run.client_hosts[0], run.client_hosts[1]);
    let run = &of("3").run_details[0];
    // Each operation locks and unlocks once, without waiting: each client has its own files. A lock over v3
    // drops what is cached.
    assert_eq!([run.rpcs["LOCK"], run.rpcs["UNLOCK"], run.rpcs["READ"]], [400; 3], "{:?}", run.rpcs);
    assert!(!run.doubts.iter().chain(doubts).any(|doubt| doubt.contains("NLM") || doubt.contains("over v3")));
    let refused = bench(folder.path(), &["--guests", "2", "--rtt-ms", "1"]);
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stderr));
}

#[test]
fn guests_with_nolock_send_no_nlm_request_and_are_doubted() {
    if Lab::for_test().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let options = ["--guests", "2", "--versions", "3", "--mount-options", "nolock"];
    let results = results_of(folder.path(), &options);
    let run = &results.cells[0].run_details[0];
    assert!(!run.rpcs.contains_key("LOCK") && !run.rpcs.contains_key("UNLOCK"), "{:?}", run.rpcs);
    assert!(results.environment.doubts.iter().any(|doubt| doubt.contains("(nolock)")));
}
