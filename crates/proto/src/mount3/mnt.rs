//! MNT: the file handle of a path (RFC 1813 §5.2.1).

use xdr::{Decode, Decoder, Encode, Encoder, Xdr};

use super::Status;
use crate::nfs3::FileHandle;

/// The most flavours of one reply that are decoded.
pub const FLAVORS_MAX: u32 = 64;

/// Success (`mountres3_ok`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct MntOk {
    /// The directory at the path.
    pub handle: FileHandle,
    /// The RPC authentication flavours that it can be used with, best first.
    #[xdr(max = FLAVORS_MAX)]
    pub flavors: Vec<u32>,
}

/// Result (`mountres3`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MntReply {
    /// `MNT3_OK`.
    Ok(MntOk),
    /// Any other status.
    Err(Status),
}

impl Decode for MntReply {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        match Status::decode(from)? {
            Status::Ok => MntOk::decode(from).map(Self::Ok),
            status => Ok(Self::Err(status)),
        }
    }
}

impl Encode for MntReply {
    fn encode(&self, to: &mut Encoder) {
        match self {
            Self::Ok(ok) => to.put(&(Status::Ok, ok)),
            Self::Err(status) => to.put(status),
        }
    }
}
