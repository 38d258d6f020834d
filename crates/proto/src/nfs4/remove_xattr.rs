//! REMOVEXATTR (RFC 8276 §8.4.4).

use bytes::Bytes;
use xdr::Xdr;

use super::{COMPONENT_BYTES_MAX, ChangeInfo};

/// `REMOVEXATTR4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct RemoveXattrArgs {
    /// Its name, without a namespace.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub name: Bytes,
}

/// The result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct RemoveXattrResult {
    /// Change of the object.
    pub change: ChangeInfo,
}
