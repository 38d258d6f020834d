//! FSINFO: transfer sizes and abilities of a server (RFC 1813 §3.3.19).

use xdr::Xdr;

use super::{FileHandle, PostOpAttributes, Procedure, Request, Time};

/// `FSF3_LINK`: has hard links.
pub const FSINFO_LINK: u32 = 0x01;
/// `FSF3_SYMLINK`: has symbolic links.
pub const FSINFO_SYMLINK: u32 = 0x02;
/// `FSF3_HOMOGENEOUS`: PATHCONF says the same for every object.
pub const FSINFO_HOMOGENEOUS: u32 = 0x08;
/// `FSF3_CANSETTIME`: SETATTR can set times.
pub const FSINFO_CAN_SET_TIME: u32 = 0x10;

/// Arguments (`FSINFO3args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct FsInfoArgs {
    /// An object of the file system.
    pub root: FileHandle,
}

/// Success (`FSINFO3resok`). Sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct FsInfoOk {
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
    /// The largest READ (`rtmax`).
    pub read_max: u32,
    /// The preferred size of a READ (`rtpref`).
    pub read_preferred: u32,
    /// What READ sizes should be multiples of (`rtmult`).
    pub read_multiple: u32,
    /// The largest WRITE (`wtmax`).
    pub write_max: u32,
    /// The preferred size of a WRITE (`wtpref`).
    pub write_preferred: u32,
    /// What WRITE sizes should be multiples of (`wtmult`).
    pub write_multiple: u32,
    /// The preferred size of a READDIR (`dtpref`).
    pub read_dir_preferred: u32,
    /// The largest file (`maxfilesize`).
    pub file_bytes_max: u64,
    /// The granularity of times (`time_delta`).
    pub time_granularity: Time,
    /// A set of `FSINFO_` bits.
    pub properties: u32,
}

/// Failure (`FSINFO3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct FsInfoFail {
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
}

impl Request for FsInfoArgs {
    const PROCEDURE: Procedure = Procedure::FsInfo;
    type Ok = FsInfoOk;
    type Fail = FsInfoFail;
}
