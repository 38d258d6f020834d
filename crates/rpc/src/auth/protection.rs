//! The additions of a flavor to arguments, replies and results.

use xdr::{Decoder, Encoder};

use super::{AUTH_NONE, STARTTLS};
use crate::{Disposition, Refusal};

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
///
/// The order of calls is `verifier`, `unwrap`, `begin`, `wrap`. A call that is refused ends before.
pub trait Protection: Send + 'static {
    /// Returns the verifier of the reply, also of one that refuses the call (RFC 2203 §5.3.3.2).
    fn verifier(&mut self) -> Verifier;

    /// Takes the protection off the arguments.
    ///
    /// # Errors
    /// The refusal that the caller gets instead.
    fn unwrap(&mut self, arguments: Decoder) -> Result<Decoder, Refusal>;

    /// Appends the bytes that the flavor has in front of the results, so that `wrap` need not move them.
    fn begin(&mut self, _reply: &mut Encoder) {}

    /// Protects the results. The bytes of `begin` and the results behind them start at `start` in `reply`.
    /// [`Disposition::Drop`] when they cannot be protected and the flavor wants no reply then
    /// (RFC 2203 §5.3.3.4.4).
    ///
    /// # Errors
    /// The refusal that the caller gets instead.
    fn wrap(&mut self, reply: &mut Encoder, start: usize) -> Result<Disposition, Refusal>;
}
