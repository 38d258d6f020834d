//! The additions of a flavor to arguments, replies and results.

use xdr::{Decoder, Encoder};

use super::{AUTH_NONE, STARTTLS};
use crate::Refusal;

/// The proof of a server in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifier {
    /// The number of its flavor.
    pub flavor: u32,
    /// At most [`super::BODY_BYTES_MAX`] bytes.
    pub body: Vec<u8>,
}

impl Verifier {
    /// That of AUTH_NONE.
    pub const NONE: Self = Self { flavor: AUTH_NONE, body: Vec::new() };

    /// That of a reply that offers to upgrade the connection to TLS (RFC 9289 §4.1).
    #[must_use]
    pub fn starttls() -> Self {
        Self { flavor: AUTH_NONE, body: STARTTLS.to_vec() }
    }
}

/// Protects one call and its reply. Services and reply caches see plain arguments and results.
pub trait Protection: Send + 'static {
    /// Takes the protection off the arguments.
    ///
    /// # Errors
    /// The refusal that the caller gets instead.
    fn unwrap(&mut self, arguments: Decoder) -> Result<Decoder, Refusal>;

    /// The verifier of the reply.
    fn verifier(&mut self) -> Verifier;

    /// Protects the results, which begin at `start` in `reply`.
    ///
    /// # Errors
    /// The refusal that the caller gets instead.
    fn wrap(&mut self, reply: &mut Encoder, start: usize) -> Result<(), Refusal>;
}
