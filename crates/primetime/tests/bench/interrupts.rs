//! Ends before the end: Ctrl-C in each phase, and servers that are half dead.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::leftovers::{SCAN, measuring};
use crate::support::{Place, is_empty};

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed()).unwrap()
}

/// Starts a benchmark of its own server, as a process group, and sends Ctrl-C to the whole group as soon as
/// it says `phase`. Gives what it said last.
fn interrupted(place: &Place, sizes: &str, phase: &str) -> String {
    let experiment = place.experiment("scan", "MB/s", sizes);
    let mut command =
        place.command(&["bench", "--experiment", &experiment, "--rtt-ms", "0,1", "--out", "out"]);
    let mut child = command.process_group(0).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    lines.by_ref().find(|line| line.as_ref().unwrap().contains(phase)).unwrap().unwrap();
    kill_process_group(pid(&child), Signal::INT).unwrap();
    let said = lines.last().unwrap().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{said}");
    said
}

#[test]
fn ctrl_c_of_a_terminal_ends_every_phase_and_leaves_nothing() {
    let large = SCAN.replace("256 KiB", "1 GiB");
    let long = SCAN.replace("0.2", "600");
    for (sizes, phase) in [(&large, "preparing"), (&long, "scan at 0 ms")] {
        let place = Place::new();
        let said = interrupted(&place, sizes, phase);
        assert!(said.contains("stopped before the end"), "{said} while {phase}");
        assert!(is_empty(&place.path("temporary")), "left while {phase}");
    }
}

#[test]
fn ctrl_c_ends_a_benchmark_whose_server_stands_still() {
    let place = Place::new();
    let server = place.serve();
    let (mut child, lines) = measuring(&place, "out", &["--server", &server.url]);
    kill_process(server.pid(), Signal::STOP).unwrap();
    kill_process(pid(&child), Signal::INT).unwrap();
    let said: Vec<String> = lines.map(Result::unwrap).collect();
    kill_process(server.pid(), Signal::CONT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{said:?}");
    // The error names the directory that could not be removed.
    assert!(said.iter().any(|line| line.contains("has not answered for 5 s; remove it by hand")), "{said:?}");
    assert!(said.last().unwrap().contains("stopped before the end"), "{said:?}");
    assert!(!is_empty(&place.path("export")));
}

#[test]
fn server_that_takes_connections_and_does_not_answer_is_told_and_given_up() {
    for closes in [true, false] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepted = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&accepted);
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                if !closes {
                    kept.push(stream);
                }
            }
        });
        let place = Place::new();
        let url = format!("nfs://127.0.0.1:{port}/export");
        let output = place.bench(&["--quick", "--server", &url, "--out", "out"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(&format!("Waiting for {url} to answer")), "{said}");
        assert!(said.contains("has not answered for 16 s"), "{said}");
        assert!(accepted.load(Ordering::SeqCst) < 40, "{accepted:?} connections");
    }
}
