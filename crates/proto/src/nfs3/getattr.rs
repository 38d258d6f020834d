//! GETATTR: the attributes of an object (RFC 1813 §3.3.1).

use xdr::Xdr;

use super::{FileAttributes, FileHandle, Procedure, Request};

/// Arguments (`GETATTR3args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct GetAttrArgs {
    /// The object.
    pub object: FileHandle,
}

/// Success (`GETATTR3resok`). A failure has no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct GetAttrOk {
    /// Its attributes.
    pub attributes: FileAttributes,
}

impl Request for GetAttrArgs {
    const PROCEDURE: Procedure = Procedure::GetAttr;
    type Ok = GetAttrOk;
    type Fail = ();
}
