//! The client's part of the handshake.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rpc::BoxFuture;
use rpc_net::{Stream, Upgrade, Upgraded};
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection};

use crate::certificate;
use crate::files::{authorities, authorities_of_system};
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

/// Demands TLS 1.3 of a server, verifies its certificate, and shows its own if it has one.
#[derive(Debug)]
pub struct ClientUpgrade {
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
}

impl ClientUpgrade {
    /// Loads the authorities, and the client's certificate and key.
    ///
    /// # Errors
    /// Files that cannot be read or used, and an impossible name of a server.
    pub fn new(trust: &ServerTrust, identity: Option<&CertificateFiles>) -> Result<Self, Error> {
        let server_name = ServerName::try_from(trust.server_name.clone())
            .map_err(|_| Error::ServerName { name: trust.server_name.clone() })?;
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("the provider has TLS 1.3")
            .with_root_certificates(match &trust.authorities {
                Some(path) => authorities(path)?,
                None => authorities_of_system()?,
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
        Ok(Self { config: Arc::new(config), server_name })
    }
}

impl Upgrade for ClientUpgrade {
    fn upgrade(&self, stream: Arc<dyn Stream>) -> BoxFuture<io::Result<Upgraded>> {
        let connection = ClientConnection::new(Arc::clone(&self.config), self.server_name.clone())
            .map_err(io::Error::other);
        Box::pin(async move {
            let secured = crate::handshake::perform(Connection::Client(connection?), stream).await?;
            let peer = certificate::describe(&secured.peer_chain, &[]).map(Arc::new);
            Ok(Upgraded { stream: Box::new(secured.stream), peer })
        })
    }
}
