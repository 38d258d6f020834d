//! The client's part of the handshake.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rpc::BoxFuture;
use rpc_net::{Stream, Upgrade, Upgraded};
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection};

use crate::certificate;
use crate::files::{self, Stamp};
use crate::{ALPN, CertificateFiles, Error, provider};

/// The authorities that a client trusts to sign the certificates of servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTrust {
    /// Their certificates in a file in PEM form; `None` for those that the system trusts.
    pub authorities: Option<PathBuf>,
    /// The host name, or the address, that the server's certificate must have as an alternative name
    /// (RFC 9289 §5.2.1).
    pub server_name: String,
}

/// Demands TLS 1.3 of a server, verifies its certificate, and shows its own if it has one. Files that have
/// changed are read again for the next connection.
#[derive(Debug)]
pub struct ClientUpgrade {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    authorities: Option<PathBuf>,
    identity: Option<CertificateFiles>,
    server_name: ServerName<'static>,
    loaded: Mutex<Loaded>,
}

/// The content of the files, and the files as they were then.
#[derive(Debug)]
struct Loaded {
    stamps: Vec<Stamp>,
    config: Arc<ClientConfig>,
}

impl ClientUpgrade {
    /// Loads the authorities, and the client's certificate and key.
    ///
    /// # Errors
    /// Files that cannot be read or used, and an impossible name of a server.
    pub fn new(trust: &ServerTrust, identity: Option<&CertificateFiles>) -> Result<Self, Error> {
        let server_name = ServerName::try_from(trust.server_name.clone())
            .map_err(|_| Error::ServerName { name: trust.server_name.clone() })?;
        let (authorities, identity) = (trust.authorities.clone(), identity.cloned());
        let stamps = stamps(authorities.as_deref(), identity.as_ref());
        let config = config(authorities.as_deref(), identity.as_ref())?;
        let loaded = Mutex::new(Loaded { stamps, config });
        Ok(Self { shared: Arc::new(Shared { authorities, identity, server_name, loaded }) })
    }
}

impl Shared {
    /// The content of the files now, or the last content that could be used.
    fn config(&self) -> Arc<ClientConfig> {
        let stamps = stamps(self.authorities.as_deref(), self.identity.as_ref());
        let mut loaded = self.loaded.lock();
        if stamps != loaded.stamps {
            match config(self.authorities.as_deref(), self.identity.as_ref()) {
                Ok(config) => *loaded = Loaded { stamps, config },
                Err(error) => {
                    tracing::warn!(%error, "the files of TLS were not read again; their old content is used");
                }
            }
        }
        Arc::clone(&loaded.config)
    }
}

fn stamps(authorities: Option<&Path>, identity: Option<&CertificateFiles>) -> Vec<Stamp> {
    let own = identity.into_iter().flat_map(|files| [files.certificate.as_path(), files.key.as_path()]);
    authorities.into_iter().chain(own).map(Stamp::of).collect()
}

fn config(
    authorities: Option<&Path>,
    identity: Option<&CertificateFiles>,
) -> Result<Arc<ClientConfig>, Error> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider has TLS 1.3")
        .with_root_certificates(match authorities {
            Some(path) => files::authorities(path)?,
            None => files::authorities_of_system()?,
        });
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (certificates, key) = identity.load()?;
            builder.with_client_auth_cert(certificates, key).map_err(|source| identity.refused(source))?
        }
    };
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

impl Upgrade for ClientUpgrade {
    fn upgrade(&self, stream: Arc<dyn Stream>) -> BoxFuture<io::Result<Upgraded>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let name = shared.server_name.clone();
            let config =
                tokio::task::spawn_blocking(move || shared.config()).await.map_err(io::Error::other)?;
            let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
            let secured = crate::handshake::perform(Connection::Client(connection), stream).await?;
            let peer = certificate::describe(&secured.peer_chain, &[]).map(Arc::new);
            Ok(Upgraded { stream: Box::new(secured.stream), peer })
        })
    }
}
