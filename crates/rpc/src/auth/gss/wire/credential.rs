//! The body of a credential (`rpc_gss_cred_t`, RFC 2203 §5).

use bytes::Bytes;
use xdr::{Decode, Decoder, Encode, Encoder, ErrorKind, Xdr};

use crate::auth::gss::GssService;

/// The version of the protocol (`RPCSEC_GSS_VERS_1`).
const VERSION_1: u32 = 1;

/// The longest handle of a context that is decoded, in bytes. The handles of this server are shorter.
pub const HANDLE_BYTES_MAX: u32 = 64;

/// The purpose of a call (`rpc_gss_proc_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum GssProcedure {
    /// `RPCSEC_GSS_DATA`: a call of a service.
    Data = 0,
    /// `RPCSEC_GSS_INIT`: begins a context.
    Init = 1,
    /// `RPCSEC_GSS_CONTINUE_INIT`: goes on with a context that was begun.
    ContinueInit = 2,
    /// `RPCSEC_GSS_DESTROY`: ends a context.
    Destroy = 3,
}

/// The body of a credential of RPCSEC_GSS version 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GssCredential {
    /// The purpose of the call.
    pub procedure: GssProcedure,
    /// The number of the request in its context; undefined in context creation.
    pub sequence: u32,
    /// The protection of arguments and results; undefined in context creation, where any number passes as
    /// [`GssService::None`].
    pub service: GssService,
    /// The context; empty in the first request.
    pub handle: Bytes,
}

/// The reason why the body of a credential is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadGssCredential {
    /// Versions above 1 are not spoken; version 2 is RFC 5403.
    #[error("RPCSEC_GSS version {version} is not supported")]
    Version {
        /// The version that the client speaks.
        version: u32,
        /// True when the body goes on with a procedure that creates a context.
        is_creation: bool,
    },
    /// The body is cut off, too long, or has a number that is not defined.
    #[error("the credential of RPCSEC_GSS is malformed: {0}")]
    Malformed(xdr::Error),
}

impl From<xdr::Error> for BadGssCredential {
    fn from(error: xdr::Error) -> Self {
        Self::Malformed(error)
    }
}

impl GssCredential {
    /// Decodes the whole body of a credential.
    ///
    /// # Errors
    /// [`BadGssCredential`].
    pub fn decode(body: &[u8]) -> Result<Self, BadGssCredential> {
        let mut from = Decoder::new(Bytes::copy_from_slice(body));
        let version = from.u32()?;
        if version != VERSION_1 {
            let is_creation = GssProcedure::decode(&mut from).is_ok_and(GssProcedure::is_creation);
            return Err(BadGssCredential::Version { version, is_creation });
        }
        let procedure = GssProcedure::decode(&mut from)?;
        let sequence = from.u32()?;
        let service = match (from.u32()?, procedure.is_creation()) {
            (1, _) | (_, true) => GssService::None,
            (2, false) => GssService::Integrity,
            (3, false) => GssService::Privacy,
            (other, false) => return Err(from.error_before(4, ErrorKind::UnknownValue(other)).into()),
        };
        let handle = from.opaque(HANDLE_BYTES_MAX)?;
        from.finish()?;
        Ok(Self { procedure, sequence, service, handle })
    }
}

impl Encode for GssCredential {
    fn encode(&self, to: &mut Encoder) {
        to.u32(VERSION_1);
        self.procedure.encode(to);
        to.u32(self.sequence);
        self.service.encode(to);
        to.opaque(&self.handle);
    }
}

impl GssProcedure {
    /// True of INIT and CONTINUE_INIT.
    #[must_use]
    pub fn is_creation(self) -> bool {
        matches!(self, Self::Init | Self::ContinueInit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn credential_has_the_words_of_the_standard() {
        let handle = Bytes::from_static(b"abcde");
        let service = GssService::Privacy;
        let credential = GssCredential { procedure: GssProcedure::Destroy, sequence: 9, service, handle };
        let body = [words(&[1, 3, 9, 3, 5]), b"abcde\0\0\0".to_vec()].concat();
        assert_eq!(xdr::to_bytes(&credential), body);
        assert_eq!(GssCredential::decode(&body), Ok(credential));
    }

    #[test]
    fn malformed_bodies_are_refused() {
        let good = [words(&[1, 0, 9, 1, 4]), b"abcd".to_vec()].concat();
        assert!(GssCredential::decode(&good).is_ok());
        for length in 0..good.len() {
            assert!(GssCredential::decode(&good[..length]).is_err(), "{length} bytes");
        }
        let cases = [
            ("a procedure above DESTROY", words(&[1, 4, 9, 1, 0])),
            ("service 0", words(&[1, 0, 9, 0, 0])),
            ("a service above privacy", words(&[1, 0, 9, 4, 0])),
            ("a long handle", [words(&[1, 0, 9, 1, 68]), vec![7; 68]].concat()),
            ("padding that is not zero", [words(&[1, 0, 9, 1, 1]), vec![7, 0, 0, 1]].concat()),
            ("bytes behind the handle", words(&[1, 0, 9, 1, 0, 0])),
        ];
        for (case, body) in cases {
            let refused = GssCredential::decode(&body);
            assert!(matches!(refused, Err(BadGssCredential::Malformed(_))), "{case}: {refused:?}");
        }
    }

    #[test]
    fn creation_ignores_the_service() {
        for (procedure, service) in [(1, 0), (1, 9), (2, u32::MAX)] {
            let credential = GssCredential::decode(&words(&[1, procedure, 9, service, 0])).unwrap();
            assert_eq!(credential.service, GssService::None);
        }
    }

    #[test]
    fn other_versions_are_told_apart_from_malformed_bodies() {
        for (body, version, is_creation) in
            [(words(&[2, 1, 0, 1, 0]), 2, true), (words(&[0]), 0, false), (words(&[3, 0]), 3, false)]
        {
            let refused = GssCredential::decode(&body);
            assert_eq!(refused, Err(BadGssCredential::Version { version, is_creation }));
        }
    }
}
