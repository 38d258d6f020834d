//! The network lock manager, version 4 (X/Open C702 chapter 14, RFC 1813 appendix II): byte-range locks and
//! DOS shares of NFSv3 files. One file per procedure, or per pair where two carry the same messages.

mod basic;
mod cancel;
mod free_all;
mod lock;
mod procedure;
mod share;
mod status;
mod test;
mod unlock;

#[cfg(test)]
mod tests;

pub use basic::*;
pub use cancel::CancelArgs;
pub use free_all::Notify;
pub use lock::LockArgs;
pub use procedure::Procedure;
pub use share::*;
pub use status::Status;
pub use test::*;
pub use unlock::UnlockArgs;
