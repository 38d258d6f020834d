//! CLONE (RFC 7862 §15.13): shares a range of the saved file with the current one. It has no result.

use xdr::Xdr;

use super::StateId;

/// `CLONE4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CloneArgs {
    /// The open, lock or delegation under which the source is read.
    pub source_state_id: StateId,
    /// The one under which the target is written.
    pub target_state_id: StateId,
    /// First byte in the source.
    pub source_offset: u64,
    /// First byte in the target.
    pub target_offset: u64,
    /// Bytes; 0 for all up to the end of the source.
    pub count: u64,
}
