//! `primetime bench` from outside: what it counts, what it leaves behind, and what it says when it cannot.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents;
mod arms;
mod clients;
mod composed;
mod counts;
mod decided;
mod detect;
mod disks;
mod errors;
mod failover_gap;
mod floors;
mod gates;
mod hash_cast;
mod hostile;
mod interrupts;
mod leftovers;
mod live;
mod machines;
mod namespaces;
#[path = "../../../client/tests/integration/peer.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests of the client use all of it")]
mod peer;
mod push;
mod resume;
mod security;
mod ssh;
mod studies;
mod support;
