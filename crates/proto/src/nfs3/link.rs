//! LINK: gives an object one more name (RFC 1813 §3.3.15).

use xdr::Xdr;

use super::{DirOpArgs, FileHandle, PostOpAttributes, Procedure, Request, WccData};

/// Arguments (`LINK3args`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct LinkArgs {
    /// The object.
    pub file: FileHandle,
    /// Directory and name of the new link.
    pub link: DirOpArgs,
}

/// Success (`LINK3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct LinkOk {
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
    /// The directory of the new link around the operation.
    pub dir: WccData,
}

/// Failure (`LINK3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct LinkFail {
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
    /// The directory of the new link around the operation.
    pub dir: WccData,
}

impl Request for LinkArgs {
    const PROCEDURE: Procedure = Procedure::Link;
    type Ok = LinkOk;
    type Fail = LinkFail;
}
