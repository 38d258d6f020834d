//! GETXATTR (RFC 8276 §8.4.1).

use bytes::Bytes;
use xdr::Xdr;

use super::COMPONENT_BYTES_MAX;

/// The longest value that is decoded, in bytes: what Linux can keep. A longer one cannot be one of its values.
pub const XATTR_BYTES_MAX: u32 = 1 << 16;

/// `GETXATTR4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct GetXattrArgs {
    /// Its name, without a namespace.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub name: Bytes,
}

/// The result: `xattrvalue4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct GetXattrResult {
    /// Its value.
    #[xdr(max = XATTR_BYTES_MAX)]
    pub value: Bytes,
}
