//! Credentials and why they are refused (RFC 5531 §8, §9, appendix A).

use bytes::Bytes;
use xdr::{Decode, Decoder, Encode, Encoder, Xdr};

/// The longest body of a credential or verifier, in bytes (RFC 5531 §8.2).
pub const BODY_BYTES_MAX: u32 = 400;

const AUTH_NONE: u32 = 0;
const AUTH_SYS: u32 = 1;

/// Who a caller says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// Nobody (`AUTH_NONE`).
    None,
    /// A user of a Unix system, unproven (`AUTH_SYS`).
    Sys(AuthSys),
    /// Another flavour, for the service to judge.
    Other {
        /// Its number.
        flavor: u32,
        /// Its body.
        body: Bytes,
    },
}

/// The body of `AUTH_SYS` (`authsys_parms`, RFC 5531 appendix A).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct AuthSys {
    /// Arbitrary.
    pub stamp: u32,
    /// The caller's host.
    #[xdr(max = 255)]
    pub machine_name: Bytes,
    /// User.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// Supplementary groups.
    #[xdr(max = 16)]
    pub gids: Vec<u32>,
}

/// Why a server refuses a credential (`auth_stat`, RFC 5531 §9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum AuthStatus {
    /// `AUTH_BADCRED`: the credential cannot be read.
    BadCredential = 1,
    /// `AUTH_REJECTEDCRED`: the client must begin a new session.
    RejectedCredential = 2,
    /// `AUTH_BADVERF`: the verifier cannot be read.
    BadVerifier = 3,
    /// `AUTH_REJECTEDVERF`: the verifier has expired or was replayed.
    RejectedVerifier = 4,
    /// `AUTH_TOOWEAK`: not good enough here.
    TooWeak = 5,
    /// `AUTH_INVALIDRESP`: the server's verifier is wrong.
    InvalidResponse = 6,
    /// `AUTH_FAILED`: for an unknown reason.
    Failed = 7,
}

impl Credential {
    /// Reads a credential. One whose body is malformed is `Err(AuthStatus::BadCredential)` inside an `Ok`, because the
    /// call around it is sound.
    pub(crate) fn decode(from: &mut Decoder) -> xdr::Result<Result<Self, AuthStatus>> {
        Ok(match from.u32()? {
            AUTH_NONE => {
                from.opaque_ref(BODY_BYTES_MAX)?;
                Ok(Self::None)
            }
            AUTH_SYS => {
                from.opaque_holding(BODY_BYTES_MAX)?.map(Self::Sys).map_err(|_| AuthStatus::BadCredential)
            }
            flavor => Ok(Self::Other { flavor, body: from.opaque(BODY_BYTES_MAX)? }),
        })
    }
}

impl Encode for Credential {
    fn encode(&self, to: &mut Encoder) {
        match self {
            Self::None => {
                to.u32(AUTH_NONE);
                to.length(0);
            }
            Self::Sys(sys) => {
                to.u32(AUTH_SYS);
                let mark = to.begin_opaque();
                sys.encode(to);
                to.end_opaque(mark);
            }
            Self::Other { flavor, body } => {
                to.u32(*flavor);
                to.opaque(body);
            }
        }
    }
}

/// Skips a verifier: no flavour here has one that says anything.
pub(crate) fn skip_verifier(from: &mut Decoder) -> xdr::Result<()> {
    from.u32()?;
    from.opaque_ref(BODY_BYTES_MAX)?;
    Ok(())
}

/// The verifier of `AUTH_NONE`.
pub(crate) fn put_no_verifier(to: &mut Encoder) {
    to.u32(AUTH_NONE);
    to.length(0);
}

impl AuthStatus {
    pub(crate) fn decode_or_failed(from: &mut Decoder) -> Self {
        Self::decode(from).unwrap_or(Self::Failed)
    }
}
