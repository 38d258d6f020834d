//! What operations stand on: the program, the state of a COMPOUND, and the rules that several operations
//! share.

pub(crate) mod actor;
pub(crate) mod change;
pub(crate) mod conflict;
pub(crate) mod context;
pub(crate) mod descriptor;
pub(crate) mod flavor;
pub(crate) mod in_session;
pub(crate) mod name;
pub(crate) mod regular;
pub(crate) mod repeat;
pub(crate) mod result;
mod server;
pub(crate) mod status;
pub(crate) mod transfer;
pub(crate) mod unsettled;
pub(crate) mod users;

pub use server::{Nfs4, Nfs4Options};
