//! The creation of a context by a client (RFC 2203 §5.2).

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use xdr::{Decoder, Encoder};

use super::context::ClientContext;
use super::credentials::Exchange;
use super::initiator::{Initiation, InitiatorStep};
use crate::CallError;
use crate::auth::gss::RPCSEC_GSS;
use crate::auth::gss::mechanism::SecurityContext;
use crate::auth::gss::service::GssService;
use crate::auth::gss::wire::{
    GssCredential, GssProcedure, INIT_TOKEN_BYTES_MAX, InitArguments, InitResults, MajorStatus,
};
use crate::auth::{CallProtection, Credential, OpaqueAuth, Pass, Verifier};

/// The most requests of one creation: a server must not keep a client busy without end.
const ROUNDS_MAX: usize = 16;

/// The reason why a context could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreationError {
    /// The mechanism of the client has failed: the user has no ticket, or the server's token is bad.
    #[error("the security mechanism failed with GSS status {:#x}, minor status {minor}", .major.0)]
    Mechanism {
        /// The reason.
        major: MajorStatus,
        /// The mechanism's own reason.
        minor: u32,
    },
    /// The server has refused the token.
    #[error("the server refused the security context with GSS status {:#x}, minor status {minor}", .major.0)]
    Refused {
        /// The reason.
        major: MajorStatus,
        /// The mechanism's own reason.
        minor: u32,
    },
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The two ends do not agree whether the context is established, or do not come to an end.
    #[error("client and server do not agree on the state of the security context")]
    OutOfStep,
}

/// Creates a context from the first step of the mechanism on.
///
/// # Errors
/// [`CreationError`]; `Call(Unproven)` when the last reply has no MIC of the window.
pub(super) async fn create(
    mut step: InitiatorStep,
    exchange: Exchange<'_>,
) -> Result<ClientContext, CreationError> {
    let mut handle = Bytes::new();
    for _ in 0..ROUNDS_MAX {
        let (token, end) = match step {
            InitiatorStep::Failed { major, minor } => return Err(CreationError::Mechanism { major, minor }),
            InitiatorStep::Continue { token, initiation } => (token, End::Open(initiation)),
            InitiatorStep::Complete { token: Some(token), context } => (token, End::Established(context)),
            // The server has not established the context, and gets no token.
            InitiatorStep::Complete { token: None, .. } => return Err(CreationError::OutOfStep),
        };
        let reply = request(&handle, token, exchange).await?;
        let InitResults { major, minor, window, .. } = reply.results;
        if major.is_error() || reply.results.handle.is_empty() {
            return Err(CreationError::Refused { major, minor });
        }
        if !handle.is_empty() && handle != reply.results.handle {
            return Err(CreationError::OutOfStep);
        }
        handle = reply.results.handle.clone();
        let is_complete = major == MajorStatus::COMPLETE;
        step = match end {
            End::Open(initiation) => initiation.accept(reply.results.token.clone()).await,
            End::Established(context) if is_complete => InitiatorStep::Complete { token: None, context },
            End::Established(_) => return Err(CreationError::OutOfStep),
        };
        if is_complete {
            let context = match step {
                InitiatorStep::Complete { token: None, context } => context,
                InitiatorStep::Failed { major, minor } => {
                    return Err(CreationError::Mechanism { major, minor });
                }
                _ => return Err(CreationError::OutOfStep),
            };
            reply.check(&*context)?;
            return Ok(ClientContext::new(context, handle, window));
        }
    }
    Err(CreationError::OutOfStep)
}

/// The client's end while a request is under way.
enum End {
    Open(Box<dyn Initiation>),
    Established(Box<dyn SecurityContext>),
}

/// The reply to one request.
struct Reply {
    results: InitResults,
    verifier: Verifier,
}

impl Reply {
    /// Checks that the server has the key of the context: its verifier is the MIC of the window.
    fn check(&self, context: &dyn SecurityContext) -> Result<(), CreationError> {
        let window = self.results.window.to_be_bytes();
        let is_servers = self.verifier.flavor == RPCSEC_GSS
            && context.verify_mic(&window, &self.verifier.body).is_ok()
            && self.results.window > 0;
        if is_servers { Ok(()) } else { Err(CallError::Unproven.into()) }
    }
}

/// Sends one token.
async fn request(handle: &Bytes, token: Vec<u8>, exchange: Exchange<'_>) -> Result<Reply, CreationError> {
    if token.len() > INIT_TOKEN_BYTES_MAX as usize {
        return Err(CreationError::OutOfStep);
    }
    let procedure = if handle.is_empty() { GssProcedure::Init } else { GssProcedure::ContinueInit };
    let credential =
        GssCredential { procedure, sequence: 0, service: GssService::None, handle: handle.clone() };
    let verifier = Arc::new(Mutex::new(Verifier::NONE));
    let call = CreationCall { credential, verifier: Arc::clone(&verifier) };
    let arguments = xdr::to_bytes(&InitArguments { token: token.into() });
    let results = exchange(Pass::Protected(Box::new(call)), arguments.into()).await?;
    let results = xdr::from_bytes(results).map_err(CallError::Protocol)?;
    let verifier = verifier.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Reply { results, verifier })
}

/// A request that creates a context: it has no proof, and keeps the verifier of its reply.
struct CreationCall {
    credential: GssCredential,
    verifier: Arc<Mutex<Verifier>>,
}

impl CallProtection for CreationCall {
    fn credential(&self) -> Credential {
        Credential::Other { flavor: RPCSEC_GSS, body: xdr::to_bytes(&self.credential) }
    }

    fn verifier(&mut self, _: &[u8]) -> Verifier {
        Verifier::NONE
    }

    fn wrap(&mut self, _: &mut Encoder, _: usize) {}

    fn unwrap(&mut self, verifier: OpaqueAuth<'_>, results: Decoder) -> Result<Decoder, CallError> {
        let verifier = Verifier { flavor: verifier.flavor, body: verifier.body.to_vec() };
        *self.verifier.lock().unwrap_or_else(PoisonError::into_inner) = verifier;
        Ok(results)
    }
}
