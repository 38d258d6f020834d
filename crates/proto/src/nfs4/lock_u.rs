//! LOCKU (RFC 8881 §18.12).

use xdr::Xdr;

use super::{LockType, StateId};

/// `LOCKU4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct LockUArgs {
    /// Either kind will do.
    pub kind: LockType,
    /// Ignored in NFSv4.1.
    pub sequence: u32,
    /// The owner's locks on the file.
    pub state_id: StateId,
    /// First byte.
    pub offset: u64,
    /// Bytes; all ones means to the end.
    pub length: u64,
}

/// `LOCKU4res`: the lock's new stateid.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct LockUResult {
    /// The owner's remaining locks on the file.
    pub state_id: StateId,
}
