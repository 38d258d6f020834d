//! EXCHANGE_ID (RFC 8881 §18.35).

use bytes::Bytes;
use xdr::{Decode, Decoder, Encode, Encoder, Xdr};

use super::session::{ProtectedOperations, StateProtect};
use super::{ClientId, OPAQUE_BYTES_MAX, SequenceId, Time, Verifier};

/// Bits of `flags`.
pub mod exchange_flags {
    /// The client understands referrals.
    pub const SUPP_MOVED_REFER: u32 = 1;
    /// The client understands migration.
    pub const SUPP_MOVED_MIGR: u32 = 2;
    /// The client would like the server to finish what is under way before it ends a session or a client (RFC
    /// 7862 §14.1).
    pub const SUPP_FENCE_OPS: u32 = 4;
    /// Stateids are bound to principals.
    pub const BIND_PRINC_STATEID: u32 = 0x100;
    /// The server is no pNFS server.
    pub const USE_NON_PNFS: u32 = 0x1_0000;
    /// Metadata server.
    pub const USE_PNFS_MDS: u32 = 0x2_0000;
    /// Data server.
    pub const USE_PNFS_DS: u32 = 0x4_0000;
    /// The request updates a confirmed record.
    pub const UPDATE_CONFIRMED_RECORD: u32 = 0x4000_0000;
    /// The record is confirmed.
    pub const CONFIRMED: u32 = 0x8000_0000;
    /// Bits that a request may have in minor version 1; later ones add [`SUPP_FENCE_OPS`].
    pub const REQUEST_MASK: u32 = 0x4007_0103;
}

/// `nfs_impl_id4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ImplementationId {
    /// Domain of whoever made it.
    #[xdr(max = OPAQUE_BYTES_MAX)]
    pub domain: Bytes,
    /// Its name.
    #[xdr(max = OPAQUE_BYTES_MAX)]
    pub name: Bytes,
    /// When it was built.
    pub date: Time,
}

/// `client_owner4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ClientOwner {
    /// Changes when the client restarts.
    pub verifier: Verifier,
    /// Stays the same.
    #[xdr(max = OPAQUE_BYTES_MAX)]
    pub id: Bytes,
}

/// `EXCHANGE_ID4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ExchangeIdArgs {
    /// The client.
    pub owner: ClientOwner,
    /// See [`exchange_flags`].
    pub flags: u32,
    /// Protection wanted.
    pub state_protect: StateProtect,
    /// What the client is.
    #[xdr(max = 1)]
    pub implementation: Vec<ImplementationId>,
}

/// `server_owner4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ServerOwner {
    /// Tells servers of one owner apart.
    pub minor_id: u64,
    /// The owner.
    #[xdr(max = OPAQUE_BYTES_MAX)]
    pub major_id: Bytes,
}

/// Protection given (`state_protect4_r`) as far as this side knows it: SSV is never given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateProtectResult {
    /// None.
    None,
    /// By the machine's credential.
    MachineCredential(ProtectedOperations),
}

impl Decode for StateProtectResult {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        match from.u32()? {
            0 => Ok(Self::None),
            1 => Ok(Self::MachineCredential(from.get()?)),
            other => Err(from.error_before(4, xdr::ErrorKind::UnknownValue(other))),
        }
    }
}

impl Encode for StateProtectResult {
    fn encode(&self, to: &mut Encoder) {
        match self {
            Self::None => to.u32(0),
            Self::MachineCredential(operations) => {
                to.u32(1);
                to.put(operations);
            }
        }
    }
}

/// `EXCHANGE_ID4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ExchangeIdResult {
    /// The client's number.
    pub client: ClientId,
    /// For its first CREATE_SESSION.
    pub sequence: SequenceId,
    /// See [`exchange_flags`].
    pub flags: u32,
    /// Protection given.
    pub state_protect: StateProtectResult,
    /// Who the server is.
    pub server_owner: ServerOwner,
    /// Within what its numbers mean the same.
    #[xdr(max = OPAQUE_BYTES_MAX)]
    pub server_scope: Bytes,
    /// What the server is.
    #[xdr(max = 1)]
    pub implementation: Vec<ImplementationId>,
}
