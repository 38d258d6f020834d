//! ONC RPC (RFC 5531).
//!
//! The messages and record marking know no I/O. [`Service`] is what answers calls; it has no type of a
//! runtime in it. [`net`] owns the sockets, for both sides: a connection serves the calls that arrive on it
//! and carries calls the other way, as NFSv4.1's backchannel needs.

pub mod auth;
pub mod memory;
mod message;
pub mod net;
mod record;
mod service;

pub use auth::{AuthStatus, AuthSys, BODY_BYTES_MAX, Caller, Credential};
pub use message::{CallHeader, RPC_VERSION, Refusal};
pub use record::{RecordError, RecordLimits, RecordReader, mark};
pub use service::{BoxFuture, Call, CallError, Connection, Disposition, NoService, Service, Transport};
