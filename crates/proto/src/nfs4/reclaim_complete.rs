//! RECLAIM_COMPLETE (RFC 8881 §18.51).

use xdr::Xdr;

/// `RECLAIM_COMPLETE4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReclaimCompleteArgs {
    /// Only for the current file system, after it moved.
    pub one_fs: bool,
}
