//! NFSv4.1 (RFC 8881): sessions, opens, locks and delegations, and which COMPOUNDs the operations of the client take.

mod access;
mod ahead;
mod back_slots;
mod callback;
mod close;
mod closes;
mod compound;
mod connect;
mod convert;
mod core;
mod delegation;
mod directories;
mod establish;
mod gate;
mod io;
mod lease;
mod lock;
mod names;
mod open;
mod owners;
mod prefetch;
mod recovery;
mod send;
mod state;

pub(crate) use ahead::{LockAhead, expire_lock_ahead};
pub(crate) use connect::{Mount, host_name};
pub(crate) use open::{create_file, open};
pub(crate) use state::{Delegation, FileState, ServerOpen};
