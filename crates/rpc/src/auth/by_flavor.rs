//! The judge that asks another one by the flavor of the credential.

use std::sync::Arc;

use super::gss::{GssAuthenticator, RPCSEC_GSS};
use super::{Authenticator, Claim, SystemAuthenticator, Verdict};
use crate::{CallHeader, Connection};

/// Judges calls with RPCSEC_GSS by contexts, and all others as [`SystemAuthenticator`] does. A server without
/// contexts uses that one alone.
#[derive(Clone)]
pub struct FlavorAuthenticator {
    gss: Arc<GssAuthenticator>,
}

impl FlavorAuthenticator {
    /// Judges RPCSEC_GSS by `gss`.
    #[must_use]
    pub fn new(gss: Arc<GssAuthenticator>) -> Self {
        Self { gss }
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
        match claim.credential.flavor {
            RPCSEC_GSS => self.gss.judge(header, claim, arguments, connection),
            _ => SystemAuthenticator.judge(header, claim, arguments, connection),
        }
    }
}
