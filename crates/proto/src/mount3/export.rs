//! What EXPORT answers: which paths are exported to whom (RFC 1813 §5.2.5).

use bytes::Bytes;
use xdr::{List, Xdr};

use super::{NAME_BYTES_MAX, PATH_BYTES_MAX};

/// The most exports, and groups of one export, that are decoded.
pub const EXPORTS_MAX: u32 = 1 << 12;

/// A host or a group of hosts (`groupnode`), without the list's link.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct Group(#[xdr(max = NAME_BYTES_MAX)] pub Bytes);

/// One export (`exportnode`), without the list's link.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct Export {
    /// Its path.
    #[xdr(max = PATH_BYTES_MAX)]
    pub dir: Bytes,
    /// Who may mount it; nobody listed means everybody.
    #[xdr(max = EXPORTS_MAX)]
    pub groups: List<Group>,
}

/// All exports (`exports`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ExportList(#[xdr(max = EXPORTS_MAX)] pub List<Export>);
