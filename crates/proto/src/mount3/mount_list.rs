//! What DUMP answers: who has mounted what (RFC 1813 §5.2.2).

use bytes::Bytes;
use xdr::{List, Xdr};

use super::{NAME_BYTES_MAX, PATH_BYTES_MAX};

/// The most mounts of one reply that are decoded.
pub const MOUNTS_MAX: u32 = 1 << 16;

/// One mount (`mountbody`), without the list's link.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Xdr)]
pub struct Mount {
    /// The client's host name or address.
    #[xdr(max = NAME_BYTES_MAX)]
    pub host: Bytes,
    /// The path that it mounted.
    #[xdr(max = PATH_BYTES_MAX)]
    pub dir: Bytes,
}

/// All mounts (`mountlist`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct MountList(#[xdr(max = MOUNTS_MAX)] pub List<Mount>);
