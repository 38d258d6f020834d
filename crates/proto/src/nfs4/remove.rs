//! REMOVE (RFC 8881 §18.25).

use bytes::Bytes;
use xdr::Xdr;

use super::{COMPONENT_BYTES_MAX, ChangeInfo};

/// `REMOVE4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct RemoveArgs {
    /// Name in the current directory.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub target: Bytes,
}

/// `REMOVE4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct RemoveResult {
    /// Change of the directory.
    pub change: ChangeInfo,
}
