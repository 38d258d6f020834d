//! Certificates of clients, as they stand in a configuration file.

use serde::{Deserialize, Serialize};
use server::exports::CertificatePattern;

use super::terms::Wrong;

/// The most bytes of a serial number (RFC 5280 §4.1.2.2).
const SERIAL_BYTES_MAX: usize = 20;

/// Certificates that have all of these properties; at least one is said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateTable {
    /// A host name among the alternative names; `*.` in front stands for one label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<String>,
    /// A URI among the alternative names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// The serial number in hexadecimal digits, with or without colons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// The SHA-256 digest of the public key in hexadecimal digits, with or without colons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_sha256: Option<String>,
    /// The SHA-256 digest of the certificate of the authority, in the same form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority_sha256: Option<String>,
}

/// The certificates that the tables describe.
pub(super) fn patterns(tables: &[CertificateTable]) -> Result<Vec<CertificatePattern>, Wrong> {
    if tables.is_empty() {
        return Err("no certificate is named; describe some, or leave `certificates` out".to_owned());
    }
    tables.iter().map(pattern).collect()
}

fn pattern(table: &CertificateTable) -> Result<CertificatePattern, Wrong> {
    if *table == CertificateTable::default() {
        return Err("a certificate without properties; say dns, uri, serial, key_sha256 or authority_sha256"
            .to_owned());
    }
    Ok(CertificatePattern {
        dns: table.dns.as_deref().map(dns).transpose()?,
        uri: table.uri.clone(),
        serial: table.serial.as_deref().map(serial).transpose()?,
        key_sha256: table.key_sha256.as_deref().map(digest).transpose()?,
        authority_sha256: table.authority_sha256.as_deref().map(digest).transpose()?,
    })
}

fn dns(name: &str) -> Result<String, Wrong> {
    let fixed = name.strip_prefix("*.").unwrap_or(name);
    if fixed.is_empty() || fixed.contains('*') {
        return Err(format!("`{name}` is no host name; a `*` may stand for its first label only"));
    }
    Ok(name.to_owned())
}

fn serial(text: &str) -> Result<Vec<u8>, Wrong> {
    hex(text).filter(|bytes| (1..=SERIAL_BYTES_MAX).contains(&bytes.len())).ok_or_else(|| {
        format!(
            "`{text}` is no serial number; use the hexadecimal digits that `openssl x509 -noout -serial` \
             tells"
        )
    })
}

fn digest(text: &str) -> Result<[u8; 32], Wrong> {
    hex(text).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
        format!(
            "`{text}` is no SHA-256 digest; use 64 hexadecimal digits, as `openssl x509 -noout -fingerprint \
             -sha256` tells them of a certificate"
        )
    })
}

/// Bytes as hexadecimal digits, with or without colons between them.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|letter| *letter != ':')
        .map(|letter| letter.to_digit(16))
        .collect::<Option<_>>()?;
    let is_whole = !digits.is_empty() && digits.len().is_multiple_of(2);
    is_whole.then(|| digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

impl From<&CertificatePattern> for CertificateTable {
    fn from(pattern: &CertificatePattern) -> Self {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self {
            dns: pattern.dns.clone(),
            uri: pattern.uri.clone(),
            serial: pattern.serial.as_deref().map(hex),
            key_sha256: pattern.key_sha256.map(|digest| hex(&digest)),
            authority_sha256: pattern.authority_sha256.map(|digest| hex(&digest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_written_and_read_alike() {
        let pattern = CertificatePattern {
            dns: Some("*.lab.example".to_owned()),
            uri: Some("spiffe://lab/build".to_owned()),
            serial: Some(vec![0, 0x81]),
            key_sha256: Some([0xab; 32]),
            authority_sha256: Some([7; 32]),
        };
        assert_eq!(patterns(&[CertificateTable::from(&pattern)]), Ok(vec![pattern]));
        let colons = CertificateTable { serial: Some("0A:1b".to_owned()), ..CertificateTable::default() };
        assert_eq!(patterns(&[colons]).unwrap()[0].serial, Some(vec![0x0a, 0x1b]));
    }

    #[test]
    fn certificates_that_cannot_be_are_refused_with_the_reason() {
        let table = CertificateTable::default;
        let some = |text: &str| Some(text.to_owned());
        for (tables, reason) in [
            (vec![], "no certificate is named"),
            (vec![table()], "without properties"),
            (vec![CertificateTable { dns: some("a.*.example"), ..table() }], "first label"),
            (vec![CertificateTable { dns: some("*."), ..table() }], "no host name"),
            (vec![CertificateTable { serial: some("123"), ..table() }], "no serial number"),
            (vec![CertificateTable { serial: some(&"00".repeat(21)), ..table() }], "no serial number"),
            (vec![CertificateTable { key_sha256: some("ab"), ..table() }], "64 hexadecimal digits"),
            (
                vec![CertificateTable { authority_sha256: some(&"xy".repeat(32)), ..table() }],
                "64 hexadecimal",
            ),
        ] {
            let wrong = patterns(&tables).unwrap_err();
            assert!(wrong.contains(reason), "{tables:?}: {wrong}");
        }
    }
}
