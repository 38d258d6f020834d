//! The witness: real Linux kernels mount what `primetime serve` exports and work on it, alone, against each
//! other, and while the server and the network fail.

#![allow(missing_docs, clippy::unwrap_used)]

mod bench_guests;
mod benchmark;
mod contention;
mod death;
mod exports;
mod failures;
mod fairness;
#[allow(dead_code, unreachable_pub, reason = "a part is for other tests")]
#[path = "../support/foreign/mod.rs"]
mod foreign;
mod guests;
mod kerberos;
mod locking;
mod many_files;
mod minor_version_2;
#[allow(dead_code, unreachable_pub, reason = "a part is for other tests")]
#[path = "../support/mounted.rs"]
mod mounted;
mod mounts;
mod one_guest;
mod own_back_ends;
mod partition;
#[allow(dead_code, unreachable_pub, reason = "a part is for other tests")]
#[path = "../nfs3/peer.rs"]
mod peer;
mod port_mapper;
mod power_cut;
mod recall;
mod removed;
mod server;
mod several_clients;
mod users;
mod watched;
