//! WRITE (RFC 8881 §18.32).

use bytes::Bytes;
use xdr::Xdr;

use super::{DATA_BYTES_MAX, StateId, Verifier};

/// How durable data must be before it is acknowledged (`stable_how4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum StableHow {
    /// Until COMMIT it may be lost.
    Unstable = 0,
    /// The data is on disk, and what is needed to read it back.
    DataSync = 1,
    /// Data and metadata are on disk.
    FileSync = 2,
}

/// `WRITE4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct WriteArgs {
    /// The open, lock or delegation under which it is written.
    pub state_id: StateId,
    /// First byte.
    pub offset: u64,
    /// Durability asked for.
    pub stable: StableHow,
    /// The data, a slice of the record.
    #[xdr(max = DATA_BYTES_MAX)]
    pub data: Bytes,
}

/// `WRITE4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
#[xdr(fixed)]
pub struct WriteResult {
    /// Bytes written.
    pub count: u32,
    /// Durability given.
    pub committed: StableHow,
    /// Changes when unstable writes may have been lost.
    pub verifier: Verifier,
}
