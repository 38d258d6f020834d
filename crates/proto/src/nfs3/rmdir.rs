//! RMDIR: removes an empty directory (RFC 1813 §3.3.13).

use xdr::Xdr;

use super::{DirOpArgs, Procedure, Request, WccData};

/// Arguments (`RMDIR3args`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct RmDirArgs {
    /// Directory and name.
    pub object: DirOpArgs,
}

/// Success (`RMDIR3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct RmDirOk {
    /// The directory around the operation.
    pub dir: WccData,
}

/// Failure (`RMDIR3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct RmDirFail {
    /// The directory around the operation.
    pub dir: WccData,
}

impl Request for RmDirArgs {
    const PROCEDURE: Procedure = Procedure::RmDir;
    type Ok = RmDirOk;
    type Fail = RmDirFail;
}
