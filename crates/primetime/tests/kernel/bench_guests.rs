//! `primetime bench --guests N`: kernels of guests as clients, from one option.

use std::fs;
use std::process::Command;

use bench::results::Results;
use netlab::guest::Lab;

const EXPERIMENT: &str = "name = \"locked-few\"\nquestion = \"How many?\"\nstudy = \"none\"\n[metric]\n\
                          name = \"throughput\"\nunit = \"op/s\"\nbetter = \"higher\"\n[default]\nclients = \
                          2\n\
                          [default.workload.locked-read]\nfiles = 20\nrounds = 10\nfile_bytes = \
                          4096\nthreads = 1\n\
                          reopen = true\n";

#[test]
fn two_guests_are_two_kernels_with_counts_of_their_own() {
    // Says why where there can be no guests.
    if Lab::for_test().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("locked-few.toml"), EXPERIMENT).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_primetime"));
    command.args([
        "bench",
        "--guests",
        "2",
        "--experiment",
        "./locked-few.toml",
        "--runs",
        "1",
        "--out",
        "out",
    ]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let results = Results::load(&folder.path().join("out/results.json")).unwrap();
    assert!(results.environment.doubts.iter().any(|doubt| doubt.contains("user-mode guests")));
    assert_eq!(results.environment.hosts.len(), 2);
    let of = |version: &str| results.cells.iter().find(|cell| cell.setting.version == version).unwrap();
    // Two clients, 20 files each, ten rounds: OPEN, READ and CLOSE once for each file that is delegated.
    let cell = of("4.1");
    assert_eq!((cell.setting.client.as_str(), cell.operations), ("kernel", 400));
    let run = &cell.run_details[0];
    assert_eq!([run.rpcs["OPEN"], run.rpcs["CLOSE"], run.rpcs["READ"]], [40, 40, 40], "{:?}", run.rpcs);
    assert_eq!(run.client_hosts.len(), 2);
    assert_ne!(run.client_hosts[0], run.client_hosts[1]);
    assert_eq!(of("3").run_details[0].rpcs["READ"], 400, "a lock over v3 drops what is cached");
    let refused = Command::new(env!("CARGO_BIN_EXE_primetime"))
        .args(["bench", "--guests", "2", "--rtt-ms", "1", "--out", "none"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stderr));
}
