//! The judge of calls with a credential of RPCSEC_GSS.

use std::sync::Arc;

use bytes::Bytes;
use xdr::Encoder;

use super::contexts::{Contexts, Creation, GssCounts, Resumed};
use super::creation::{answer, failure};
use super::mechanism::{Acceptor, Step};
use super::names::Names;
use super::protection::GssProtection;
use super::table::PeerNetwork;
use super::window::SEQUENCE_MAX;
use super::wire::{
    BadGssCredential, GssCredential, GssProcedure, INIT_TOKEN_BYTES_MAX, InitArguments, MajorStatus,
};
use super::{GssLimits, RPCSEC_GSS, Surroundings};
use crate::auth::{AUTH_NONE, Answer, AuthStatus, Authenticator, Claim, OpaqueAuth, Protection, Verdict};
use crate::{BoxFuture, CallHeader, Connection, Disposition, Refusal};

/// The procedure that creates and destroys contexts (NULLPROC).
const NULL: u32 = 0;
/// The verifier of a request that creates a context.
const NO_VERIFIER: OpaqueAuth<'_> = OpaqueAuth { flavor: AUTH_NONE, body: &[] };

/// Judges calls with RPCSEC_GSS version 1, and creates and destroys contexts. Calls of other flavors are
/// refused with AUTH_REJECTEDCRED; [`FlavorAuthenticator`](crate::auth::FlavorAuthenticator) judges those.
///
/// A context belongs to no connection: a client uses it over all of its connections.
pub struct GssAuthenticator {
    acceptor: Arc<dyn Acceptor>,
    names: Arc<dyn Names>,
    contexts: Arc<Contexts>,
}

impl GssAuthenticator {
    /// Returns an authenticator without contexts.
    #[must_use]
    pub fn new(
        acceptor: Arc<dyn Acceptor>,
        names: Arc<dyn Names>,
        surroundings: Arc<dyn Surroundings>,
        limits: &GssLimits,
    ) -> Self {
        Self { acceptor, names, contexts: Arc::new(Contexts::new(surroundings, limits)) }
    }

    /// Returns how many contexts there are.
    #[must_use]
    pub fn counts(&self) -> GssCounts {
        self.contexts.counts()
    }

    /// Judges INIT and CONTINUE_INIT (RFC 2203 §5.2.2).
    fn create(
        &self,
        credential: &GssCredential,
        header: &CallHeader,
        verifier: OpaqueAuth<'_>,
        arguments: &[u8],
        peer: PeerNetwork,
    ) -> Result<Verdict, Refusal> {
        let is_first = credential.procedure == GssProcedure::Init;
        if header.procedure != NULL || (is_first && !credential.handle.is_empty()) {
            return Err(AuthStatus::BadCredential.into());
        }
        if verifier != NO_VERIFIER {
            return Err(AuthStatus::BadVerifier.into());
        }
        let token = token_of(arguments)?;
        if is_first {
            let creation = self.contexts.begin(peer).ok_or(Refusal::SystemError)?;
            return Ok(self.later(creation, self.acceptor.accept(token)));
        }
        match self.contexts.resume(&credential.handle) {
            Resumed::Creation(creation, negotiation) => Ok(self.later(creation, negotiation.accept(token))),
            Resumed::UnderWay => Ok(Verdict::Silence),
            // CREDPROBLEM may not be the answer to a creation (RFC 2203 §5.2.3.2).
            Resumed::Unknown => Ok(Verdict::Answer(failure(MajorStatus::NO_CONTEXT, 0))),
        }
    }

    /// Answers once the mechanism has taken the token, which may take long.
    fn later(&self, creation: Creation, step: BoxFuture<Step>) -> Verdict {
        let (names, contexts) = (Arc::clone(&self.names), Arc::clone(&self.contexts));
        Verdict::Later(Box::pin(answer(creation, step, names, move || contexts.now_ms())))
    }

