//! `primetime mount` in processes of its own, with servers that are killed under it.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../support/altering.rs"]
mod altering;
mod command;
mod hostile_names;
mod hostile_trees;
#[path = "../support/mounted.rs"]
mod mounted;
#[path = "../../../client/tests/integration/peer.rs"]
#[allow(dead_code, reason = "the tests of the client use all of it")]
mod peer;
mod processes;
#[path = "../support/random.rs"]
mod random;
#[path = "../support/ready.rs"]
mod ready;
mod restarts;
mod steps;
mod subject;
#[path = "../../../mount/tests/integration/sys.rs"]
mod sys;
mod walk;
