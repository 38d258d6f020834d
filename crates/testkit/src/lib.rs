//! Doubles and raw peers that the tests and benches of several crates share.
//!
//! | module | what it has |
//! |---|---|
//! | [`wire`] | calls, replies and records as bytes, written word by word |
//! | [`peer`] | either end of a TCP connection that sends and receives such bytes |
//! | [`connection`] | an [`rpc::Connection`] without a network, with scripted callbacks |
//! | [`runtime`] | a clock that a test sets, and tasks that a test polls |
//! | [`gss`] | a mechanism for RPCSEC_GSS, and its surroundings |
//! | `compound` | COMPOUNDs and their replies, from either side (feature `nfs4`) |
//! | `session` | a client with a session, over any transport (feature `nfs4`) |
//! | `script` | a server on a TCP port whose replies a test writes (feature `client`) |
//! | `authority` | certificates for TLS (feature `authority`) |
//! | `kdc` | a realm of Kerberos (feature `kdc`) |
//! | `records` | stable storage in memory whose writes fail or stall as planned (feature `server`) |
//!
//! The unit tests of `server` use the first four. There, [`runtime::ManualRuntime`] gets the trait of the
//! crate under test: this library depends on another build of `server`, whose traits are different types.

#![allow(clippy::unwrap_used)] // A peer that cannot go on ends its test.

#[cfg(feature = "authority")]
pub mod authority;
#[cfg(feature = "nfs4")]
pub mod compound;
pub mod connection;
pub mod gss;
#[cfg(feature = "kdc")]
pub mod kdc;
pub mod peer;
mod record_reader;
#[cfg(feature = "server")]
pub mod records;
pub mod runtime;
#[cfg(feature = "client")]
pub mod script;
#[cfg(feature = "nfs4")]
pub mod session;
pub mod wire;

/// Program, version and procedure of a call.
pub type ProcedureNumber = (u32, u32, u32);