    /// Judges DATA and DESTROY (RFC 2203 §5.3.3.1, §5.4).
    fn proceed(
        &self,
        credential: &GssCredential,
        header: &CallHeader,
        claim: &Claim<'_>,
        arguments: &[u8],
    ) -> Result<Verdict, AuthStatus> {
        let is_destroy = credential.procedure == GssProcedure::Destroy;
        if is_destroy && header.procedure != NULL {
            return Err(AuthStatus::BadCredential);
        }
        let found = self.contexts.find(&credential.handle);
        let (nonce, context) = found.ok_or(AuthStatus::GssCredentialProblem)?;
        if claim.verifier.flavor != RPCSEC_GSS {
            return Err(AuthStatus::BadVerifier);
        }
        let now_ms = self.contexts.now_ms();
        if context.is_expired(now_ms) {
            return Err(AuthStatus::GssContextProblem);
        }
        let verified = context.security().verify_mic(claim.signed, claim.verifier.body);
        verified.map_err(|_| AuthStatus::GssCredentialProblem)?;
        // From here on, the client of the context has sent the header.
        if credential.sequence > SEQUENCE_MAX {
            return Err(AuthStatus::GssContextProblem);
        }
        if !context.admit(credential.sequence) {
            return Ok(Verdict::Silence);
        }
        let caller = context.caller(credential.service);
        let protection = GssProtection::new(context, credential.service, credential.sequence)
            .map_err(|_| AuthStatus::GssContextProblem)?;
        if is_destroy {
            self.contexts.destroy(nonce);
            return Ok(destroyed(protection, arguments));
        }
        self.contexts.touch(nonce, now_ms);
        Ok(Verdict::Protected(caller, Box::new(protection)))
    }
}

impl Authenticator for GssAuthenticator {
    fn judge(
        &self,
        header: &CallHeader,
        claim: &Claim<'_>,
        arguments: &[u8],
        connection: &dyn Connection,
    ) -> Verdict {
        if claim.credential.flavor != RPCSEC_GSS {
            return Verdict::Refuse(AuthStatus::RejectedCredential.into());
        }
        let credential = match GssCredential::decode(claim.credential.body) {
            Ok(credential) => credential,
            // RFC 2203 §5.2.3.2 and §5.3.3.3 have different answers.
            Err(BadGssCredential::Version { is_creation: true, .. }) => {
                return Verdict::Refuse(AuthStatus::RejectedCredential.into());
            }
            Err(_) => return Verdict::Refuse(AuthStatus::BadCredential.into()),
        };
        let judged = if credential.procedure.is_creation() {
            let peer = PeerNetwork::of(connection.peer().ip());
            self.create(&credential, header, claim.verifier, arguments, peer)
        } else {
            self.proceed(&credential, header, claim, arguments).map_err(Refusal::from)
        };
        judged.unwrap_or_else(Verdict::Refuse)
    }
}

/// Returns the token of a request that creates a context.
fn token_of(arguments: &[u8]) -> Result<Bytes, Refusal> {
    // Its length and the token; more is not copied.
    if arguments.len() > 4 + INIT_TOKEN_BYTES_MAX as usize {
        return Err(Refusal::GarbageArguments);
    }
    let decoded = xdr::from_bytes::<InitArguments>(Bytes::copy_from_slice(arguments));
    decoded.map(|arguments| arguments.token).map_err(|_| Refusal::GarbageArguments)
}

/// Returns the reply to DESTROY. Some clients protect its empty arguments and expect the same of the results
/// (RFC 2203 §5.4), and others, as Linux, do neither. The arguments are not looked at: the MIC of the header
/// proves the request.
fn destroyed(mut protection: GssProtection, arguments: &[u8]) -> Verdict {
    let verifier = protection.verifier();
    let mut results = Encoder::new();
    if !arguments.is_empty() {
        protection.begin(&mut results);
        if protection.wrap(&mut results, 0) != Ok(Disposition::Reply) {
            return Verdict::Silence;
        }
    }
    Verdict::Answer(Answer { verifier, results: results.into_inner() })
}
