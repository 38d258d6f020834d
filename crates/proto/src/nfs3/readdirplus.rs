//! READDIRPLUS: names of a directory with handles and attributes (RFC 1813 §3.3.17).

use bytes::Bytes;
use xdr::{List, Xdr};

use super::{
    CookieVerifier, ENTRIES_MAX, FileHandle, NAME_BYTES_MAX, PostOpAttributes, PostOpHandle, Procedure,
    Request,
};

/// Arguments (`READDIRPLUS3args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct ReadDirPlusArgs {
    /// The directory.
    pub dir: FileHandle,
    /// Where to go on: 0, or that of an entry.
    pub cookie: u64,
    /// 0, or that of the reply the cookie is from.
    pub verifier: CookieVerifier,
    /// The most bytes of names, file ids and cookies.
    pub dir_count: u32,
    /// The largest success body in bytes, XDR included.
    pub max_count: u32,
}

/// A name and its object (`entryplus3`), without the list's link.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct EntryPlus {
    /// Inode number.
    pub fileid: u64,
    /// The name.
    #[xdr(max = NAME_BYTES_MAX)]
    pub name: Bytes,
    /// Where to go on after this entry.
    pub cookie: u64,
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
    /// Its handle.
    pub object: PostOpHandle,
}

/// Success (`READDIRPLUS3resok`). Servers write it with [`EntryListWriter`](super::EntryListWriter).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReadDirPlusOk {
    /// Attributes of the directory.
    pub dir: PostOpAttributes,
    /// To be sent with the cookies.
    pub verifier: CookieVerifier,
    /// The entries.
    #[xdr(max = ENTRIES_MAX)]
    pub entries: List<EntryPlus>,
    /// True when no entry follows.
    pub eof: bool,
}

/// Failure (`READDIRPLUS3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct ReadDirPlusFail {
    /// Attributes of the directory.
    pub dir: PostOpAttributes,
}

impl Request for ReadDirPlusArgs {
    const PROCEDURE: Procedure = Procedure::ReadDirPlus;
    type Ok = ReadDirPlusOk;
    type Fail = ReadDirPlusFail;
}
