//! SETATTR: sets attributes of an object (RFC 1813 §3.3.2).

use xdr::Xdr;

use super::{FileHandle, Procedure, Request, SetAttributes, Time, WccData};

/// Arguments (`SETATTR3args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct SetAttrArgs {
    /// The object.
    pub object: FileHandle,
    /// What to set.
    pub attributes: SetAttributes,
    /// Set only if the object's `changed` time is this one (`sattrguard3`).
    pub guard: Option<Time>,
}

/// Success (`SETATTR3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct SetAttrOk {
    /// The object around the operation.
    pub object: WccData,
}

/// Failure (`SETATTR3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct SetAttrFail {
    /// The object around the operation.
    pub object: WccData,
}

impl Request for SetAttrArgs {
    const PROCEDURE: Procedure = Procedure::SetAttr;
    type Ok = SetAttrOk;
    type Fail = SetAttrFail;
}
