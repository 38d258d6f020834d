//! The channel of a connection, as authenticators see it.

use std::sync::Arc;

use super::PeerCertificate;

/// The flavor that asks a server to upgrade the connection (AUTH_TLS, RFC 9289 §4.1).
pub const AUTH_TLS: u32 = 7;

/// The body of the verifier in the reply that offers the upgrade (RFC 9289 §4.1).
pub const STARTTLS: &[u8] = b"STARTTLS";

/// The protection that a connection as a whole has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    /// None.
    Plain,
    /// The connection was upgraded, as with TLS.
    Upgraded {
        /// The certificate by which the upgrade has authenticated the other end; `None` for an anonymous
        /// peer.
        peer: Option<Arc<PeerCertificate>>,
    },
}
