//! READ: data of a file (RFC 1813 §3.3.6).

use bytes::Bytes;
use xdr::Xdr;

use super::{DATA_BYTES_MAX, FileHandle, PostOpAttributes, Procedure, Request};

/// Arguments (`READ3args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct ReadArgs {
    /// The file.
    pub file: FileHandle,
    /// Where to start, in bytes.
    pub offset: u64,
    /// The most bytes to read.
    pub count: u32,
}

/// Success (`READ3resok`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReadOk {
    /// Attributes of the file.
    pub attributes: PostOpAttributes,
    /// Bytes read.
    pub count: u32,
    /// True when the file ends with them.
    pub eof: bool,
    /// The bytes, `count` of them.
    #[xdr(max = DATA_BYTES_MAX)]
    pub data: Bytes,
}

/// Failure (`READ3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct ReadFail {
    /// Attributes of the file.
    pub attributes: PostOpAttributes,
}

impl Request for ReadArgs {
    const PROCEDURE: Procedure = Procedure::Read;
    type Ok = ReadOk;
    type Fail = ReadFail;
}
