//! LOCK (RFC 8881 §18.10).

use xdr::Xdr;

use super::{StateId, StateOwner};

/// The kind of a lock (`nfs_lock_type4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum LockType {
    /// Shared.
    Read = 1,
    /// Exclusive.
    Write = 2,
    /// Shared; the client will wait.
    ReadWait = 3,
    /// Exclusive; the client will wait.
    WriteWait = 4,
}

impl LockType {
    /// True for the exclusive kinds.
    pub fn is_exclusive(self) -> bool {
        matches!(self, Self::Write | Self::WriteWait)
    }

    /// True for the kinds of a client that goes on asking until it gets the lock (RFC 8881 §9.6).
    pub fn is_blocking(self) -> bool {
        matches!(self, Self::ReadWait | Self::WriteWait)
    }
}

/// Who locks (`locker4`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub enum Locker {
    /// A lock-owner with locks on the file.
    #[xdr(case = 0)]
    Existing(ExistingLockOwner),
    /// A lock-owner that is new to the file.
    #[xdr(case = 1)]
    New(NewLockOwner),
}

/// `open_to_lock_owner4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct NewLockOwner {
    /// Ignored in NFSv4.1.
    pub open_sequence: u32,
    /// The open under which it locks.
    pub open_state_id: StateId,
    /// Ignored in NFSv4.1.
    pub lock_sequence: u32,
    /// The lock-owner.
    pub owner: StateOwner,
}

/// `exist_lock_owner4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ExistingLockOwner {
    /// Its locks on the file.
    pub state_id: StateId,
    /// Ignored in NFSv4.1.
    pub sequence: u32,
}

/// `LOCK4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct LockArgs {
    /// Shared or exclusive.
    pub kind: LockType,
    /// The lock was held before the server restarted.
    pub reclaim: bool,
    /// First byte.
    pub offset: u64,
    /// Bytes; all ones means to the end of the file, however long.
    pub length: u64,
    /// Who.
    pub locker: Locker,
}

/// `LOCK4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct LockResult {
    /// The owner's locks on the file.
    pub state_id: StateId,
}

/// The lock in the way (`LOCK4denied`), the body of NFS4ERR_DENIED.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct LockDenied {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Its kind.
    pub kind: LockType,
    /// Its owner.
    pub owner: StateOwner,
}
