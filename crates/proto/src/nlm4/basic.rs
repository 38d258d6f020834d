//! What most procedures share (RFC 1813 §6.1.4).

use bytes::Bytes;
use xdr::Xdr;

use super::Status;

/// The program number of the lock manager.
pub const PROGRAM: u32 = 100_021;
/// The version that goes with NFSv3.
pub const VERSION: u32 = 4;
/// The longest cookie, handle and owner in bytes (`MAXNETOBJ_SZ`).
pub const OBJECT_BYTES_MAX: u32 = 1024;
/// The longest name of a host in bytes (`LM_MAXSTRLEN`).
pub const NAME_BYTES_MAX: u32 = 1024;

/// Opaque bytes that one side chose and the other compares or returns (`netobj`): cookies, handles, owners.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Xdr)]
pub struct NetObject(#[xdr(max = OBJECT_BYTES_MAX)] pub Bytes);

/// A byte range of a file and who locks it (`nlm4_lock`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct Lock {
    /// The client host.
    #[xdr(max = NAME_BYTES_MAX)]
    pub caller_name: Bytes,
    /// The file, an NFSv3 handle (RFC 1813 §6.3.2).
    pub file: NetObject,
    /// The owner on the client host.
    pub owner: NetObject,
    /// The process on the client host.
    pub process: i32,
    /// Where the range starts, in bytes.
    pub offset: u64,
    /// Its length in bytes; 0 means to the largest offset.
    pub length: u64,
}

/// The lock that stands in the way (`nlm4_holder`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct Holder {
    /// True for a write lock.
    pub exclusive: bool,
    /// The process that holds it.
    pub process: i32,
    /// The owner that holds it.
    pub owner: NetObject,
    /// Where it starts, in bytes.
    pub offset: u64,
    /// Its length in bytes; 0 means to the largest offset.
    pub length: u64,
}

/// What LOCK, CANCEL, UNLOCK and GRANTED answer (`nlm4_res`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct Response {
    /// That of the request.
    pub cookie: NetObject,
    /// How it ended.
    pub status: Status,
}
