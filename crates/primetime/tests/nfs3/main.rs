//! NFSv3 from outside, by a peer that speaks RPC by itself: what is left when connections are cut, and when
//! the server is killed.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cuts;
mod lane;
mod peer;
#[path = "../persistent_sessions/process.rs"]
mod process;
#[path = "../support/random.rs"]
mod random;
mod restarts;
