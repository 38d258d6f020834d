//! READ (RFC 8881 §18.22).

use bytes::Bytes;
use xdr::Xdr;

use super::{DATA_BYTES_MAX, StateId};

/// `READ4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReadArgs {
    /// The open, lock or delegation under which it is read.
    pub state_id: StateId,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub count: u32,
}

/// `READ4resok`. A server fills the data in place instead.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReadResult {
    /// The data reaches the end of the file.
    pub eof: bool,
    /// The data, a slice of the record.
    #[xdr(max = DATA_BYTES_MAX)]
    pub data: Bytes,
}
