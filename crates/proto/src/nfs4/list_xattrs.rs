//! LISTXATTRS (RFC 8276 §8.4.3).

use bytes::Bytes;
use xdr::Xdr;

use super::COMPONENT_BYTES_MAX;

/// The most names that are decoded.
const NAMES_MAX: u32 = 1 << 16;

/// `LISTXATTRS4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ListXattrsArgs {
    /// 0, or where the last result ended.
    pub cookie: u64,
    /// The longest result in bytes.
    pub count_max: u32,
}

/// `LISTXATTRS4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ListXattrsResult {
    /// Where the next result begins.
    pub cookie: u64,
    /// Names, without a namespace.
    #[xdr(max = NAMES_MAX)]
    pub names: Vec<XattrName>,
    /// There are no more.
    pub eof: bool,
}

/// `xattrkey4`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Xdr)]
pub struct XattrName(#[xdr(max = COMPONENT_BYTES_MAX)] pub Bytes);
