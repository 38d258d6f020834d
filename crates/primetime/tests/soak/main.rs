//! Clients that make the server hold as much as they can, in a control group of 256 MiB: the server stays
//! alive below the limit, and every request of a light client is answered.
//!
//! `cargo test --release -p primetime --test soak -- --ignored --nocapture` runs each pattern for longer
//! and prints figures.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

mod heavy;
mod light;
mod server;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use heavy::{Attack, Pattern};
use light::Light;
use server::{LIMIT_BYTES, Server};

/// The answers that the attackers got, and how often their connections were not read.
#[derive(Default)]
pub struct Counts {
    pub sent: AtomicU64,
    pub stopped: AtomicU64,
    pub over: AtomicBool,
}

/// Ends the attack when it is dropped, also by a panic: the threads of a scope are waited for.
struct EndOfAttack<'a>(&'a Counts);

impl Drop for EndOfAttack<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

/// Runs a pattern while a light client does rounds, as long as `goes_on` says.
fn run(patterns: &[Pattern], mut goes_on: impl FnMut(usize) -> bool) -> (Server, Vec<Duration>, Counts) {
    let mut server = Server::start();
    let attack = Attack::prepare(&server, patterns);
    let mut light = Light::new(server.address(), 2);
    let root = light.root();
    let file = light.make(&root, "light");
    let counts = Counts::default();
    light.times.clear();
    std::thread::scope(|scope| {
        let _end = EndOfAttack(&counts);
        for pattern in patterns {
            attack.start(scope, *pattern, &counts);
        }
        let mut rounds = 0;
        while goes_on(rounds) {
            light.round(&root, &file, (rounds % 251) as u8);
            rounds += 1;
            assert!(server.is_alive(), "after {rounds} rounds of {patterns:?}");
        }
    });
    assert!(server.is_alive());
    (server, light.times, counts)
}

fn check(patterns: &[Pattern]) {
    let (server, times, counts) = run(patterns, |rounds| rounds < 300);
    assert_eq!(times.len(), 1500);
    assert!(counts.sent.load(Ordering::Relaxed) > 0);
    let (process, group) = server.peak_bytes();
    assert!(process < LIMIT_BYTES, "{process} bytes");
    assert!(group.is_none_or(|bytes| bytes <= LIMIT_BYTES));
}

#[test]
fn writes_held_behind_an_ignored_recall_fit_into_the_budget() {
    check(&[Pattern::HeldWrites]);
}

#[test]
fn replies_that_are_not_read_fit_into_the_budget() {
    check(&[Pattern::UnreadReplies]);
}

#[test]
fn listings_of_closed_connections_fit_into_the_budget() {
    check(&[Pattern::ClosedListings]);
}

#[test]
fn all_patterns_together_fit_into_the_budget() {
    check(&Pattern::ALL);
}

#[test]
#[ignore = "takes minutes and prints figures"]
fn long_soak() {
    let seconds =
        std::env::var("PRIMETIME_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let sets: [&[Pattern]; 5] =
        [&[], &[Pattern::HeldWrites], &[Pattern::UnreadReplies], &[Pattern::ClosedListings], &Pattern::ALL];
    for patterns in sets {
        let end = Instant::now() + Duration::from_secs(seconds);
        let (server, mut times, counts) = run(patterns, |_| Instant::now() < end);
        times.sort_unstable();
        let (process, group) = server.peak_bytes();
        let milliseconds = |part: f64| times[((times.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
        println!(
            "{patterns:?}: {} light requests, median {:.2} ms, 99th percentile {:.2} ms, longest {:.2} ms; \
             process {} MiB, group {:?} MiB; \
             attackers wrote {} calls and were stopped {} times; status {}",
            times.len(),
            milliseconds(0.5),
            milliseconds(0.99),
            milliseconds(1.0),
            process >> 20,
            group.map(|bytes| bytes >> 20),
            counts.sent.load(Ordering::Relaxed),
            counts.stopped.load(Ordering::Relaxed),
            server.status(),
        );
    }
}
