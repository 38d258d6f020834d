//! Call and reply messages (RFC 5531 §9): their heads as values, read and written. It does no I/O.

use xdr::{Decoder, Encode, Encoder};

use crate::auth::{AuthPlace, AuthStatus, ClaimPlace, Credential, Verifier};

/// The version of the protocol.
pub const RPC_VERSION: u32 = 2;

const CALL: u32 = 0;
const REPLY: u32 = 1;
const ACCEPTED: u32 = 0;
const DENIED: u32 = 1;
const SUCCESS: u32 = 0;
const PROG_UNAVAIL: u32 = 1;
const PROG_MISMATCH: u32 = 2;
const PROC_UNAVAIL: u32 = 3;
const GARBAGE_ARGS: u32 = 4;
const SYSTEM_ERR: u32 = 5;
const RPC_MISMATCH: u32 = 0;
const AUTH_ERROR: u32 = 1;

/// The head of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallHeader {
    /// Chosen by the caller; its reply carries the same.
    pub xid: u32,
    /// Program number.
    pub program: u32,
    /// Version of the program.
    pub version: u32,
    /// Procedure of the program.
    pub procedure: u32,
}

/// What a server answers instead of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `PROG_UNAVAIL`.
    #[error("the server does not have the program")]
    ProgramUnavailable,
    /// `PROG_MISMATCH`.
    #[error("the server has the program in versions {low} to {high}")]
    ProgramMismatch {
        /// Lowest version.
        low: u32,
        /// Highest version.
        high: u32,
    },
    /// `PROC_UNAVAIL`.
    #[error("the server does not have the procedure")]
    ProcedureUnavailable,
    /// `GARBAGE_ARGS`.
    #[error("the server cannot decode the arguments")]
    GarbageArguments,
    /// `SYSTEM_ERR`.
    #[error("the server is out of a resource")]
    SystemError,
    /// `RPC_MISMATCH`.
    #[error("the server speaks RPC versions {low} to {high}")]
    RpcMismatch {
        /// Lowest version.
        low: u32,
        /// Highest version.
        high: u32,
    },
    /// `AUTH_ERROR`.
    #[error("the server refuses the credential: {0:?}")]
    Authentication(AuthStatus),
}

impl From<AuthStatus> for Refusal {
    fn from(status: AuthStatus) -> Self {
        Self::Authentication(status)
    }
}

/// The head of a message, as [`decode`] has read it.
#[derive(Debug)]
pub enum Message {
    /// A call, and the places of credential and verifier in the message.
    Call(CallHeader, ClaimPlace),
    /// A call that is refused before its program is known: it has another version of RPC.
    BadCall {
        /// The transaction id of the call.
        xid: u32,
        /// The reply to it.
        refusal: Refusal,
    },
    /// A reply. [`decode_reply`] reads the rest of its head.
    Reply {
        /// The transaction id of the call.
        xid: u32,
    },
}

/// Reads the head of a message. The decoder then stands at the arguments of a call, or behind a reply's xid
/// and type.
///
/// # Errors
/// When the message is too short, is neither call nor reply, or has a credential or verifier of more than
/// [`BODY_BYTES_MAX`](crate::BODY_BYTES_MAX) bytes.
#[inline]
pub fn decode(from: &mut Decoder) -> xdr::Result<Message> {
    let xid = from.u32()?;
    match from.u32()? {
        CALL => decode_call(xid, from),
        REPLY => Ok(Message::Reply { xid }),
        other => Err(from.error_before(4, xdr::ErrorKind::UnknownValue(other))),
    }
}

fn decode_call(xid: u32, from: &mut Decoder) -> xdr::Result<Message> {
    if from.u32()? != RPC_VERSION {
        let refusal = Refusal::RpcMismatch { low: RPC_VERSION, high: RPC_VERSION };
        return Ok(Message::BadCall { xid, refusal });
    }
    let (program, version, procedure) = (from.u32()?, from.u32()?, from.u32()?);
    let claim = ClaimPlace::decode(from)?;
    Ok(Message::Call(CallHeader { xid, program, version, procedure }, claim))
}

/// Appends the head of a call with the verifier of AUTH_NONE. The caller appends the arguments.
#[inline]
pub fn encode_call(header: &CallHeader, credential: &Credential, to: &mut Encoder) {
    put_call(header, credential, to);
    put_no_verifier(to);
}

/// Like [`encode_call`], with the verifier that `sign` makes of the message from `start`, the offset of its
/// transaction id, to the end of the credential (RFC 2203 §5.3.1).
pub fn encode_verified_call(
    header: &CallHeader,
    credential: &Credential,
    to: &mut Encoder,
    start: usize,
    sign: impl FnOnce(&[u8]) -> Verifier,
) {
    put_call(header, credential, to);
    let verifier = sign(&to.as_slice()[start..]);
    put_verifier(&verifier, to);
}

