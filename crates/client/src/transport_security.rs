//! The protection of connections to a server (RPC-with-TLS, RFC 9289), as the options ask for it.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use rpc_net::UpgradeDemand;
use tls::{CertificateFiles, ClientUpgrade, ServerTrust};

use crate::error::{Error, Result};
use crate::options::Options;
use crate::server::Server;

/// The protection that every connection to the server must have, by the names of nfs(5) (`xprtsec`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TransportSecurity {
    /// `none`: plain TCP.
    #[default]
    None,
    /// `tls`: the server shows a certificate that is verified.
    Tls,
    /// `mtls`: the client shows its certificate as well.
    MutualTls,
}

impl FromStr for TransportSecurity {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "tls" => Ok(Self::Tls),
            "mtls" => Ok(Self::MutualTls),
            other => Err(format!("`{other}` is neither none, tls nor mtls")),
        }
    }
}

/// The files and the name that TLS needs, all in PEM form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// The certificates of the authorities that may sign the server's (`tls_ca`). `None` for those that the
    /// system trusts.
    pub authorities: Option<PathBuf>,
    /// The client's certificate with its chain (`tls_cert`), for `mtls`.
    pub certificate: Option<PathBuf>,
    /// The private key of the certificate (`tls_key`).
    pub key: Option<PathBuf>,
    /// The name or the address that the server's certificate must have (`tls_name`). `None` for the host of
    /// the address.
    pub server_name: Option<String>,
}

/// The upgrade that each connection to `program` has before its first call; `None` for plain connections.
///
/// # Errors
/// [`Error::Transport`] when files are missing or cannot be used.
pub(crate) fn demand(
    server: &Server,
    (program, version): (u32, u32),
    options: &Options,
) -> Result<Option<UpgradeDemand>> {
    let identity = match options.transport_security {
        TransportSecurity::None => return Ok(None),
        TransportSecurity::Tls => None,
        TransportSecurity::MutualTls => Some(identity(&options.tls)?),
    };
    let trust = ServerTrust {
        authorities: options.tls.authorities.clone(),
        server_name: options.tls.server_name.clone().unwrap_or_else(|| server.host().to_owned()),
    };
    let upgrade =
        ClientUpgrade::new(&trust, identity.as_ref()).map_err(|error| Error::Transport(error.to_string()))?;
    Ok(Some(UpgradeDemand { program, version, upgrade: Arc::new(upgrade) }))
}

fn identity(options: &TlsOptions) -> Result<CertificateFiles> {
    match (&options.certificate, &options.key) {
        (Some(certificate), Some(key)) => {
            Ok(CertificateFiles { certificate: certificate.clone(), key: key.clone() })
        }
        _ => Err(Error::Transport(
            "xprtsec=mtls needs the client's certificate and key; name their files with tls_cert and tls_key"
                .to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand_of(options: &Options) -> Result<Option<UpgradeDemand>> {
        demand(&Server::new("localhost", ([127, 0, 0, 1], 2049).into()), (100_003, 4), options)
    }

    #[test]
    fn plain_connections_need_no_files() {
        assert!(demand_of(&Options::default()).unwrap().is_none());
    }

    #[test]
    fn missing_certificate_of_the_client_is_one_sentence() {
        let options = Options { transport_security: TransportSecurity::MutualTls, ..Options::default() };
        let error = demand_of(&options).unwrap_err().to_string();
        assert!(error.contains("tls_cert and tls_key"), "{error}");
    }

    #[test]
    fn unreadable_authorities_name_their_file() {
        let tls = TlsOptions { authorities: Some("/no/such.pem".into()), ..TlsOptions::default() };
        let options = Options { transport_security: TransportSecurity::Tls, tls, ..Options::default() };
        assert!(demand_of(&options).unwrap_err().to_string().contains("/no/such.pem"));
    }
}
