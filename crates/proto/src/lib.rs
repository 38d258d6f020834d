//! Wire types and constants of the protocols that primetime speaks. Nothing here does I/O, keeps state or
//! decides anything: it says what the bytes are.

#![forbid(unsafe_code)]

pub mod mount3;
pub mod nfs3;
pub mod nfs4;
pub mod nlm4;
pub mod nsm1;
pub mod portmap;
mod status_table;
