//! The credential and the protection of a client's call, by its user.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use xdr::{Decoder, Encoder};

use super::{AuthSys, Credential, OpaqueAuth, UnixUser, Verifier};
use crate::CallError;

/// The user of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBehalf<'a> {
    /// The client as such.
    Client,
    /// One of its users.
    User(&'a UnixUser),
}

/// The credential that a call is sent with, and its protection.
pub enum Pass {
    /// A credential, and nothing else.
    Plain(Arc<Credential>),
    /// A credential with a proof, and protected arguments and results.
    Protected(Box<dyn CallProtection>),
}

impl From<Credential> for Pass {
    fn from(credential: Credential) -> Self {
        Self::Plain(Arc::new(credential))
    }
}

/// Gives calls their passes. Connections are shared by all users.
pub trait Credentials: fmt::Debug + Send + Sync + 'static {
    /// The pass of one call.
    ///
    /// # Errors
    /// [`CallError::NoCredential`] where the user has none.
    fn pass(&self, on_behalf: OnBehalf<'_>) -> Result<Pass, CallError>;
}

/// Protects one call of a client, and checks its reply. A call that is sent again is the same bytes.
pub trait CallProtection: Send + 'static {
    /// The credential.
    fn credential(&self) -> Credential;

    /// The verifier, over the message from its transaction id to the end of the credential.
    fn verifier(&mut self, signed: &[u8]) -> Verifier;

    /// Appends the bytes that the flavor has in front of the arguments, so that `wrap` need not move them.
    fn begin(&mut self, _call: &mut Encoder) {}

    /// Protects the arguments. The bytes of `begin` and the arguments behind them start at `start` in `call`.
    /// Arguments that cannot be protected are left out: the server refuses such a call.
    fn wrap(&mut self, call: &mut Encoder, start: usize);

    /// Checks the verifier of a reply, and takes the protection off its results.
    ///
    /// # Errors
    /// [`CallError::Unproven`] when either is not the server's.
    fn unwrap(&mut self, verifier: OpaqueAuth<'_>, results: Decoder) -> Result<Decoder, CallError>;
}

/// AUTH_NONE and AUTH_SYS: users are named, not proven.
#[derive(Debug)]
pub struct SystemCredentials {
    own: Arc<Credential>,
}

impl SystemCredentials {
    /// The client's own credential; its users are on the same machine.
    #[must_use]
    pub fn shared(own: Credential) -> Arc<dyn Credentials> {
        Arc::new(Self { own: Arc::new(own) })
    }
}

impl Credentials for SystemCredentials {
    fn pass(&self, on_behalf: OnBehalf<'_>) -> Result<Pass, CallError> {
        let user = match on_behalf {
            OnBehalf::Client => return Ok(Pass::Plain(Arc::clone(&self.own))),
            OnBehalf::User(user) => user.clone(),
        };
        let machine_name = match &*self.own {
            Credential::Sys(own) => own.machine_name.clone(),
            Credential::None | Credential::Other { .. } => Bytes::new(),
        };
        let UnixUser { uid, gid, gids } = user;
        Ok(Pass::Plain(Arc::new(Credential::Sys(AuthSys { stamp: 0, machine_name, uid, gid, gids }))))
    }
}
