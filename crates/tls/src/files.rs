//! Certificates, keys and authorities in PEM files.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use crate::Error;

/// The longest file in bytes: the bundle of a system's authorities has 0.2 MB.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The files of a certificate with the chain to its authority, and of its private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, followed by those of its issuers, in PEM form.
    pub certificate: PathBuf,
    /// The private key in PEM form (PKCS #8, PKCS #1 or SEC 1), without a password.
    pub key: PathBuf,
}

/// A certificate's chain and its key.
pub(crate) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl CertificateFiles {
    pub(crate) fn load(&self) -> Result<Identity, Error> {
        let certificates = certificates("certificate", &self.certificate)?;
        let pem = read("key", &self.key)?;
        let key = PrivateKeyDer::from_pem_slice(&pem)
            .map_err(|_| Error::Pem { what: "key", path: self.key.clone() })?;
        Ok((certificates, key))
    }

    /// Names the file of the certificate in an error of rustls.
    pub(crate) fn refused(&self, source: rustls::Error) -> Error {
        Error::Identity { path: self.certificate.clone(), source }
    }
}

/// A file at a moment. Another content has another stamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp(Option<(SystemTime, u64, u64)>);

impl Stamp {
    /// The time of the last change, the length and the inode; nothing for a file that is not there.
    pub(crate) fn of(path: &Path) -> Self {
        let stamp = |metadata: Metadata| Some((metadata.modified().ok()?, metadata.len(), metadata.ino()));
        Self(std::fs::metadata(path).ok().and_then(stamp))
    }
}

/// The lists of revoked certificates in a file.
pub(crate) fn revocations(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, Error> {
    let what = "lists of revoked certificates";
    let parsed: Result<Vec<_>, _> =
        CertificateRevocationListDer::pem_slice_iter(&read(what, path)?).collect();
    let lists = parsed.ok().filter(|lists| !lists.is_empty());
    lists.ok_or_else(|| Error::Pem { what, path: path.to_owned() })
}

/// The certificates of authorities in a file.
pub(crate) fn authorities(path: &Path) -> Result<Arc<RootCertStore>, Error> {
    roots(path, certificates("certificates of authorities", path)?)
}

/// The authorities that these certificates of a file make.
pub(crate) fn roots(
    path: &Path,
    certificates: Vec<CertificateDer<'static>>,
) -> Result<Arc<RootCertStore>, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots
            .add(certificate)
            .map_err(|error| Error::Authorities { path: path.to_owned(), cause: error.to_string() })?;
    }
    Ok(Arc::new(roots))
}

/// The certificates of the authorities that the system trusts.
pub(crate) fn authorities_of_system() -> Result<Arc<RootCertStore>, Error> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // A system may trust authorities whose certificates are too old for this library.
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let cause = found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
        return Err(Error::System { cause });
    }
    Ok(Arc::new(roots))
}

pub(crate) fn certificates(what: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let pem = read(what, path)?;
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let certificates = parsed.ok().filter(|certificates| !certificates.is_empty());
    certificates.ok_or_else(|| Error::Pem { what, path: path.to_owned() })
}

fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, Error> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|source| Error::Read { what, path: path.to_owned(), source })
}
