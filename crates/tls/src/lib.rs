//! RPC-with-TLS (RFC 9289): an upgrade of a connection's stream to TLS 1.3, for servers and clients.
//!
//! A [`ServerUpgrade`] and a [`ClientUpgrade`] perform the handshake; both give a stream that encrypts and
//! decrypts in user space. Certificates and keys come from PEM files ([`CertificateFiles`]). The
//! server's exports decide about the rights of a client's certificate: this crate reports it.

#![forbid(unsafe_code)]

mod certificate;
mod client;
mod error;
mod files;
mod handshake;
mod server;
mod sessions;
mod stream;

pub use client::{ClientUpgrade, ServerTrust};
pub use error::Error;
pub use files::CertificateFiles;
pub use server::{ClientTrust, ServerUpgrade};

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// The application protocol that both ends name (ALPN, RFC 9289 §4.1). Its absence is accepted: the
/// handshake agent of Linux names none over TCP.
const ALPN: &[u8] = b"sunrpc";

/// The implementation of the algorithms.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
