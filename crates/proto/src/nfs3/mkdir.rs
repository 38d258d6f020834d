//! MKDIR: makes a directory (RFC 1813 §3.3.9).

use xdr::Xdr;

use super::{DirOpArgs, PostOpAttributes, PostOpHandle, Procedure, Request, SetAttributes, WccData};

/// Arguments (`MKDIR3args`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct MkDirArgs {
    /// Directory and name.
    pub place: DirOpArgs,
    /// Attributes of the new directory.
    pub attributes: SetAttributes,
}

/// Success (`MKDIR3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct MkDirOk {
    /// The new directory, unless the server cannot tell.
    pub object: PostOpHandle,
    /// Its attributes.
    pub attributes: PostOpAttributes,
    /// The directory around the operation.
    pub dir: WccData,
}

/// Failure (`MKDIR3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct MkDirFail {
    /// The directory around the operation.
    pub dir: WccData,
}

impl Request for MkDirArgs {
    const PROCEDURE: Procedure = Procedure::MkDir;
    type Ok = MkDirOk;
    type Fail = MkDirFail;
}
