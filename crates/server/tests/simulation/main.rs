//! The server among clients, networks and disks that fail: everything from one seed.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod action;
mod checks;
mod history;
mod host;
mod machine;
mod network;
mod plan;
mod promise;
mod random;

mod simulation;
mod wire;

use history::{History, Violation};
use simulation::Simulation;

/// Runs a seed and checks every rule.
fn run(seed: u64) -> (History, Result<(), Violation>) {
    let (history, finished) = Simulation::new(seed).run();
    let checked = checks::all(&history).and(finished);
    (history, checked)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().expect("a number"))
}

#[test]
fn the_rules_hold_for_many_seeds() {
    if let Some(seed) = number("PRIMETIME_SEED") {
        let (history, checked) = run(seed);
        println!("{history}");
        if let Err(violation) = checked {
            panic!("seed {seed}: {violation}");
        }
        return;
    }
    let first = number("PRIMETIME_FIRST_SEED").unwrap_or(0);
    let failed: Vec<String> = (first..first + number("PRIMETIME_SEEDS").unwrap_or(100))
        .filter_map(|seed| run(seed).1.err().map(|violation| format!("seed {seed}: {violation}")))
        .collect();
    assert!(
        failed.is_empty(),
        "{}\n{} seeds failed; to see what happened in one: PRIMETIME_SEED=… cargo test -p primetime-server --test simulation -- --nocapture",
        failed.join("\n"),
        failed.len()
    );
}
