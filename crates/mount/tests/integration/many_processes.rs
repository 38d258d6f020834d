//! Many processes that create, append to, rename and remove small files in one directory, as generic
//! file-system suites do.
//!
//! `PRIMETIME_PROCESSES=32 PRIMETIME_ROUNDS=500 cargo test -p primetime-mount --test integration
//! many_processes -- --nocapture` prints how long a larger load takes, and which requests it sends.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use client::Version;

use crate::fixture::{Fixture, in_both_versions};

in_both_versions! {
    many_processes_end_and_leave_what_they_appended
}

const PROCESSES: usize = 8;
const ROUNDS: usize = 20;
/// How long a round of all processes may take, at most: it is some twenty calls for each.
const ROUND_MAX: Duration = Duration::from_secs(20);

/// `$1` is the process, `$2` the number of rounds. All files but `log` are of one process.
const LOAD: &str = r#"
set -e
for round in $(seq "$2"); do
    : > "new.$1"
    echo "$round" >> "new.$1"
    echo "$1 $round" >> log
    mv "new.$1" "old.$1"
    mkdir "directory.$1"
    ln "old.$1" "directory.$1/link"
    test "$(cat "directory.$1/link")" = "$round"
    rm -r "directory.$1" "old.$1"
done
"#;

fn many_processes_end_and_leave_what_they_appended(version: Version) {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (processes, rounds) = (number("PRIMETIME_PROCESSES", PROCESSES), number("PRIMETIME_ROUNDS", ROUNDS));
    let fixture = Fixture::new();
    let mounted = fixture.mount(version);
    let before = mounted.client.tap().snapshot();
    let begun = Instant::now();
    let mut running: Vec<Child> = (0..processes)
        .map(|process| {
            let mut shell = Command::new("sh");
            shell.args(["-c", LOAD, "load", &process.to_string(), &rounds.to_string()]);
            shell.current_dir(mounted.root()).spawn().unwrap()
        })
        .collect();
    let end = begun + Duration::from_secs(60) + ROUND_MAX * rounds as u32;
    while !running.is_empty() {
        running.retain_mut(|shell| match shell.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success());
                false
            }
            None => true,
        });
        if Instant::now() > end {
            mounted.abort();
            panic!("{} processes stand still", running.len());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let elapsed = begun.elapsed();
    let requests = mounted.client.tap().snapshot().since(&before);
    eprintln!("{processes} processes of {rounds} rounds over {version}: {elapsed:.1?}");
    for (name, stats) in &requests.requests {
        eprintln!("  {name}: {:.2} for each round", stats.requests as f64 / (processes * rounds) as f64);
    }
    let log = fs::read_to_string(fixture.export().join("log")).unwrap();
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), processes * rounds, "each line is there, and once");
    assert_eq!(log.lines().count(), processes * rounds);
    assert_eq!(fs::read_dir(fixture.export()).unwrap().count(), 1, "nothing but the log is left");
}
