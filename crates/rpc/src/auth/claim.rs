//! The claim that a call makes of its caller, before any of it is believed.

use xdr::Decoder;

use super::BODY_BYTES_MAX;

/// A credential or verifier as it came (`opaque_auth`, RFC 5531 §8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpaqueAuth<'a> {
    /// The number of its flavor.
    pub flavor: u32,
    /// At most [`BODY_BYTES_MAX`] bytes.
    pub body: &'a [u8],
}

/// The claim that a call makes of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The name.
    pub credential: OpaqueAuth<'a>,
    /// The proof.
    pub verifier: OpaqueAuth<'a>,
    /// The message from its transaction id to the end of the credential. A verifier signs it
    /// (RFC 2203 §5.3.1).
    pub signed: &'a [u8],
    /// Credential and verifier together, as they came.
    pub(super) raw: &'a [u8],
}

/// The place of a credential or verifier in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthPlace {
    begin: usize,
    end: usize,
}

impl AuthPlace {
    /// Reads over it.
    pub(crate) fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        let begin = from.offset();
        from.u32()?;
        from.opaque_ref(BODY_BYTES_MAX)?;
        Ok(Self { begin, end: from.offset() })
    }

    /// Returns the credential or verifier in `message`, which is the message that was decoded.
    ///
    /// # Panics
    /// When `message` is shorter than the message that was decoded.
    #[inline]
    pub fn of(self, message: &[u8]) -> OpaqueAuth<'_> {
        let bytes = &message[self.begin..self.end];
        // Flavor, length, and a body that is padded: `decode` has checked them.
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word));
        OpaqueAuth { flavor: word(0), body: &bytes[8..8 + word(4) as usize] }
    }
}

/// The places of credential and verifier in a message, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimPlace {
    credential: AuthPlace,
    verifier: AuthPlace,
}

impl ClaimPlace {
    /// Reads over both.
    pub(crate) fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        Ok(Self { credential: AuthPlace::decode(from)?, verifier: AuthPlace::decode(from)? })
    }

    /// Returns the claim in `message`, which is the message that was decoded.
    ///
    /// # Panics
    /// When `message` is shorter than the message that was decoded.
    #[inline]
    pub fn of(self, message: &[u8]) -> Claim<'_> {
        Claim {
            credential: self.credential.of(message),
            verifier: self.verifier.of(message),
            signed: &message[..self.credential.end],
            raw: &message[self.credential.begin..self.verifier.end],
        }
    }
}
