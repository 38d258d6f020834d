//! READDIR: names of a directory (RFC 1813 §3.3.16).

use bytes::Bytes;
use xdr::{List, Xdr};

use super::{CookieVerifier, FileHandle, NAME_BYTES_MAX, PostOpAttributes, Procedure, Request};

/// The most entries of one reply that are decoded.
pub const ENTRIES_MAX: u32 = 1 << 16;

/// Arguments (`READDIR3args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct ReadDirArgs {
    /// The directory.
    pub dir: FileHandle,
    /// Where to go on: 0, or that of an entry.
    pub cookie: u64,
    /// 0, or that of the reply the cookie is from.
    pub verifier: CookieVerifier,
    /// The largest success body in bytes, XDR included.
    pub count: u32,
}

/// A name (`entry3`), without the list's link.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct Entry {
    /// Inode number.
    pub fileid: u64,
    /// The name.
    #[xdr(max = NAME_BYTES_MAX)]
    pub name: Bytes,
    /// Where to go on after this entry.
    pub cookie: u64,
}

/// Success (`READDIR3resok`). Servers write it with [`EntryListWriter`](super::EntryListWriter).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReadDirOk {
    /// Attributes of the directory.
    pub dir: PostOpAttributes,
    /// To be sent with the cookies.
    pub verifier: CookieVerifier,
    /// The entries.
    #[xdr(max = ENTRIES_MAX)]
    pub entries: List<Entry>,
    /// True when no entry follows.
    pub eof: bool,
}

/// Failure (`READDIR3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct ReadDirFail {
    /// Attributes of the directory.
    pub dir: PostOpAttributes,
}

impl Request for ReadDirArgs {
    const PROCEDURE: Procedure = Procedure::ReadDir;
    type Ok = ReadDirOk;
    type Fail = ReadDirFail;
}
