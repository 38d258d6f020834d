//! The parts of a verified certificate that rules of a server look at.

use bytes::Bytes;
use ring::digest::{SHA256, digest};
use rpc::auth::PeerCertificate;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};

use crate::provider;

/// An authority, and the name that rules have for it.
#[derive(Debug)]
pub(crate) struct Authority {
    pub(crate) anchor: TrustAnchor<'static>,
    /// Of its certificate (DER).
    pub(crate) sha256: [u8; 32],
}

impl Authority {
    /// An authority by its certificate; `None` when that is none.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let anchor = webpki::anchor_from_trusted_cert(certificate).ok()?.to_owned();
        Some(Self { anchor, sha256: sha256(certificate) })
    }
}

/// The parts of the first certificate of a chain that was verified with one of `authorities`. `None` for an
/// empty chain.
pub(crate) fn describe(chain: &[CertificateDer<'_>], authorities: &[Authority]) -> Option<PeerCertificate> {
    let (first, issuers) = chain.split_first()?;
    let certificate = EndEntityCert::try_from(first).ok()?;
    Some(PeerCertificate {
        der: Bytes::copy_from_slice(first),
        serial: certificate.serial().to_vec(),
        dns_names: certificate.valid_dns_names().map(str::to_owned).collect(),
        uris: certificate.valid_uri_names().map(str::to_owned).collect(),
        key_sha256: sha256(&certificate.subject_public_key_info()),
        authority_sha256: authority(&certificate, issuers, authorities),
    })
}

/// The authority at the end of the certificate's chain.
fn authority(
    certificate: &EndEntityCert<'_>,
    issuers: &[CertificateDer<'_>],
    authorities: &[Authority],
) -> Option<[u8; 32]> {
    let algorithms = provider().signature_verification_algorithms.all;
    let is_issued_by = |authority: &&Authority| {
        let anchors = std::slice::from_ref(&authority.anchor);
        let usage = KeyUsage::client_auth();
        certificate.verify_for_usage(algorithms, anchors, issuers, UnixTime::now(), usage, None, None).is_ok()
    };
    authorities.iter().find(is_issued_by).map(|authority| authority.sha256)
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    digest(&SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
}