/// Appends a call from its transaction id to the end of its credential.
fn put_call(header: &CallHeader, credential: &Credential, to: &mut Encoder) {
    for value in [header.xid, CALL, RPC_VERSION, header.program, header.version, header.procedure] {
        to.u32(value);
    }
    credential.encode(to);
}

/// Appends the head of a successful reply. The caller appends the results.
#[inline]
pub fn encode_success(xid: u32, verifier: &Verifier, to: &mut Encoder) {
    if verifier.body.is_empty() {
        to.words([xid, REPLY, ACCEPTED, verifier.flavor, 0, SUCCESS]);
        return;
    }
    to.words([xid, REPLY, ACCEPTED]);
    put_verifier(verifier, to);
    to.u32(SUCCESS);
}

fn put_verifier(verifier: &Verifier, to: &mut Encoder) {
    to.u32(verifier.flavor);
    to.opaque(&verifier.body);
}

fn put_no_verifier(to: &mut Encoder) {
    put_verifier(&Verifier::NONE, to);
}

/// Appends the whole reply that carries a refusal.
pub fn encode_refusal(xid: u32, refusal: Refusal, to: &mut Encoder) {
    to.u32(xid);
    to.u32(REPLY);
    match refusal {
        Refusal::RpcMismatch { low, high } => {
            for value in [DENIED, RPC_MISMATCH, low, high] {
                to.u32(value);
            }
        }
        Refusal::Authentication(status) => {
            to.u32(DENIED);
            to.u32(AUTH_ERROR);
            status.encode(to);
        }
        accepted => {
            to.u32(ACCEPTED);
            put_no_verifier(to);
            encode_accepted(accepted, to);
        }
    }
}

/// Puts `refusal` in the place of success and results. The head of the successful reply begins at `start`
/// and its results at `results`. A refusal of an accepted call keeps the verifier, which clients check
/// before they read the status (RFC 2203 §5.3.3.2).
///
/// # Panics
/// When no head that [`encode_success`] wrote ends at `results`.
pub fn replace_success(xid: u32, refusal: Refusal, to: &mut Encoder, start: usize, results: usize) {
    if let Refusal::RpcMismatch { .. } | Refusal::Authentication(_) = refusal {
        to.truncate(start);
        return encode_refusal(xid, refusal, to);
    }
    to.truncate(results.checked_sub(4).expect("a head ends with its status"));
    encode_accepted(refusal, to);
}

fn encode_accepted(refusal: Refusal, to: &mut Encoder) {
    match refusal {
        Refusal::ProgramUnavailable => to.u32(PROG_UNAVAIL),
        Refusal::ProgramMismatch { low, high } => {
            for value in [PROG_MISMATCH, low, high] {
                to.u32(value);
            }
        }
        Refusal::ProcedureUnavailable => to.u32(PROC_UNAVAIL),
        Refusal::GarbageArguments => to.u32(GARBAGE_ARGS),
        _ => to.u32(SYSTEM_ERR),
    }
}

/// Reads the rest of a reply's head, behind its [`Message::Reply`]. The decoder then stands at the results.
/// Returns the place of the verifier, or the refusal.
///
/// # Errors
/// When the head is too short, or has a value that RFC 5531 §9 does not define.
#[inline]
pub fn decode_reply(from: &mut Decoder) -> xdr::Result<Result<AuthPlace, Refusal>> {
    match from.u32()? {
        ACCEPTED => {
            let verifier = AuthPlace::decode(from)?;
            Ok(decode_accepted(from)?.map(|()| verifier))
        }
        DENIED => Ok(Err(decode_denied(from)?)),
        other => Err(from.error_before(4, xdr::ErrorKind::UnknownValue(other))),
    }
}

fn decode_accepted(from: &mut Decoder) -> xdr::Result<Result<(), Refusal>> {
    Ok(Err(match from.u32()? {
        SUCCESS => return Ok(Ok(())),
        PROG_UNAVAIL => Refusal::ProgramUnavailable,
        PROG_MISMATCH => Refusal::ProgramMismatch { low: from.u32()?, high: from.u32()? },
        PROC_UNAVAIL => Refusal::ProcedureUnavailable,
        GARBAGE_ARGS => Refusal::GarbageArguments,
        SYSTEM_ERR => Refusal::SystemError,
        other => return Err(from.error_before(4, xdr::ErrorKind::UnknownValue(other))),
    }))
}

fn decode_denied(from: &mut Decoder) -> xdr::Result<Refusal> {
    Ok(match from.u32()? {
        RPC_MISMATCH => Refusal::RpcMismatch { low: from.u32()?, high: from.u32()? },
        AUTH_ERROR => Refusal::Authentication(AuthStatus::decode_or_failed(from)),
        other => return Err(from.error_before(4, xdr::ErrorKind::UnknownValue(other))),
    })
}
