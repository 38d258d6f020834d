//! CREATE (RFC 8881 §18.4): everything but regular files.

use bytes::Bytes;
use xdr::Xdr;

use super::attributes::{Bitmap, SpecData};
use super::{COMPONENT_BYTES_MAX, ChangeInfo};

/// Longest target of a symbolic link that is decoded, in bytes.
pub const LINK_BYTES_MAX: u32 = 8192;

/// What to make (`createtype4`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub enum CreateType {
    /// Directory.
    #[xdr(case = 2)]
    Directory,
    /// Block device.
    #[xdr(case = 3)]
    Block(SpecData),
    /// Character device.
    #[xdr(case = 4)]
    Character(SpecData),
    /// Symbolic link with its target.
    #[xdr(case = 5)]
    Symlink(#[xdr(max = LINK_BYTES_MAX)] Bytes),
    /// Socket.
    #[xdr(case = 6)]
    Socket,
    /// Named pipe.
    #[xdr(case = 7)]
    Fifo,
    /// A type that this operation does not make (NFS4ERR_BADTYPE).
    #[xdr(default)]
    Other(u32),
}

/// `CREATE4args` up to the attributes, which follow as a `fattr4` and are decoded apart, because an attribute
/// of unknown type has a status of its own.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CreateArgs {
    /// What to make.
    pub kind: CreateType,
    /// Its name in the current directory.
    #[xdr(max = COMPONENT_BYTES_MAX)]
    pub name: Bytes,
}

/// `CREATE4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CreateResult {
    /// Change of the directory.
    pub change: ChangeInfo,
    /// Attributes that were set.
    pub attributes_set: Bitmap,
}
