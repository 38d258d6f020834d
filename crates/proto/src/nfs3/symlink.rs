//! SYMLINK: makes a symbolic link (RFC 1813 §3.3.10).

use bytes::Bytes;
use xdr::Xdr;

use super::{
    DirOpArgs, PATH_BYTES_MAX, PostOpAttributes, PostOpHandle, Procedure, Request, SetAttributes, WccData,
};

/// Arguments (`SYMLINK3args`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct SymlinkArgs {
    /// Directory and name.
    pub place: DirOpArgs,
    /// Attributes of the new link.
    pub attributes: SetAttributes,
    /// Its target, which the server does not look at.
    #[xdr(max = PATH_BYTES_MAX)]
    pub target: Bytes,
}

/// Success (`SYMLINK3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct SymlinkOk {
    /// The link, unless the server cannot tell.
    pub object: PostOpHandle,
    /// Its attributes.
    pub attributes: PostOpAttributes,
    /// The directory around the operation.
    pub dir: WccData,
}

/// Failure (`SYMLINK3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct SymlinkFail {
    /// The directory around the operation.
    pub dir: WccData,
}

impl Request for SymlinkArgs {
    const PROCEDURE: Procedure = Procedure::Symlink;
    type Ok = SymlinkOk;
    type Fail = SymlinkFail;
}
