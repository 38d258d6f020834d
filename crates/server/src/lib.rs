//! An NFS server as a library: the RPC programs over any [`vfs::FileSystem`].
//!
//! The service layer (`exports`, `nfs3`, `nfs4`, `mount3`, `nlm4`, `nsm1`, `recall`, `dispatch`) is
//! asynchronous without a runtime: no sockets, no clock, no files, so that a simulator can poll it on its own
//! executor.

#![forbid(unsafe_code)]

pub mod conflicts;
mod digest;
pub mod dispatch;
pub mod exports;
#[cfg(test)]
mod fixture;
pub mod hosts;
pub mod metrics;
pub mod mount3;
pub mod nfs3;
pub mod nfs4;
pub mod nlm4;
pub mod nsm1;
mod pages;
mod persistent;
pub mod recall;
pub mod retries;
pub mod runtime;
#[cfg(feature = "shell")]
pub mod shell;
pub mod stable;
