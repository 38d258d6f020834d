//! From the claim of a call to a [`Caller`] that services believe (RFC 5531 §8).
//!
//! A client's [`Credentials`] give each call its [`Pass`]: a [`Credential`], or one with a
//! [`CallProtection`]. At the server an [`Authenticator`] judges the [`Claim`] of each call:
//! credential, verifier, and the bytes that a verifier may sign. Only this module looks at a raw credential.
//! A [`Verdict`] may offer one upgrade of the connection, whose [`Channel`] later verdicts see.
//! A [`Protection`] undoes and does what a flavor adds to arguments and results. [`gss`] has RPCSEC_GSS.

mod authenticator;
mod by_flavor;
mod caller;
mod channel;
mod claim;
mod credential;
mod credentials;
pub mod gss;
mod peer_certificate;
mod protection;
mod system;

pub use authenticator::{Answer, Authenticator, Callers, Verdict};
pub use by_flavor::FlavorAuthenticator;
pub use caller::{Caller, Flavor, UnixUser};
pub use channel::{AUTH_TLS, Channel, STARTTLS};
pub use claim::{AuthPlace, Claim, ClaimPlace, OpaqueAuth};
pub use credential::{AuthStatus, AuthSys, Credential};
pub use credentials::{CallProtection, Credentials, OnBehalf, Pass, SystemCredentials};
pub use peer_certificate::PeerCertificate;
pub use protection::{Protection, Verifier};
pub use system::SystemAuthenticator;

/// The longest body of a credential or verifier, in bytes (RFC 5531 §8.2).
pub const BODY_BYTES_MAX: u32 = 400;

/// The flavor without a credential (RFC 5531 §10.1).
pub const AUTH_NONE: u32 = 0;
pub(crate) const AUTH_SYS: u32 = 1;
