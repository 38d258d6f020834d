//! `primetime serve` as a service: what it tells of itself, and what it is told while it runs.

#![allow(missing_docs, clippy::unwrap_used, unreachable_pub, reason = "a test that cannot go on fails")]

mod ctl;
mod dead_mounts;
mod descriptors;
mod full_disk;
mod kerberos;
mod manager;
mod metrics;
mod peer;
mod process;
mod reload;
mod reports;
mod tls;
mod units;
