//! The service of an NFS server: the RPC programs over any [`vfs::FileSystem`].
//!
//! The service layer (`exports`, `nfs3`, `nfs4`, `mount3`, `nlm4`, `nsm1`, `services` with its members,
//! `dispatch`) is asynchronous without a runtime: no sockets, no clock, no files, so that a simulator can
//! poll it on its own executor.

#![forbid(unsafe_code)]

mod callbacks;
mod clients;
pub mod conflicts;
pub mod delegations;
mod digest;
pub mod dispatch;
mod exclusive;
pub mod exports;
#[cfg(test)]
mod fixture;
pub mod host_monitor;
pub mod hosts;
mod lock_waiters;
pub mod metrics;
pub mod mount3;
pub mod nfs3;
pub mod nfs4;
pub mod nlm4;
pub mod nsm1;
mod pages;
mod persistent;
mod recovery;
pub mod retries;
pub mod runtime;
mod service_core;
pub mod services;
pub mod stable;
