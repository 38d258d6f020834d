//! `primetime bench failover-gap`: every kind of operation goes on after a restart, and nothing is left
//! behind.

use std::fs;

use bench::failover_gap::{Gaps, Operation};

use crate::support::Place;

#[test]
fn all_operations_go_on_after_the_server_was_killed() {
    let place = Place::new();
    let words = [
        "failover-gap",
        "--serve=--lease=5",
        "--versions",
        "4.1,3",
        "--clients",
        "2",
        "--repeats",
        "1",
        "--out",
        "out",
    ];
    let output = place.bench(&words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let text = fs::read_to_string(place.path("out").join("failover-gap.json")).unwrap();
    let found: Gaps = serde_json::from_str(&text).unwrap();
    assert_eq!(found.gaps.len(), 10, "two versions, five kinds of operation");
    for gap in &found.gaps {
        assert!(gap.went_on && gap.standstill_ms > 0.0 && gap.before_ms > 0.0, "{gap:?}");
        // A crash forgets which requests were carried out: a repeated CREATE or REMOVE may fail.
        assert!(gap.errors == 0 || gap.operation == Operation::Create, "{gap:?}");
    }
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(table.lines().filter(|line| line.starts_with("v4.1") || line.starts_with("v3")).count(), 10);
    assert_eq!(fs::read_dir(place.path("temporary")).unwrap().count(), 0, "the server's directory is gone");
}

#[test]
fn command_that_fails_ends_it_and_leaves_nothing_on_the_server() {
    let place = Place::new();
    let server = place.serve();
    let url = format!("{}?uid=0&gid=0", server.url);
    let run = |restart: &str| {
        let words =
            ["failover-gap", "--server", &url, "--restart", restart, "--versions", "4.1", "--repeats", "1"];
        let output = place.bench(&words);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = run("exit 7");
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("`exit 7` did not restart the server: exit status: 7"), "{said}");
    assert_eq!(run("true").0, Some(0));
    assert_eq!(fs::read_dir(place.path("export")).unwrap().count(), 0);
    let output = place.bench(&["failover-gap", "--server", &url]);
    assert_eq!(output.status.code(), Some(3), "a server of others is restarted by a command");
}
