//! Per-message tokens of the Kerberos 5 GSS-API mechanism (RFC 4121 §4.2), without I/O, clock and randomness.
//!
//! A [`Context`] starts from the key of an established security context, as GSS-API libraries export it. It
//! makes and verifies MIC tokens, and wraps and unwraps messages. It is immutable apart from one atomic
//! counter, so all threads use it at once. [`ProtocolKey`] has the operations of an encryption type below it:
//! encryption, decryption and checksum for a key usage (RFC 3961 §3).
//!
//! [`Enctype`] lists the encryption types: AES with HMAC-SHA1 (RFC 3962) and with HMAC-SHA2 (RFC 8009).
//!
//! The tokens of a context have sequence numbers, but nothing here checks their order or finds replays:
//! RPCSEC_GSS has a window of its own for that (RFC 2203 §5.3.3.1).

#![forbid(unsafe_code)]

mod cipher;
mod context;
mod cts;
mod derivation;
mod enctype;
mod error;
mod header;
#[cfg(test)]
mod hex;
mod key;
mod mac;
mod sealing;

pub use context::{Context, Role, Unwrapped, WrapProtection};
pub use enctype::Enctype;
pub use error::Error;
pub use key::ProtocolKey;

/// Random bytes in front of an encrypted message (RFC 3961 §5.3, RFC 8009 §5).
///
/// Each message needs new ones from a cryptographic random number generator. The cipher starts from a fixed
/// initial vector, so two messages with the same confounder show their common beginning.
pub type Confounder = [u8; CONFOUNDER_BYTES];

/// Length of a [`Confounder`] in bytes, one block of AES.
pub const CONFOUNDER_BYTES: usize = 16;
