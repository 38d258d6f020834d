//! The services that protect the arguments and results of a call (RFC 2203 §5.3.2).

use xdr::Xdr;

/// The protection of one call (`rpc_gss_service_t`, RFC 2203 §5). The verifier protects the header of the
/// call in each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Xdr)]
pub enum GssService {
    /// `rpc_gss_svc_none`: arguments and results are plain.
    None = 1,
    /// `rpc_gss_svc_integrity`: arguments and results have a MIC.
    Integrity = 2,
    /// `rpc_gss_svc_privacy`: arguments and results are encrypted.
    Privacy = 3,
}

/// The services in the order of their numbers.
pub(super) const SERVICES: [GssService; 3] = [GssService::None, GssService::Integrity, GssService::Privacy];

impl GssService {
    /// Returns the pseudo flavor of Kerberos V5 with this service, by which MOUNT and exports name the pair:
    /// krb5, krb5i, krb5p (RFC 7530 §3.2.1.1).
    #[must_use]
    pub fn krb5_pseudo_flavor(self) -> u32 {
        match self {
            Self::None => 390_003,
            Self::Integrity => 390_004,
            Self::Privacy => 390_005,
        }
    }
}
