//! SETXATTR (RFC 8276 §8.4.2).

use bytes::Bytes;
use xdr::Xdr;

use super::{COMPONENT_BYTES_MAX, ChangeInfo, DATA_BYTES_MAX};

/// Whether the attribute may, must or must not be there before (`setxattr_option4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum SetXattrOption {
    /// It may.
    Either = 0,
    /// It must not.
    Create = 1,
    /// It must.
    Replace = 2,
}

/// `SETXATTR4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct SetXattrArgs {
    /// What may be there before.
    pub option: SetXattrOption,
    /// Its name, without a namespace.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub name: Bytes,
    /// Its value. One that is too long is NFS4ERR_XATTR2BIG, and not a decoding error.
    #[xdr(max = DATA_BYTES_MAX)]
    pub value: Bytes,
}

/// The result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct SetXattrResult {
    /// Change of the object.
    pub change: ChangeInfo,
}
