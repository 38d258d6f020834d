//! The benchmark of primetime: what is asked, what the answers mean, and how they are shown.
//!
//! Owns the experiments, the statistics, the result document, the reason given for each difference, and the
//! report, and the measuring itself: workloads on many clients in paired runs. A measurement enters as a
//! [`results::Run`]; NFS is spoken by the client library only, and nothing but the runner and its workloads
//! touches it.

#![forbid(unsafe_code)]

pub mod agents;
pub mod compare;
pub mod diff;
mod error;
pub mod exhibit;
pub mod experiment;
pub mod explain;
pub mod failover_gap;
pub mod gate;
pub mod generator;
pub mod guests;
pub mod hash_cast;
mod host_load;
mod http;
mod order;
pub mod push;
pub mod report;
pub mod results;
mod run_part;
pub mod runner;
pub mod samples;
pub mod security;
mod seeded;
pub mod share;
pub mod statistics;
pub mod terminal;
mod text;
mod workload;
