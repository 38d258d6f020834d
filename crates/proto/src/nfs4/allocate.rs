//! ALLOCATE and DEALLOCATE (RFC 7862 §15.1, §15.4): their arguments are the same, and neither has a result.

use xdr::Xdr;

use super::StateId;

/// `ALLOCATE4args` and `DEALLOCATE4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct AllocateArgs {
    /// The open, lock or delegation under which the file is written.
    pub state_id: StateId,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}
