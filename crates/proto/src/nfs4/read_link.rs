//! READLINK (RFC 8881 §18.24).

use bytes::Bytes;
use xdr::Xdr;

use super::LINK_BYTES_MAX;

/// `READLINK4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReadLinkResult {
    /// The target.
    #[xdr(max = LINK_BYTES_MAX)]
    pub link: Bytes,
}
