//! An established context: many connections and threads share it.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::RPCSEC_GSS;
use super::mechanism::{BadToken, SecurityContext};
use super::service::{GssService, SERVICES};
use super::window::Window;
use super::wire::MIC_BYTES_MAX;
use crate::auth::{Caller, UnixUser, Verifier};

/// An established context.
pub(super) struct Context {
    security: Box<dyn SecurityContext>,
    principal: Bytes,
    /// The callers of its calls by service.
    callers: [OnceLock<Arc<Caller>>; SERVICES.len()],
    user: Option<UnixUser>,
    /// The end of its lifetime by the clock of the surroundings; `u64::MAX` without a bound.
    expires_ms: u64,
    window: Mutex<Window>,
}

impl Context {
    /// Returns the context of `principal`, established at `now_ms`.
    pub(super) fn new(
        security: Box<dyn SecurityContext>,
        principal: Bytes,
        user: Option<UnixUser>,
        now_ms: u64,
    ) -> Self {
        let lifetime = security.lifetime().map(|lifetime| lifetime.as_millis());
        let lifetime_ms = lifetime.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(u64::MAX);
        let expires_ms = now_ms.saturating_add(lifetime_ms);
        let callers = Default::default();
        Self { security, principal, callers, user, expires_ms, window: Mutex::new(Window::new()) }
    }

    pub(super) fn security(&self) -> &dyn SecurityContext {
        &*self.security
    }

    pub(super) fn principal(&self) -> &Bytes {
        &self.principal
    }

    /// True from the end of its lifetime on.
    pub(super) fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_ms <= now_ms
    }

    pub(super) fn expires_ms(&self) -> u64 {
        self.expires_ms
    }

    /// Notes the sequence number of a request whose MIC was verified. False when the request is to be dropped
    /// in silence.
    pub(super) fn admit(&self, sequence: u32) -> bool {
        // A window has no state between its steps that a panic could leave behind.
        self.window.lock().unwrap_or_else(PoisonError::into_inner).admit(sequence)
    }

    /// Returns the caller of a call with this service.
    pub(super) fn caller(&self, service: GssService) -> Arc<Caller> {
        let caller = || Arc::new(Caller::gss(service, &self.principal, self.user.clone()));
        Arc::clone(self.callers[service as usize - 1].get_or_init(caller))
    }

    /// Returns the verifier of a reply: the MIC of an unsigned integer in XDR (RFC 2203 §5.2.3.1, §5.3.3.2).
    pub(super) fn verifier(&self, number: u32) -> Result<Verifier, BadToken> {
        let body = self.security.mic(&number.to_be_bytes())?;
        if body.len() > MIC_BYTES_MAX as usize {
            return Err(BadToken);
        }
        Ok(Verifier { flavor: RPCSEC_GSS, body })
    }

    /// Returns an estimate of the memory that it holds, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let groups = self.user.as_ref().map_or(0, |user| user.gids.len() * size_of::<u32>());
        let caller = size_of::<Caller>() + self.principal.len() + groups;
        size_of::<Self>() + self.security.memory_bytes() + self.principal.len() + groups + 3 * caller
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let principal = String::from_utf8_lossy(&self.principal);
        f.debug_struct("Context").field("principal", &principal).finish_non_exhaustive()
    }
}
