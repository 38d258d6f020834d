//! DESTROY_SESSION and DESTROY_CLIENTID (RFC 8881 §18.37, §18.50).

use xdr::Xdr;

use super::{ClientId, SessionId};

/// `DESTROY_SESSION4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct DestroySessionArgs {
    /// The session.
    pub session: SessionId,
}

/// `DESTROY_CLIENTID4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct DestroyClientIdArgs {
    /// The client.
    pub client: ClientId,
}
