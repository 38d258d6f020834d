//! What several operations on sessions share (RFC 8881 §18.33 – §18.36).

use bytes::Bytes;
use xdr::Xdr;

use super::attributes::Bitmap;

/// Longest part of a security parameter in bytes.
const SECURITY_BYTES_MAX: u32 = 1024;
/// The most flavours that a client offers for callbacks.
pub(crate) const CALLBACK_SECURITY_MAX: u32 = 16;

/// Limits of a channel (`channel_attrs4`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ChannelAttributes {
    /// Padding before the data of a WRITE, in bytes; for RDMA.
    pub header_pad_bytes: u32,
    /// Longest request in bytes, RPC header included.
    pub request_bytes_max: u32,
    /// Longest reply in bytes, RPC header included.
    pub response_bytes_max: u32,
    /// Longest reply that is cached, in bytes, RPC header included.
    pub cached_response_bytes_max: u32,
    /// The most operations in a COMPOUND.
    pub operations_max: u32,
    /// The most requests under way: the number of slots.
    pub requests_max: u32,
    /// For RDMA.
    #[xdr(max = 1)]
    pub rdma_ird: Vec<u32>,
}

/// `authsys_parms` of a callback (RFC 5531 appendix A).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CallbackAuthSys {
    /// Arbitrary.
    pub stamp: u32,
    /// Host.
    #[xdr(max = 255)]
    pub machine_name: Bytes,
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Groups.
    #[xdr(max = 16)]
    pub gids: Vec<u32>,
}

/// `gss_cb_handles4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CallbackGss {
    /// Service.
    pub service: u32,
    /// Handle from the server.
    #[xdr(max = SECURITY_BYTES_MAX)]
    pub server_handle: Bytes,
    /// Handle from the client.
    #[xdr(max = SECURITY_BYTES_MAX)]
    pub client_handle: Bytes,
}

/// How callbacks are authenticated (`callback_sec_parms4`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub enum CallbackSecurity {
    /// `AUTH_NONE`.
    #[xdr(case = 0)]
    None,
    /// `AUTH_SYS`.
    #[xdr(case = 1)]
    Sys(CallbackAuthSys),
    /// `RPCSEC_GSS`.
    #[xdr(case = 6)]
    Gss(CallbackGss),
}

/// Operations, as a set of bits by their numbers.
pub type OperationSet = Bitmap;

/// `state_protect_ops4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ProtectedOperations {
    /// Must be protected.
    pub must_enforce: OperationSet,
    /// May be protected.
    pub must_allow: OperationSet,
}

/// `ssv_sp_parms4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct SsvParameters {
    /// Which operations.
    pub operations: ProtectedOperations,
    /// Hash algorithms offered.
    #[xdr(max = 16)]
    pub hash_algorithms: Vec<Oid>,
    /// Encryption algorithms offered.
    #[xdr(max = 16)]
    pub encryption_algorithms: Vec<Oid>,
    /// Window of old secrets.
    pub window: u32,
    /// GSS handles wanted.
    pub gss_handles: u32,
}

/// `sec_oid4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct Oid(#[xdr(max = SECURITY_BYTES_MAX)] pub Bytes);

/// How a client's state is protected (`state_protect4_a`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub enum StateProtect {
    /// Not.
    #[xdr(case = 0)]
    None,
    /// By the machine's credential.
    #[xdr(case = 1)]
    MachineCredential(ProtectedOperations),
    /// By a shared secret.
    #[xdr(case = 2)]
    Ssv(SsvParameters),
}
