//! SEEK (RFC 7862 §15.11).

use xdr::Xdr;

use super::{DataContent, StateId};

/// `SEEK4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct SeekArgs {
    /// The open, lock or delegation under which the file is read.
    pub state_id: StateId,
    /// Where to begin.
    pub offset: u64,
    /// What to look for.
    pub what: DataContent,
}

/// `seek_res4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct SeekResult {
    /// The file ended before anything was found, or where a hole was looked for.
    pub eof: bool,
    /// Where it begins.
    pub offset: u64,
}
