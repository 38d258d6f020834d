//! What a call says of its caller, before any of it is believed.

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

/// What a call says of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The name.
    pub credential: OpaqueAuth<'a>,
    /// The proof.
    pub verifier: OpaqueAuth<'a>,
    /// The message from its transaction id to the end of the credential: what a verifier signs
    /// (RFC 2203 §5.3.1).
    pub signed: &'a [u8],
    /// Credential and verifier together, as they came.
    pub(super) raw: &'a [u8],
}

/// Where credential and verifier lie in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClaimPlace {
    /// Where the credential begins.
    begin: usize,
    /// Where the verifier begins.
    middle: usize,
    /// Where the arguments begin.
    end: usize,
}

impl ClaimPlace {
    /// Reads over credential and verifier.
    pub(crate) fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        let begin = from.offset();
        from.u32()?;
        from.opaque_ref(BODY_BYTES_MAX)?;
        let middle = from.offset();
        from.u32()?;
        from.opaque_ref(BODY_BYTES_MAX)?;
        Ok(Self { begin, middle, end: from.offset() })
    }

    /// What stands there in `message`, of which it was decoded.
    pub(crate) fn of(self, message: &[u8]) -> Claim<'_> {
        Claim {
            credential: opaque_auth(&message[self.begin..self.middle]),
            verifier: opaque_auth(&message[self.middle..self.end]),
            signed: &message[..self.middle],
            raw: &message[self.begin..self.end],
        }
    }
}

/// A verifier in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VerifierPlace {
    begin: usize,
    end: usize,
}

impl VerifierPlace {
    /// Reads over a verifier.
    pub(crate) fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        let begin = from.offset();
        from.u32()?;
        from.opaque_ref(BODY_BYTES_MAX)?;
        Ok(Self { begin, end: from.offset() })
    }

    /// What stands there in `message`, of which it was decoded.
    pub(crate) fn of(self, message: &[u8]) -> OpaqueAuth<'_> {
        opaque_auth(&message[self.begin..self.end])
    }
}

/// Reads what was decoded before: flavor, length, and a body that is padded.
fn opaque_auth(bytes: &[u8]) -> OpaqueAuth<'_> {
    let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word));
    OpaqueAuth { flavor: word(0), body: &bytes[8..8 + word(4) as usize] }
}
