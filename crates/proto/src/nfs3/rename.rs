//! RENAME: gives an object another name (RFC 1813 §3.3.14).

use xdr::Xdr;

use super::{DirOpArgs, Procedure, Request, WccData};

/// Arguments (`RENAME3args`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct RenameArgs {
    /// The present directory and name.
    pub from: DirOpArgs,
    /// The new directory and name.
    pub to: DirOpArgs,
}

/// Success (`RENAME3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct RenameOk {
    /// The present directory around the operation.
    pub from_dir: WccData,
    /// The new directory around the operation.
    pub to_dir: WccData,
}

/// Failure (`RENAME3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct RenameFail {
    /// The present directory around the operation.
    pub from_dir: WccData,
    /// The new directory around the operation.
    pub to_dir: WccData,
}

impl Request for RenameArgs {
    const PROCEDURE: Procedure = Procedure::Rename;
    type Ok = RenameOk;
    type Fail = RenameFail;
}
