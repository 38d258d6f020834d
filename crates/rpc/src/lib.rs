//! ONC RPC (RFC 5531) without I/O: messages, record marking, authentication, and the traits between services
//! and connections.
//!
//! A [`Service`] answers calls that arrive on a [`Connection`]. No type of a runtime and no socket appears
//! here: `rpc_net` implements connections and datagrams on tokio.

#![forbid(unsafe_code)]

pub mod auth;
mod memory_use;
pub mod message;
mod record;
mod service;

pub use auth::{AuthStatus, AuthSys, BODY_BYTES_MAX, Caller, Credential};
pub use memory_use::MemoryUse;
pub use message::{CallHeader, RPC_VERSION, Refusal};
pub use record::{Chunk, RecordError, RecordLimits, RecordReader, mark};
pub use service::{BoxFuture, Call, CallError, Connection, Disposition, NoService, Service, Transport};
