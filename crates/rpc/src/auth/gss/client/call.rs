//! The protection of one call of a client (RFC 2203 §5.3).

use xdr::{Decode, Decoder, Encoder, Mark};

use super::context::Request;
use crate::CallError;
use crate::auth::gss::RPCSEC_GSS;
use crate::auth::gss::mechanism::BadToken;
use crate::auth::gss::service::GssService;
use crate::auth::gss::wire::{GssCredential, GssProcedure, IntegrityData, PrivacyData};
use crate::auth::{CallProtection, Credential, OpaqueAuth, Verifier};

/// A call with a context, or the end of the context.
pub(super) struct GssCall {
    request: Request,
    procedure: GssProcedure,
    service: GssService,
    /// The length of the protected arguments, from `begin` on.
    body: Option<Mark>,
}

impl GssCall {
    /// Returns the protection of a call of a service.
    pub(super) fn data(request: Request, service: GssService) -> Self {
        Self { request, procedure: GssProcedure::Data, service, body: None }
    }

    /// Returns the protection of the call that ends the context. It has no arguments and no service.
    pub(super) fn destroy(request: Request) -> Self {
        Self { request, procedure: GssProcedure::Destroy, service: GssService::None, body: None }
    }

    fn try_wrap(&self, call: &mut Encoder, start: usize, body: Mark) -> Result<(), BadToken> {
        let security = &self.request.context.security;
        if self.service == GssService::Integrity {
            let mic = security.mic(&call.as_slice()[start + 4..])?;
            call.end_opaque(body);
            call.opaque(&mic);
        } else {
            security.wrap(call.buffer_mut(), start + 4)?;
            call.end_opaque(body);
        }
        Ok(())
    }

    /// Returns the results behind the number of the request, once they are proven.
    fn proven(&self, mut results: Decoder) -> Option<Decoder> {
        let security = &self.request.context.security;
        let body = match self.service {
            GssService::None => return Some(results),
            GssService::Integrity => {
                let IntegrityData { body, mic } = IntegrityData::decode(&mut results).ok()?;
                security.verify_mic(&body, &mic).ok()?;
                body
            }
            GssService::Privacy => {
                let PrivacyData { token } = PrivacyData::decode(&mut results).ok()?;
                security.unwrap(&token).ok()?
            }
        };
        results.finish().ok()?;
        let mut plain = Decoder::new(body);
        (plain.u32() == Ok(self.request.sequence)).then_some(plain)
    }
}

impl CallProtection for GssCall {
    fn credential(&self) -> Credential {
        let credential = GssCredential {
            procedure: self.procedure,
            sequence: self.request.sequence,
            service: self.service,
            handle: self.request.context.handle.clone(),
        };
        Credential::Other { flavor: RPCSEC_GSS, body: xdr::to_bytes(&credential) }
    }

    /// An empty one if the mechanism cannot make it, which the server refuses.
    fn verifier(&mut self, signed: &[u8]) -> Verifier {
        let body = self.request.context.security.mic(signed).unwrap_or_default();
        Verifier { flavor: RPCSEC_GSS, body }
    }

    fn begin(&mut self, call: &mut Encoder) {
        if self.service == GssService::None {
            return;
        }
        self.body = Some(call.begin_opaque());
        if self.service == GssService::Privacy {
            let end = call.len() + self.request.context.security.wrap_head_bytes();
            call.buffer_mut().resize(end, 0);
        }
        call.u32(self.request.sequence);
    }

    fn wrap(&mut self, call: &mut Encoder, start: usize) {
        let Some(body) = self.body else { return };
        if self.try_wrap(call, start, body).is_err() {
            call.truncate(start);
        }
    }

    fn unwrap(&mut self, verifier: OpaqueAuth<'_>, results: Decoder) -> Result<Decoder, CallError> {
        let number = self.request.sequence.to_be_bytes();
        let is_servers = verifier.flavor == RPCSEC_GSS
            && self.request.context.security.verify_mic(&number, verifier.body).is_ok();
        if !is_servers {
            return Err(CallError::Unproven);
        }
        self.proven(results).ok_or(CallError::Unproven)
    }
}
