//! GETFH (RFC 8881 §18.8).

use xdr::Xdr;

use super::FileHandle;

/// `GETFH4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct GetFhResult {
    /// The current file handle.
    pub object: FileHandle,
}
