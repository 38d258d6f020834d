//! RENAME (RFC 8881 §18.26).

use bytes::Bytes;
use xdr::Xdr;

use super::{COMPONENT_BYTES_MAX, ChangeInfo};

/// `RENAME4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct RenameArgs {
    /// Name in the saved directory.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub old_name: Bytes,
    /// Name in the current directory.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub new_name: Bytes,
}

/// `RENAME4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct RenameResult {
    /// Change of the saved directory.
    pub source: ChangeInfo,
    /// Change of the current directory.
    pub target: ChangeInfo,
}
