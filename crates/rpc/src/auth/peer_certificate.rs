//! The certificate by which the upgrade of a connection has authenticated the other end.

use bytes::Bytes;

/// A verified certificate (RFC 5280), with the parts of it that rules look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PeerCertificate {
    /// The whole certificate (DER).
    pub der: Bytes,
    /// Its serial number, big-endian. An authority gives each number once.
    pub serial: Vec<u8>,
    /// The host names among its alternative names.
    pub dns_names: Vec<String>,
    /// The URIs among its alternative names.
    pub uris: Vec<String>,
    /// The SHA-256 digest of its public key (SubjectPublicKeyInfo, DER).
    pub key_sha256: [u8; 32],
    /// The SHA-256 digest of the authority's certificate (DER) that it was verified with; `None` where the
    /// upgrade does not tell.
    pub authority_sha256: Option<[u8; 32]>,
}
