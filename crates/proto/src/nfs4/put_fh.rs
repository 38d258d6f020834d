//! PUTFH (RFC 8881 §18.19).

use xdr::Xdr;

use super::FileHandle;

/// `PUTFH4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct PutFhArgs {
    /// Becomes the current file handle.
    pub object: FileHandle,
}
