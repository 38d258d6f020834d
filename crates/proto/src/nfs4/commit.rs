//! COMMIT (RFC 8881 §18.3).

use xdr::Xdr;

use super::Verifier;

/// `COMMIT4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CommitArgs {
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 means to the end.
    pub count: u32,
}

/// `COMMIT4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CommitResult {
    /// Changes when unstable writes may have been lost.
    pub verifier: Verifier,
}
