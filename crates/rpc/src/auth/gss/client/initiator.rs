//! The mechanism of a client, as it begins contexts.

use bytes::Bytes;

use crate::BoxFuture;
use crate::auth::UnixUser;
use crate::auth::gss::mechanism::SecurityContext;
use crate::auth::gss::wire::MajorStatus;

/// Begins the contexts of a client (GSS_Init_sec_context).
///
/// The futures are polled among other tasks of the client, so they must not block: a key distribution center
/// is asked on another thread.
pub trait Initiator: Send + Sync + 'static {
    /// Begins a context of a user, or of the client itself.
    fn begin(&self, user: Option<UnixUser>) -> BoxFuture<InitiatorStep>;
}

/// A context that needs a token of its server.
pub trait Initiation: Send + 'static {
    /// Takes the token; it is empty if the server has sent none.
    fn accept(self: Box<Self>, token: Bytes) -> BoxFuture<InitiatorStep>;
}

/// The outcome of one token of the server, or of the beginning.
pub enum InitiatorStep {
    /// The server takes this token, and its own is needed.
    Continue {
        /// At most [`INIT_TOKEN_BYTES_MAX`](crate::auth::gss::wire::INIT_TOKEN_BYTES_MAX) bytes.
        token: Vec<u8>,
        /// Takes the server's.
        initiation: Box<dyn Initiation>,
    },
    /// The context is established at this end.
    Complete {
        /// The last token for the server, if it needs one.
        token: Option<Vec<u8>>,
        /// Makes and checks the tokens of the context.
        context: Box<dyn SecurityContext>,
    },
    /// There is no context: the user has no ticket, or the server's token is bad.
    Failed {
        /// The reason.
        major: MajorStatus,
        /// The mechanism's own reason.
        minor: u32,
    },
}
