//! LOOKUP: finds a name in a directory (RFC 1813 §3.3.3).

use xdr::Xdr;

use super::{DirOpArgs, FileHandle, PostOpAttributes, Procedure, Request};

/// Arguments (`LOOKUP3args`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct LookupArgs {
    /// Directory and name.
    pub what: DirOpArgs,
}

/// Success (`LOOKUP3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct LookupOk {
    /// The object found.
    pub object: FileHandle,
    /// Its attributes.
    pub attributes: PostOpAttributes,
    /// Attributes of the directory.
    pub dir: PostOpAttributes,
}

/// Failure (`LOOKUP3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct LookupFail {
    /// Attributes of the directory.
    pub dir: PostOpAttributes,
}

impl Request for LookupArgs {
    const PROCEDURE: Procedure = Procedure::Lookup;
    type Ok = LookupOk;
    type Fail = LookupFail;
}
