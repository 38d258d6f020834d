//! Why there is no TLS: one sentence with the cause and the mend.

use std::io;
use std::path::PathBuf;

use rustls::AlertDescription;

/// Certificates, keys or trust that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read the {what} {}: {source}", path.display())]
    Read {
        /// A noun for it, such as "certificate".
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is no PEM, or has no such part.
    #[error("the file {} has no {what} in PEM form; name one that begins with -----BEGIN", path.display())]
    Pem {
        /// A noun for it, such as "certificate".
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The certificate and the key do not belong together, or are of a kind that TLS 1.3 does not use.
    #[error("the certificate {} and its key cannot be used: {source}", path.display())]
    Identity {
        /// The file of the certificate.
        path: PathBuf,
        /// The cause.
        source: rustls::Error,
    },
    /// The certificates of authorities cannot be used.
    #[error("the certificates of authorities in {} cannot be used: {cause}", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: String,
    },
    /// The system trusts no authorities.
    #[error("the system's certificates of authorities cannot be used: {cause}; name a file of them")]
    System {
        /// The cause.
        cause: String,
    },
    /// The name of a server is neither a host name nor an address.
    #[error("{name:?} is no name that a server's certificate can have; name a host or an address")]
    ServerName {
        /// The name.
        name: String,
    },
}

/// The error of a connection that TLS ends: `PermissionDenied` where the peer does not accept our
/// certificate, else `InvalidData`.
pub(crate) fn ended(error: rustls::Error) -> io::Error {
    use AlertDescription as Alert;
    match error {
        rustls::Error::InvalidCertificate(cause) => io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the peer's certificate is refused: {cause:?}"),
        ),
        rustls::Error::AlertReceived(Alert::CertificateRequired) => io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the peer demands a certificate; use mtls and name one",
        ),
        rustls::Error::AlertReceived(
            alert @ (Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            // The authority has the right name and another key.
            | Alert::DecryptError
            | Alert::AccessDenied),
        ) => {
            let sentence = format!("the peer refuses our certificate ({alert:?}); name another one");
            io::Error::new(io::ErrorKind::PermissionDenied, sentence)
        }
        other => io::Error::new(io::ErrorKind::InvalidData, other),
    }
}
