//! LOOKUP (RFC 8881 §18.13).

use bytes::Bytes;
use xdr::Xdr;

use super::COMPONENT_BYTES_MAX;

/// `LOOKUP4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct LookupArgs {
    /// Name in the current directory.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub name: Bytes,
}
