//! Several clients hammer the files of one export at once, and every read is compared with what it was allowed to see.
//!
//! Which request meets which is up to the machine; who does what follows from a seed. `PRIMETIME_SEEDS=50` runs more of them.
//! What was allowed is told by [`history`], which knows nothing of caches, and has tests of its own.

#![allow(missing_docs, clippy::unwrap_used, unreachable_pub)]

mod drive;
#[allow(dead_code, unused_imports, unused_macros)]
#[path = "../integration/fixture.rs"]
mod fixture;
mod history;
mod random;

use client::Version;
use drive::{Kind, Mode, Scene, run};

const V3: Kind = Kind { version: Version::V3, delegations: false };
const V4: Kind = Kind { version: Version::V4_1, delegations: false };
const DELEGATED: Kind = Kind { version: Version::V4_1, delegations: true };

async fn all_seeds(mode: Mode, clients: &'static [Kind]) {
    let seeds = std::env::var("PRIMETIME_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let mut recalls = 0;
    for seed in 0..seeds {
        recalls += run(Scene { mode, clients, seed }).await;
    }
    let delegated = clients.iter().any(|kind| kind.delegations);
    assert_eq!(recalls > 0, delegated, "{recalls} delegations were recalled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_closed_is_seen_by_who_opens_next() {
    all_seeds(Mode::CloseToOpen, &[V4, V4]).await;
    all_seeds(Mode::CloseToOpen, &[V4, V4, V4]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_closed_is_seen_by_who_opens_next_under_delegations() {
    all_seeds(Mode::CloseToOpen, &[DELEGATED, DELEGATED]).await;
    all_seeds(Mode::CloseToOpen, &[DELEGATED, DELEGATED, V4]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_under_a_lock_is_seen_under_the_next() {
    all_seeds(Mode::Locks, &[V4, V4]).await;
    all_seeds(Mode::Locks, &[V4, V4, V4]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_under_a_lock_is_seen_under_the_next_with_delegations() {
    all_seeds(Mode::Locks, &[DELEGATED, DELEGATED]).await;
    all_seeds(Mode::Locks, &[DELEGATED, DELEGATED, DELEGATED]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_of_both_versions_keep_each_other_out_and_show_what_was_written() {
    all_seeds(Mode::Locks, &[V3, V3]).await;
    all_seeds(Mode::Locks, &[V3, V4, DELEGATED]).await;
}
