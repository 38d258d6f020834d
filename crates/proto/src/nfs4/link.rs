//! LINK (RFC 8881 §18.9).

use bytes::Bytes;
use xdr::Xdr;

use super::{COMPONENT_BYTES_MAX, ChangeInfo};

/// `LINK4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct LinkArgs {
    /// The new name in the current directory.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub new_name: Bytes,
}

/// `LINK4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct LinkResult {
    /// Change of the directory.
    pub change: ChangeInfo,
}
