//! The credentials that a client sends, and why they are refused (RFC 5531 §8, §9, appendix A).

use bytes::Bytes;
use xdr::{Decode, Decoder, Encode, Encoder, Xdr};

use super::{AUTH_NONE, AUTH_SYS};

/// The user that a client names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// Nobody (`AUTH_NONE`).
    None,
    /// A user of a Unix system, unproven (`AUTH_SYS`).
    Sys(AuthSys),
    /// Another flavor.
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
    /// `RPCSEC_GSS_CREDPROBLEM`: the server does not have the context, or the verifier is not of it. The
    /// client makes another context (RFC 2203 §5.3.3.3).
    GssCredentialProblem = 13,
    /// `RPCSEC_GSS_CTXPROBLEM`: the context has expired or has used up its sequence numbers. The client makes
    /// another one.
    GssContextProblem = 14,
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

impl AuthStatus {
    pub(crate) fn decode_or_failed(from: &mut Decoder) -> Self {
        Self::decode(from).unwrap_or(Self::Failed)
    }
}
