//! NFSv3 (RFC 1813): which requests the operations of the client take. Nothing is remembered here but
//! connections.

mod access;
mod connect;
mod convert;
mod directories;
mod exports;
mod io;
mod lock;
mod lock_waits;
mod names;
mod open;
mod reclaim;
mod transport;

pub(crate) use connect::Mount;
pub(crate) use exports::exports;
pub(crate) use open::{open, open_object};
