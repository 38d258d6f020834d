//! BIND_CONN_TO_SESSION and BACKCHANNEL_CTL (RFC 8881 §18.34, §18.33).

use xdr::Xdr;

use super::SessionId;
use super::session::{CALLBACK_SECURITY_MAX, CallbackSecurity};

/// What a client wants a connection for (`channel_dir_from_client4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum DirectionFromClient {
    /// Requests.
    Fore = 1,
    /// Callbacks.
    Back = 2,
    /// Requests, and callbacks if possible.
    ForeOrBoth = 3,
    /// Callbacks, and requests if possible.
    BackOrBoth = 7,
}

/// What a connection is for (`channel_dir_from_server4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum DirectionFromServer {
    /// Requests.
    Fore = 1,
    /// Callbacks.
    Back = 2,
    /// Both.
    Both = 3,
}

/// `BIND_CONN_TO_SESSION4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct BindConnToSessionArgs {
    /// The session.
    pub session: SessionId,
    /// What for.
    pub direction: DirectionFromClient,
    /// The connection steps up to RDMA.
    pub rdma: bool,
}

/// `BIND_CONN_TO_SESSION4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct BindConnToSessionResult {
    /// The session.
    pub session: SessionId,
    /// What for.
    pub direction: DirectionFromServer,
    /// The connection steps up to RDMA.
    pub rdma: bool,
}

/// `BACKCHANNEL_CTL4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct BackchannelCtlArgs {
    /// The client's callback program.
    pub callback_program: u32,
    /// How callbacks may be authenticated.
    #[xdr(max = CALLBACK_SECURITY_MAX)]
    pub callback_security: Vec<CallbackSecurity>,
}
