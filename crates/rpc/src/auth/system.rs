//! The flavors that prove nothing: AUTH_NONE and AUTH_SYS (RFC 5531 §8.1, appendix A).

use std::sync::Arc;

use bytes::Bytes;
use xdr::Decoder;

use super::{
    AUTH_NONE, AUTH_SYS, AUTH_TLS, AuthStatus, AuthSys, Authenticator, Claim, Credential, Verdict, Verifier,
};
use crate::{CallHeader, Connection, Refusal};

/// Believes AUTH_NONE and AUTH_SYS, and offers to upgrade connections (RFC 9289). Callers of other flavors
/// have no user, and services that ask for one refuse them.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemAuthenticator;

impl Authenticator for SystemAuthenticator {
    fn judge(&self, header: &CallHeader, claim: &Claim<'_>, arguments: &[u8], _: &dyn Connection) -> Verdict {
        let body = || Bytes::copy_from_slice(claim.credential.body);
        let credential = match claim.credential.flavor {
            AUTH_NONE => Credential::None,
            AUTH_SYS => match decode_sys(body()) {
                Ok(sys) => Credential::Sys(sys),
                Err(_) => return Verdict::Refuse(Refusal::Authentication(AuthStatus::BadCredential)),
            },
            // The driver of the connection refuses it where there is no upgrade.
            AUTH_TLS if arguments.is_empty() && is_probe(header, claim) => {
                return Verdict::Upgrade(Verifier::starttls());
            }
            AUTH_TLS => return Verdict::Refuse(Refusal::Authentication(AuthStatus::BadCredential)),
            flavor => Credential::Other { flavor, body: body() },
        };
        Verdict::Lasting(Arc::new(credential.into()))
    }
}

/// Whether a call with the flavor AUTH_TLS is the probe: the NULL procedure, with an empty credential and
/// verifier (RFC 9289 §4.1).
fn is_probe(header: &CallHeader, claim: &Claim<'_>) -> bool {
    header.procedure == 0
        && claim.credential.body.is_empty()
        && claim.verifier.flavor == AUTH_NONE
        && claim.verifier.body.is_empty()
}

fn decode_sys(body: Bytes) -> xdr::Result<AuthSys> {
    let mut decoder = Decoder::new(body);
    let sys = decoder.get()?;
    decoder.finish()?;
    Ok(sys)
}
