//! LOCKT (RFC 8881 §18.11). NFS4ERR_DENIED has a [`super::LockDenied`] as its body.

use xdr::Xdr;

use super::{LockType, StateOwner};

/// `LOCKT4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct LockTArgs {
    /// Shared or exclusive.
    pub kind: LockType,
    /// First byte.
    pub offset: u64,
    /// Bytes; all ones means to the end.
    pub length: u64,
    /// Who asks.
    pub owner: StateOwner,
}
