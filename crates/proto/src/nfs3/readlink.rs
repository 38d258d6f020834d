//! READLINK: the target of a symbolic link (RFC 1813 §3.3.5).

use bytes::Bytes;
use xdr::Xdr;

use super::{FileHandle, PATH_BYTES_MAX, PostOpAttributes, Procedure, Request};

/// Arguments (`READLINK3args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct ReadLinkArgs {
    /// The link.
    pub symlink: FileHandle,
}

/// Success (`READLINK3resok`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReadLinkOk {
    /// Attributes of the link.
    pub attributes: PostOpAttributes,
    /// Its target.
    #[xdr(max = PATH_BYTES_MAX)]
    pub target: Bytes,
}

/// Failure (`READLINK3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct ReadLinkFail {
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
}

impl Request for ReadLinkArgs {
    const PROCEDURE: Procedure = Procedure::ReadLink;
    type Ok = ReadLinkOk;
    type Fail = ReadLinkFail;
}
