//! Certificates for TLS of the benchmark's own server and its clients, made for one benchmark.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// The host name of the server's certificate: its address may change with the network.
const SERVER_NAME: &str = "localhost";

/// The files of an authority, and of the certificates that it has signed.
#[derive(Debug)]
pub(super) struct OwnCertificates {
    directory: PathBuf,
}

impl OwnCertificates {
    /// Makes an authority, a certificate of the server and one of all clients, in `directory`.
    pub(super) fn make(directory: &Path) -> io::Result<Self> {
        let own = Self { directory: directory.to_owned() };
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.distinguished_name.push(DnType::CommonName, "primetime bench");
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = authority.self_signed(&key).map_err(io::Error::other)?;
        fs::write(own.file("authority"), certificate.pem())?;
        let issuer = Issuer::new(authority, key);
        for name in [SERVER_NAME, "client"] {
            let params = CertificateParams::new(vec![name.to_owned()]).map_err(io::Error::other)?;
            let key = KeyPair::generate().map_err(io::Error::other)?;
            let certificate = params.signed_by(&key, &issuer).map_err(io::Error::other)?;
            fs::write(own.file(name), certificate.pem())?;
            fs::write(own.key(name), key.serialize_pem())?;
        }
        Ok(own)
    }

    /// The options of `serve`.
    pub(super) fn flags(&self) -> Vec<String> {
        let options = [
            ("--tls-cert", self.file(SERVER_NAME)),
            ("--tls-key", self.key(SERVER_NAME)),
            ("--tls-client-ca", self.file("authority")),
        ];
        options
            .into_iter()
            .flat_map(|(option, path)| [option.to_owned(), path.display().to_string()])
            .collect()
    }

    /// The options of a client's address, besides `xprtsec`.
    pub(super) fn query(&self) -> String {
        format!(
            "tls_name={SERVER_NAME}&tls_ca={}&tls_cert={}&tls_key={}",
            self.file("authority").display(),
            self.file("client").display(),
            self.key("client").display()
        )
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.pem"))
    }

    fn key(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.key.pem"))
    }
}
