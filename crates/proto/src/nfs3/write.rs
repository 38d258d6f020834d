//! WRITE: puts data into a file (RFC 1813 §3.3.7).

use bytes::Bytes;
use xdr::Xdr;

use super::{DATA_BYTES_MAX, FileHandle, Procedure, Request, WccData, WriteVerifier};

/// How durable a write must be, or was (`stable_how`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Xdr)]
pub enum StableHow {
    /// May be lost until COMMIT (`UNSTABLE`).
    Unstable = 0,
    /// Data and what is needed to read it back are on stable storage (`DATA_SYNC`).
    DataSync = 1,
    /// Data and all metadata are on stable storage (`FILE_SYNC`).
    FileSync = 2,
}

/// Arguments (`WRITE3args`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct WriteArgs {
    /// The file.
    pub file: FileHandle,
    /// Where to start, in bytes.
    pub offset: u64,
    /// Bytes to write.
    pub count: u32,
    /// How durable.
    pub stable: StableHow,
    /// The bytes, `count` of them.
    #[xdr(max = DATA_BYTES_MAX)]
    pub data: Bytes,
}

/// Success (`WRITE3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct WriteOk {
    /// The file around the operation.
    pub file: WccData,
    /// Bytes written, perhaps fewer than asked.
    pub count: u32,
    /// How durable they are, at least as asked.
    pub committed: StableHow,
    /// Differs from that of COMMIT when unstable writes were lost in between.
    pub verifier: WriteVerifier,
}

/// Failure (`WRITE3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct WriteFail {
    /// The file around the operation.
    pub file: WccData,
}

impl Request for WriteArgs {
    const PROCEDURE: Procedure = Procedure::Write;
    type Ok = WriteOk;
    type Fail = WriteFail;
}
