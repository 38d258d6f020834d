//! IO_ADVISE (RFC 7862 §15.5).

use xdr::Xdr;

use super::StateId;
use super::attributes::Bitmap;

/// Bits of the hints.
pub mod io_hint {
    /// There is no advice to give, or to follow.
    pub const NORMAL: u32 = 1 << 0;
    /// From lower offsets to higher ones.
    pub const SEQUENTIAL: u32 = 1 << 1;
    /// Will be used soon.
    pub const WILL_NEED: u32 = 1 << 4;
}

/// `IO_ADVISE4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct IoAdviseArgs {
    /// Whose advice it is.
    pub state_id: StateId,
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 means to the end.
    pub count: u64,
    /// Bits of [`io_hint`].
    pub hints: Bitmap,
}

/// `IO_ADVISE4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct IoAdviseResult {
    /// What the server means to follow.
    pub hints: Bitmap,
}
