//! The types of RPCSEC_GSS version 1 on the wire (RFC 2203 §5).

mod credential;
mod init;
mod integrity;
mod privacy;
mod status;

pub use credential::{BadGssCredential, GssCredential, GssProcedure, HANDLE_BYTES_MAX};
pub use init::{InitArguments, InitResults};
pub use integrity::IntegrityData;
pub use privacy::PrivacyData;
pub use status::MajorStatus;

/// The longest token of a context creation, in bytes. Kerberos tokens with the group list of a large domain
/// have up to 64 KiB.
pub const INIT_TOKEN_BYTES_MAX: u32 = 64 << 10;

/// The longest MIC, in bytes: a verifier has room for no more.
pub const MIC_BYTES_MAX: u32 = crate::auth::BODY_BYTES_MAX;
