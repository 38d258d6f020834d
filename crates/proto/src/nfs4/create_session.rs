//! CREATE_SESSION (RFC 8881 §18.36).

use xdr::Xdr;

use super::session::{CALLBACK_SECURITY_MAX, CallbackSecurity, ChannelAttributes};
use super::{ClientId, SequenceId, SessionId};

/// Bits of `flags`.
pub mod session_flags {
    /// The reply cache survives a restart.
    pub const PERSIST: u32 = 1;
    /// The connection carries callbacks too.
    pub const CONN_BACK_CHAN: u32 = 2;
    /// The connection steps up to RDMA.
    pub const CONN_RDMA: u32 = 4;
    /// All of them.
    pub const ALL: u32 = 7;
}

/// `CREATE_SESSION4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CreateSessionArgs {
    /// The client.
    pub client: ClientId,
    /// One more than in the last CREATE_SESSION, or as EXCHANGE_ID told.
    pub sequence: SequenceId,
    /// See [`session_flags`].
    pub flags: u32,
    /// Wishes for requests.
    pub fore_channel: ChannelAttributes,
    /// Wishes for callbacks.
    pub back_channel: ChannelAttributes,
    /// The client's callback program.
    pub callback_program: u32,
    /// How callbacks may be authenticated.
    #[xdr(max = CALLBACK_SECURITY_MAX)]
    pub callback_security: Vec<CallbackSecurity>,
}

/// `CREATE_SESSION4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CreateSessionResult {
    /// The session.
    pub session: SessionId,
    /// As in the request.
    pub sequence: SequenceId,
    /// See [`session_flags`].
    pub flags: u32,
    /// Limits of requests.
    pub fore_channel: ChannelAttributes,
    /// Limits of callbacks.
    pub back_channel: ChannelAttributes,
}
