//! CREATE: makes a regular file (RFC 1813 §3.3.8).

use xdr::Xdr;

use super::{
    CreateVerifier, DirOpArgs, PostOpAttributes, PostOpHandle, Procedure, Request, SetAttributes, WccData,
};

/// What to do when the name exists (`createhow3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum CreateHow {
    /// Use it, and set its size if one is given (`UNCHECKED`).
    #[xdr(case = 0)]
    Unchecked(SetAttributes),
    /// Fail (`GUARDED`).
    #[xdr(case = 1)]
    Guarded(SetAttributes),
    /// Fail unless the file was made with this verifier (`EXCLUSIVE`).
    #[xdr(case = 2)]
    Exclusive(CreateVerifier),
}

/// Arguments (`CREATE3args`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CreateArgs {
    /// Directory and name.
    pub place: DirOpArgs,
    /// What to do when the name exists.
    pub how: CreateHow,
}

/// Success (`CREATE3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct CreateOk {
    /// The file, unless the server cannot tell.
    pub object: PostOpHandle,
    /// Its attributes.
    pub attributes: PostOpAttributes,
    /// The directory around the operation.
    pub dir: WccData,
}

/// Failure (`CREATE3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct CreateFail {
    /// The directory around the operation.
    pub dir: WccData,
}

impl Request for CreateArgs {
    const PROCEDURE: Procedure = Procedure::Create;
    type Ok = CreateOk;
    type Fail = CreateFail;
}
