//! The server among clients, networks, clocks and disks that fail: everything that happens in a run follows
//! from one seed.
//!
//! `PRIMETIME_SEEDS=5000 cargo test -p primetime-server --test simulation` runs more seeds,
//! `PRIMETIME_SEED=42 cargo test -p primetime-server --test simulation the_rules -- --nocapture` shows what
//! happens in one.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod action;
mod checks;
mod coverage;
mod history;
mod host;
mod machine;
mod network;
mod plan;
mod promise;
mod random;
mod simulation;
mod stranger;
mod wire;

use std::collections::BTreeSet;

use action::{Action, Request};
use history::{History, Violation};
use host::LIMITS;
use plan::{Fault, Plan, Weather};
use random::Random;
use simulation::Simulation;

/// Seeds that are run without being asked for more.
const SEEDS: u64 = 100;

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
fn the_rules_hold_whatever_fails() {
    if let Some(seed) = number("PRIMETIME_SEED") {
        let (history, checked) = run(seed);
        println!("{history}");
        return checked.unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
    }
    let first = number("PRIMETIME_FIRST_SEED").unwrap_or(0);
    let (mut failed, mut reached) = (Vec::new(), BTreeSet::new());
    for seed in first..first + number("PRIMETIME_SEEDS").unwrap_or(SEEDS) {
        let (history, checked) = run(seed);
        failed.extend(checked.err().map(|violation| format!("PRIMETIME_SEED={seed}: {violation}")));
        reached.extend(coverage::reached(&history));
    }
    assert!(failed.is_empty(), "{} seeds failed:\n{}", failed.len(), failed.join("\n"));
    let missed: Vec<&str> = coverage::ALL.into_iter().filter(|what| !reached.contains(what)).collect();
    assert!(missed.is_empty() || first > 0, "no seed has reached this: {missed:?}");
}

#[test]
fn a_seed_means_the_same_run_every_time() {
    for seed in 0..3 {
        assert_eq!(run(seed).0.to_string(), run(seed).0.to_string(), "seed {seed}");
    }
}

/// What a client that is cut off loses, it must not take back after a crash, whatever it loses and however it
/// comes about.
#[test]
fn a_client_that_missed_its_loss_does_not_take_it_back() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let lost_after_ms =
            if seed % 2 == 0 { LIMITS.recall_ms } else { u64::from(LIMITS.lease_seconds) * 1000 };
        let crash_at = 2000 + lost_after_ms + random.between(1500, 6000);
        let partition = Fault::Partition { machine: 0, for_ms: crash_at };
        let plan = Plan {
            machines: 3,
            with_disk: true,
            delegations: true,
            weather: Weather::default(),
            faults: vec![(random.between(500, 2000), partition), (crash_at, Fault::Crash { down_ms: 100 })],
            calm_from_ms: crash_at + 200,
            ..Plan::new(&mut random)
        };
        let (history, finished) = Simulation::with(plan, random).run();
        let checked = checks::all(&history).and(finished);
        assert_eq!(checked, Ok(()), "seed {seed}");
    }
}

#[test]
fn clients_that_never_finish_are_found() {
    let mut random = Random::new(1);
    let plan = Plan { faults: Vec::new(), ..Plan::new(&mut random) };
    let is_unlock =
        |request: &Request| matches!(request, Request::InSession { action: Action::Unlock { .. }, .. });
    let deaf = Simulation::with(plan.clone(), random.clone()).deaf_to(is_unlock);
    let violation = deaf.run().1.expect_err("a lock is not given back");
    assert!(violation.0.contains("do not finish"), "{violation}");
    assert_eq!(Simulation::with(plan, random).run().1, Ok(()));
}
