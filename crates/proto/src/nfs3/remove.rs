//! REMOVE: removes a name that is not a directory's (RFC 1813 §3.3.12).

use xdr::Xdr;

use super::{DirOpArgs, Procedure, Request, WccData};

/// Arguments (`REMOVE3args`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct RemoveArgs {
    /// Directory and name.
    pub object: DirOpArgs,
}

/// Success (`REMOVE3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct RemoveOk {
    /// The directory around the operation.
    pub dir: WccData,
}

/// Failure (`REMOVE3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct RemoveFail {
    /// The directory around the operation.
    pub dir: WccData,
}

impl Request for RemoveArgs {
    const PROCEDURE: Procedure = Procedure::Remove;
    type Ok = RemoveOk;
    type Fail = RemoveFail;
}
