//! Clients by the certificates that their connections were made with (RFC 9289 §5.2.1).

use std::fmt;

use rpc::auth::PeerCertificate;

/// Certificates that have all of these properties.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CertificatePattern {
    /// A host name among the alternative names; `*.` in front stands for one label. Case does not count.
    pub dns: Option<String>,
    /// A URI among the alternative names.
    pub uri: Option<String>,
    /// The serial number, big-endian without leading zeros.
    pub serial: Option<Vec<u8>>,
    /// The SHA-256 digest of the public key (SubjectPublicKeyInfo, DER).
    pub key_sha256: Option<[u8; 32]>,
    /// The SHA-256 digest of the certificate (DER) of the authority.
    pub authority_sha256: Option<[u8; 32]>,
}

impl CertificatePattern {
    /// True for a certificate that has all properties.
    #[must_use]
    pub fn matches(&self, certificate: &PeerCertificate) -> bool {
        let Self { dns, uri, serial, key_sha256, authority_sha256 } = self;
        let is_named = |pattern: &String| certificate.dns_names.iter().any(|name| dns_matches(pattern, name));
        dns.as_ref().is_none_or(is_named)
            && uri.as_ref().is_none_or(|uri| certificate.uris.contains(uri))
            && serial
                .as_ref()
                .is_none_or(|serial| without_zeros(&certificate.serial) == without_zeros(serial))
            && key_sha256.is_none_or(|digest| certificate.key_sha256 == digest)
            && authority_sha256.is_none_or(|digest| certificate.authority_sha256 == Some(digest))
    }
}

/// Compares a host name with a pattern. A name with a wildcard of its own is no name of a client.
fn dns_matches(pattern: &str, name: &str) -> bool {
    if name.contains('*') {
        return false;
    }
    match pattern.strip_prefix("*.") {
        None => pattern.eq_ignore_ascii_case(name),
        Some(rest) => name
            .split_once('.')
            .is_some_and(|(label, domain)| !label.is_empty() && domain.eq_ignore_ascii_case(rest)),
    }
}

/// DER has a zero in front of a number whose first bit is set.
fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

impl fmt::Display for CertificatePattern {
    /// For messages: the properties with their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let properties = [
            ("dns", self.dns.clone()),
            ("uri", self.uri.clone()),
            ("serial", self.serial.as_deref().map(hex)),
            ("key_sha256", self.key_sha256.map(|digest| hex(&digest))),
            ("authority_sha256", self.authority_sha256.map(|digest| hex(&digest))),
        ];
        let said = properties.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
        f.write_str(&said.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> PeerCertificate {
        PeerCertificate {
            serial: vec![0, 0x81, 7],
            dns_names: vec!["build.lab.example".to_owned(), "*.wild.example".to_owned()],
            uris: vec!["spiffe://lab/build".to_owned()],
            key_sha256: [1; 32],
            authority_sha256: Some([2; 32]),
            ..PeerCertificate::default()
        }
    }

    fn dns(pattern: &str) -> CertificatePattern {
        CertificatePattern { dns: Some(pattern.to_owned()), ..CertificatePattern::default() }
    }

    #[test]
    fn name_matches_itself_and_one_label_for_a_wildcard() {
        for (pattern, expected) in [
            ("build.lab.example", true),
            ("BUILD.lab.example", true),
            ("*.lab.example", true),
            ("*.example", false),
            ("lab.example", false),
            ("*.build.lab.example", false),
            ("*.wild.example", false),
            ("x.wild.example", false),
        ] {
            assert_eq!(dns(pattern).matches(&certificate()), expected, "{pattern}");
        }
    }

    #[test]
    fn every_property_of_a_pattern_must_hold() {
        let all = CertificatePattern {
            dns: Some("build.lab.example".to_owned()),
            uri: Some("spiffe://lab/build".to_owned()),
            serial: Some(vec![0x81, 7]),
            key_sha256: Some([1; 32]),
            authority_sha256: Some([2; 32]),
        };
        assert!(all.matches(&certificate()));
        for wrong in [
            CertificatePattern { dns: Some("other".to_owned()), ..all.clone() },
            CertificatePattern { uri: Some("spiffe://lab".to_owned()), ..all.clone() },
            CertificatePattern { serial: Some(vec![0x81]), ..all.clone() },
            CertificatePattern { key_sha256: Some([2; 32]), ..all.clone() },
            CertificatePattern { authority_sha256: Some([1; 32]), ..all.clone() },
        ] {
            assert!(!wrong.matches(&certificate()), "{wrong}");
        }
        let unknown = PeerCertificate { authority_sha256: None, ..certificate() };
        assert!(!all.matches(&unknown));
    }
}
