//! ACCESS: what the caller may do with an object (RFC 1813 §3.3.4).

use xdr::Xdr;

use super::{FileHandle, PostOpAttributes, Procedure, Request};

/// `ACCESS3_READ`: read data or list a directory.
pub const ACCESS_READ: u32 = 0x01;
/// `ACCESS3_LOOKUP`: look up a name in a directory.
pub const ACCESS_LOOKUP: u32 = 0x02;
/// `ACCESS3_MODIFY`: change existing data or entries.
pub const ACCESS_MODIFY: u32 = 0x04;
/// `ACCESS3_EXTEND`: write new data or add entries.
pub const ACCESS_EXTEND: u32 = 0x08;
/// `ACCESS3_DELETE`: delete an entry of a directory.
pub const ACCESS_DELETE: u32 = 0x10;
/// `ACCESS3_EXECUTE`: run a file.
pub const ACCESS_EXECUTE: u32 = 0x20;

/// Arguments (`ACCESS3args`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct AccessArgs {
    /// The object.
    pub object: FileHandle,
    /// The permissions asked about, a set of `ACCESS_` bits.
    pub access: u32,
}

/// Success (`ACCESS3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct AccessOk {
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
    /// The permissions that the caller has, of those asked about.
    pub access: u32,
}

/// Failure (`ACCESS3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct AccessFail {
    /// Attributes of the object.
    pub attributes: PostOpAttributes,
}

impl Request for AccessArgs {
    const PROCEDURE: Procedure = Procedure::Access;
    type Ok = AccessOk;
    type Fail = AccessFail;
}
