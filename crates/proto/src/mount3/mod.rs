//! The MOUNT protocol, version 3 (RFC 1813 appendix I): turns a path into the first file handle.

mod basic;
mod export;
mod mnt;
mod mount_list;
mod procedure;
mod status;

pub use basic::*;
pub use export::*;
pub use mnt::*;
pub use mount_list::*;
pub use procedure::Procedure;
pub use status::Status;

#[cfg(test)]
mod tests;
