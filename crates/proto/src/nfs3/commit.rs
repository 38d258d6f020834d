//! COMMIT: puts unstable writes on stable storage (RFC 1813 §3.3.21).

use xdr::Xdr;

use super::{FileHandle, Procedure, Request, WccData, WriteVerifier};

/// Arguments (`COMMIT3args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct CommitArgs {
    /// The file.
    pub file: FileHandle,
    /// Where the range starts, in bytes.
    pub offset: u64,
    /// Its length in bytes; 0 means to the end of the file.
    pub count: u32,
}

/// Success (`COMMIT3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct CommitOk {
    /// The file around the operation.
    pub file: WccData,
    /// Differs from that of WRITE when unstable writes were lost in between.
    pub verifier: WriteVerifier,
}

/// Failure (`COMMIT3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct CommitFail {
    /// The file around the operation.
    pub file: WccData,
}

impl Request for CommitArgs {
    const PROCEDURE: Procedure = Procedure::Commit;
    type Ok = CommitOk;
    type Fail = CommitFail;
}
