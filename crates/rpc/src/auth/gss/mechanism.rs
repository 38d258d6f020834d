//! The mechanism below RPCSEC_GSS, such as Kerberos V5: it accepts contexts, and makes and checks their
//! tokens.

use std::time::Duration;

use bytes::Bytes;

use super::wire::MajorStatus;
use crate::BoxFuture;

/// Accepts the contexts of clients (GSS_Accept_sec_context).
///
/// The driver of the connection polls the futures, so they must not block. An acceptor that reads files or
/// asks other processes does so on threads of its own, and bounds their number and the time of each. The
/// authenticator bounds how many contexts are in creation at once (`GssLimits::negotiations_max`).
pub trait Acceptor: Send + Sync + 'static {
    /// Takes the first token of a client.
    fn accept(&self, token: Bytes) -> BoxFuture<Step>;
}

/// A context that needs more tokens of its client.
pub trait Negotiation: Send + 'static {
    /// Takes the next token of the client.
    fn accept(self: Box<Self>, token: Bytes) -> BoxFuture<Step>;
}

/// The outcome of one token.
pub enum Step {
    /// Another token of the client is needed.
    Continue {
        /// For the client's mechanism; at most [`INIT_TOKEN_BYTES_MAX`](super::wire::INIT_TOKEN_BYTES_MAX)
        /// bytes.
        token: Vec<u8>,
        /// Takes the next one.
        negotiation: Box<dyn Negotiation>,
    },
    /// The context is established.
    Complete {
        /// For the client's mechanism, as above; empty if it needs none.
        token: Vec<u8>,
        /// Makes and checks the tokens of the context.
        context: Box<dyn SecurityContext>,
    },
    /// There is no context.
    Failed {
        /// The reason. A status that is no error is sent as GSS_S_FAILURE.
        major: MajorStatus,
        /// The mechanism's own reason.
        minor: u32,
    },
}

/// A token that the mechanism cannot make, or one that is not of the context. The reason is the mechanism's:
/// a client learns only that the token is bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token of the security context is bad")]
pub struct BadToken;

/// An established context. Several threads use it at once, and in any order: the mechanism checks no order
/// and no repetition of its tokens, because RPCSEC_GSS has its own window (RFC 2203 §5.2.2).
pub trait SecurityContext: Send + Sync + 'static {
    /// Returns the MIC of a message (GSS_GetMIC), of at most [`MIC_BYTES_MAX`](super::wire::MIC_BYTES_MAX)
    /// bytes.
    ///
    /// # Errors
    /// When the mechanism cannot make it.
    fn mic(&self, message: &[u8]) -> Result<Vec<u8>, BadToken>;

    /// Checks the client's MIC of a message (GSS_VerifyMIC), in a time that does not depend on its bytes.
    ///
    /// # Errors
    /// When it is not of this message, of this context and of the client.
    fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), BadToken>;

    /// Returns how many bytes of a token of [`SecurityContext::wrap`] are in front of the message.
    fn wrap_head_bytes(&self) -> usize {
        0
    }

    /// Encrypts a message in its place (GSS_Wrap with confidentiality). The message begins
    /// [`SecurityContext::wrap_head_bytes`] behind `start` and goes to the end of `buffer`; afterwards the
    /// token begins at `start` and goes to the end.
    ///
    /// # Errors
    /// When the mechanism cannot make the token. The buffer may then hold anything behind `start`.
    fn wrap(&self, buffer: &mut Vec<u8>, start: usize) -> Result<(), BadToken>;

    /// Returns the message in a token of the client (GSS_Unwrap).
    ///
    /// # Errors
    /// When the token is not of this context and of the client, or has no confidentiality.
    fn unwrap(&self, token: &Bytes) -> Result<Bytes, BadToken>;

    /// Returns the name of the client, such as `ann@EXAMPLE.ORG`: the same bytes for the same principal. A
    /// name of more than [`PRINCIPAL_BYTES_MAX`](super::PRINCIPAL_BYTES_MAX) bytes is refused.
    fn principal(&self) -> &[u8];

    /// Returns how long the context is valid from its establishment; `None` without a bound.
    fn lifetime(&self) -> Option<Duration>;

    /// Returns an estimate of the memory that the context holds, in bytes.
    fn memory_bytes(&self) -> usize {
        1 << 10
    }
}
