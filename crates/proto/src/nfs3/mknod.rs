//! MKNOD: makes a device, socket or named pipe (RFC 1813 §3.3.11).

use xdr::Xdr;

use super::{Device, DirOpArgs, PostOpAttributes, PostOpHandle, Procedure, Request, SetAttributes, WccData};

/// A device to make (`devicedata3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct DeviceData {
    /// Attributes.
    pub attributes: SetAttributes,
    /// Device numbers.
    pub device: Device,
}

/// What to make (`mknoddata3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum MkNodData {
    /// Block device (`NF3BLK`).
    #[xdr(case = 3)]
    Block(DeviceData),
    /// Character device (`NF3CHR`).
    #[xdr(case = 4)]
    Character(DeviceData),
    /// Socket (`NF3SOCK`).
    #[xdr(case = 6)]
    Socket(SetAttributes),
    /// Named pipe (`NF3FIFO`).
    #[xdr(case = 7)]
    Fifo(SetAttributes),
    /// A type that MKNOD does not make: NFS3ERR_BADTYPE.
    #[xdr(default)]
    Other(u32),
}

/// Arguments (`MKNOD3args`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct MkNodArgs {
    /// Directory and name.
    pub place: DirOpArgs,
    /// What to make.
    pub what: MkNodData,
}

/// Success (`MKNOD3resok`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct MkNodOk {
    /// The new object, unless the server cannot tell.
    pub object: PostOpHandle,
    /// Its attributes.
    pub attributes: PostOpAttributes,
    /// The directory around the operation.
    pub dir: WccData,
}

/// Failure (`MKNOD3resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
pub struct MkNodFail {
    /// The directory around the operation.
    pub dir: WccData,
}

impl Request for MkNodArgs {
    const PROCEDURE: Procedure = Procedure::MkNod;
    type Ok = MkNodOk;
    type Fail = MkNodFail;
}
