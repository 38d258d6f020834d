//! FSSTAT: space and inodes of a file system (RFC 1813 §3.3.18).

use xdr::Xdr;

use super::{FileHandle, PostOpAttributes, Procedure, Request};

/// Arguments (`FSSTAT3args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct FsStatArgs {
    /// An object of the file system.
    pub root: FileHandle,
}

/// Success (`FSSTAT3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct FsStatOk {
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
    /// Size in bytes.
    pub total_bytes: u64,
    /// Free bytes.
    pub free_bytes: u64,
    /// Bytes that the caller may use.
    pub available_bytes: u64,
    /// Number of file slots.
    pub total_files: u64,
    /// Free file slots.
    pub free_files: u64,
    /// File slots that the caller may use.
    pub available_files: u64,
    /// Seconds for which nothing of this changes, 0 when unknown (`invarsec`).
    pub invariant_seconds: u32,
}

/// Failure (`FSSTAT3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct FsStatFail {
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
}

impl Request for FsStatArgs {
    const PROCEDURE: Procedure = Procedure::FsStat;
    type Ok = FsStatOk;
    type Fail = FsStatFail;
}
