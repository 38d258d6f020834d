//! PATHCONF: POSIX's limits for an object (RFC 1813 §3.3.20).

use xdr::Xdr;

use super::{FileHandle, PostOpAttributes, Procedure, Request};

/// Arguments (`PATHCONF3args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct PathConfArgs {
    /// The object.
    pub object: FileHandle,
}

/// Success (`PATHCONF3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct PathConfOk {
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
    /// The most hard links to one object.
    pub links_max: u32,
    /// The longest name in bytes.
    pub name_bytes_max: u32,
    /// True when a longer name is an error and not cut off.
    pub no_truncation: bool,
    /// True when only a privileged caller may give a file away.
    pub chown_restricted: bool,
    /// True when names are compared without regard to case.
    pub case_insensitive: bool,
    /// True when the case of names is kept.
    pub case_preserving: bool,
}

/// Failure (`PATHCONF3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct PathConfFail {
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
}

impl Request for PathConfArgs {
    const PROCEDURE: Procedure = Procedure::PathConf;
    type Ok = PathConfOk;
    type Fail = PathConfFail;
}
