//! NFSv4.1 and NFSv4.2 (RFC 8881, RFC 7862): sessions, opens, locks and delegations, and which COMPOUNDs the operations
//! of the client take.

mod access;
mod ahead;
mod allocate;
mod back_slots;
mod batch;
mod callback;
mod claims;
mod clone;
mod close;
mod closes;
mod compound;
mod connect;
mod convert;
mod copy;
mod core;
mod delegation;
mod directories;
mod establish;
mod gate;
mod get_xattr;
mod io;
mod lease;
mod list_xattrs;
mod lock;
mod lock_t;
mod loss;
mod names;
mod open;
mod owners;
mod prefetch;
mod reclaim;
mod recovery;
mod remove_xattr;
mod revoked;
mod seek;
mod send;
mod set_xattr;
mod state;

pub(crate) use ahead::{LockAhead, expire_lock_ahead};
pub(crate) use batch::{Fit, send_group};
pub(crate) use connect::{Mount, host_name};
pub(crate) use lease::Lease;
pub(crate) use open::{create_file, open};
pub(crate) use state::{Delegation, FileState, ServerOpen};
