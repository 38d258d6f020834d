//! An authority for certificates (X.509), with its files in a directory of its own.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer, KeyIdMethod,
    KeyPair, RevokedCertParams, SerialNumber, date_time_ymd,
};
use tempfile::TempDir;

/// An authority that signs certificates. Its files end with it.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    directory: TempDir,
    /// The serial number of the next certificate.
    issued: AtomicU64,
}

/// A certificate that an authority has signed, and its key.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The file of the certificate in PEM form.
    pub certificate: PathBuf,
    /// The file of the private key in PEM form.
    pub key: PathBuf,
    /// The certificate in DER form.
    pub der: Vec<u8>,
    /// Its serial number, big-endian.
    pub serial: Vec<u8>,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    /// Makes an authority with a key of its own.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority of a test");
        let key = KeyPair::generate().unwrap();
        let issuer = Issuer::new(params.clone(), key);
        // Of eight bytes, the first of which is not zero: numbers have no leading zeros.
        let authority = Self { issuer, directory, issued: AtomicU64::new(0x0100_0000_0000_0001) };
        let certificate = params.self_signed(authority.issuer.key()).unwrap();
        fs::write(authority.certificate(), certificate.pem()).unwrap();
        authority
    }

    /// The file of its own certificate in PEM form.
    pub fn certificate(&self) -> PathBuf {
        self.directory.path().join("authority.pem")
    }

    /// Issues a certificate for `name`, and for the address 127.0.0.1.
    pub fn issue(&self, name: &str) -> Issued {
        self.issue_with(name, |_| ())
    }

    /// As [`Authority::issue`], for a certificate that ends with `expiry`, in whole seconds.
    pub fn issue_until(&self, name: &str, expiry: SystemTime) -> Issued {
        self.issue_with(name, |params| params.not_after = expiry.into())
    }

    /// The file of a list that revokes these certificates (CRL), in PEM form.
    pub fn revoke(&self, issued: &[&Issued]) -> PathBuf {
        let revoked = |issued: &&Issued| RevokedCertParams {
            serial_number: SerialNumber::from_slice(&issued.serial),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(2120, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: issued.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let path = self.directory.path().join("revoked.pem");
        fs::write(&path, list.signed_by(&self.issuer).unwrap().pem().unwrap()).unwrap();
        path
    }

    fn issue_with(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Issued {
        let mut params = CertificateParams::new(vec![name.to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let serial = self.issued.fetch_add(1, Ordering::Relaxed).to_be_bytes().to_vec();
        params.serial_number = Some(SerialNumber::from_slice(&serial));
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let signed = params.signed_by(&key, &self.issuer).unwrap();
        let path = |kind: &str| self.directory.path().join(format!("{name}.{kind}.pem"));
        let (certificate, key_file) = (path("certificate"), path("key"));
        fs::write(&certificate, signed.pem()).unwrap();
        fs::write(&key_file, key.serialize_pem()).unwrap();
        Issued { certificate, key: key_file, der: signed.der().to_vec(), serial }
    }
}
