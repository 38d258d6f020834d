//! The judge that asks another one by the flavor of the credential.

use std::sync::Arc;

use super::gss::{GssAuthenticator, RPCSEC_GSS};
use super::{
    AUTH_NONE, AUTH_TLS, AuthStatus, Authenticator, Claim, OpaqueAuth, SystemAuthenticator, Verdict, Verifier,
};
use crate::{CallHeader, Connection};

/// The verifier and the credential body of a TLS probe are empty (RFC 9289 §4.1).
const NO_VERIFIER: OpaqueAuth<'_> = OpaqueAuth { flavor: AUTH_NONE, body: &[] };

/// Judges by flavor: RPCSEC_GSS and the TLS probe where they are configured, and all others as
/// [`SystemAuthenticator`] does. A server with neither uses that one alone.
#[derive(Clone, Default)]
pub struct FlavorAuthenticator {
    gss: Option<Arc<GssAuthenticator>>,
    offers_tls: bool,
}

impl FlavorAuthenticator {
    /// Judges RPCSEC_GSS by `gss`.
    #[must_use]
    pub fn with_gss(self, gss: Arc<GssAuthenticator>) -> Self {
        Self { gss: Some(gss), ..self }
    }

    /// Answers the TLS probe with an upgrade. A malformed probe is refused with AUTH_BADCRED.
    #[must_use]
    pub fn with_tls(self) -> Self {
        Self { offers_tls: true, ..self }
    }
}

impl Authenticator for FlavorAuthenticator {
    fn judge(
        &self,
        header: &CallHeader,
        claim: &Claim<'_>,
        arguments: &[u8],
        connection: &dyn Connection,
    ) -> Verdict {
        match (claim.credential.flavor, &self.gss) {
            (RPCSEC_GSS, Some(gss)) => gss.judge(header, claim, arguments, connection),
            (AUTH_TLS, _) if self.offers_tls => {
                let is_probe = header.procedure == 0
                    && claim.credential.body.is_empty()
                    && claim.verifier == NO_VERIFIER
                    && arguments.is_empty();
                match is_probe {
                    true => Verdict::Upgrade(Verifier::starttls()),
                    false => Verdict::Refuse(AuthStatus::BadCredential.into()),
                }
            }
            _ => SystemAuthenticator.judge(header, claim, arguments, connection),
        }
    }
}
