//! The benchmark itself: what it needs for each of thousands of threads is little.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use bench::results::Results;

use crate::server::Server;

const CLIENTS: u32 = 5;
const THREADS: u32 = 512;
const BYTES_MAX: u64 = 1 << 30;

/// Each thread reads 4 KiB at random places of its client's file, over connections of their own.
const EXPERIMENT: &str = r#"name = "threads"
question = "How much memory do thousands of threads take?"
study = "none"
[metric]
name = "throughput"
unit = "op/s"
better = "higher"
[default]
clients = 5
[default.workload.random-read]
file_bytes = "8 MiB"
io_bytes = "4 KiB"
threads = 512
seconds = 0.5
"#;

#[test]
fn two_thousand_five_hundred_and_sixty_threads_take_less_than_a_gibibyte() {
    let server = Server::start();
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("threads.toml"), EXPERIMENT).unwrap();
    let url = format!("nfs://{}/", server.address());
    let process = Command::new(env!("CARGO_BIN_EXE_primetime"))
        .args(["bench", "--server", &url, "--experiment", "threads.toml"])
        .args(["--runs", "1", "--rtt-ms", "0", "--out", "out"])
        .current_dir(place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let most = most_resident_bytes(process);
    assert!(most < BYTES_MAX, "{most} bytes, of a run with {} threads", CLIENTS * THREADS);
    let results = Results::load(&place.path().join("out").join("results.json")).unwrap();
    assert_eq!(results.cells.len(), 2, "a cell for each version");
    for cell in &results.cells {
        assert_eq!((cell.setting.clients, cell.setting.threads), (CLIENTS, THREADS));
        assert!(cell.operations > 0);
    }
}

/// The most that the process has ever had, when it has ended well.
fn most_resident_bytes(mut process: Child) -> u64 {
    let mut most = 0;
    loop {
        // Not there any more once it has ended.
        let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap_or_default();
        if let Some(line) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
            most = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024;
        }
        if let Some(status) = process.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            assert!(most > 0, "it was looked at");
            return most;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
