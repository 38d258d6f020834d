//! The arguments and results of one call (RFC 2203 §5.3.2, §5.3.3.2).

use std::sync::Arc;

use bytes::Bytes;
use xdr::{Decode, Decoder, Encoder, Mark};

use super::context::Context;
use super::mechanism::BadToken;
use super::service::GssService;
use super::wire::{IntegrityData, PrivacyData};
use crate::auth::{Protection, Verifier};
use crate::{Disposition, Refusal};

/// The protection of one call by its context.
pub(super) struct GssProtection {
    context: Arc<Context>,
    service: GssService,
    /// The number of the request, which its arguments and results repeat.
    sequence: u32,
    verifier: Verifier,
    /// The length of the protected results, from `begin` on.
    body: Option<Mark>,
}

impl GssProtection {
    /// Returns the protection of the request with this number.
    ///
    /// # Errors
    /// When the mechanism cannot make the verifier of the reply.
    pub(super) fn new(context: Arc<Context>, service: GssService, sequence: u32) -> Result<Self, BadToken> {
        let verifier = context.verifier(sequence)?;
        Ok(Self { context, service, sequence, verifier, body: None })
    }

    /// Returns the bytes of `rpc_gss_data_t` after the check of their proof.
    fn checked_body(&self, arguments: &mut Decoder) -> Option<Bytes> {
        let security = self.context.security();
        let body = if self.service == GssService::Integrity {
            let IntegrityData { body, mic } = IntegrityData::decode(arguments).ok()?;
            security.verify_mic(&body, &mic).ok()?;
            body
        } else {
            let PrivacyData { token } = PrivacyData::decode(arguments).ok()?;
            security.unwrap(&token).ok()?
        };
        arguments.finish().ok()?;
        Some(body)
    }

    fn try_wrap(&self, reply: &mut Encoder, start: usize, body: Mark) -> Result<(), BadToken> {
        let security = self.context.security();
        if self.service == GssService::Integrity {
            let mic = security.mic(&reply.as_slice()[start + 4..])?;
            reply.end_opaque(body);
            reply.opaque(&mic);
        } else {
            security.wrap(reply.buffer_mut(), start + 4)?;
            reply.end_opaque(body);
        }
        Ok(())
    }
}

impl Protection for GssProtection {
    /// It may be taken once.
    fn verifier(&mut self) -> Verifier {
        std::mem::replace(&mut self.verifier, Verifier::NONE)
    }

    fn unwrap(&mut self, mut arguments: Decoder) -> Result<Decoder, Refusal> {
        if self.service == GssService::None {
            return Ok(arguments);
        }
        let body = self.checked_body(&mut arguments).ok_or(Refusal::GarbageArguments)?;
        let mut plain = Decoder::new(body);
        match plain.u32() {
            Ok(sequence) if sequence == self.sequence => Ok(plain),
            _ => Err(Refusal::GarbageArguments),
        }
    }

    fn begin(&mut self, reply: &mut Encoder) {
        if self.service == GssService::None {
            return;
        }
        self.body = Some(reply.begin_opaque());
        if self.service == GssService::Privacy {
            let end = reply.len() + self.context.security().wrap_head_bytes();
            reply.buffer_mut().resize(end, 0);
        }
        reply.u32(self.sequence);
    }

    fn wrap(&mut self, reply: &mut Encoder, start: usize) -> Result<Disposition, Refusal> {
        let Some(body) = self.body else { return Ok(Disposition::Reply) };
        match self.try_wrap(reply, start, body) {
            Ok(()) => Ok(Disposition::Reply),
            // RFC 2203 §5.3.3.4.1, §5.3.3.4.4.
            Err(BadToken) => Ok(Disposition::Drop),
        }
    }
}
