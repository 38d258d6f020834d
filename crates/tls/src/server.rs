//! The server's part of the handshake, and the trust in its clients afterwards.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rpc::BoxFuture;
use rpc::auth::PeerCertificate;
use rpc_net::{Stream, Upgrade, Upgraded};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::{
    NoClientAuth, NoServerSessionStorage, WebPkiClientVerifier, danger::ClientCertVerifier,
};
use rustls::{Connection, ServerConfig, ServerConnection};

use crate::certificate::{self, Authority};
use crate::files::{self, Stamp};
use crate::handshake::Secured;
use crate::sessions::{Session, Sessions};
use crate::{ALPN, CertificateFiles, Error, provider};

/// The trust of a server in the certificates of its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTrust {
    /// The file of the authorities that sign them, in PEM form.
    pub authorities: PathBuf,
    /// The file of the lists of revoked certificates (CRL, RFC 5280 §5), in PEM form. An authority without a
    /// list in it has revoked nothing; a list that has expired counts as well.
    pub revocations: Option<PathBuf>,
}

/// Offers TLS 1.3 with a certificate, and asks clients for theirs if it has authorities that sign those.
///
/// There are no session tickets: Linux clients before 6.13 take a record behind the handshake for the end of
/// the connection.
///
/// Clones share everything.
#[derive(Debug, Clone)]
pub struct ServerUpgrade {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    identity: CertificateFiles,
    clients: Option<ClientTrust>,
    loaded: ArcSwap<Loaded>,
    seen: Mutex<Seen>,
    sessions: Sessions,
    reviewing: Mutex<()>,
}

/// The content of the files.
#[derive(Debug)]
struct Loaded {
    config: Arc<ServerConfig>,
    verifier: Arc<dyn ClientCertVerifier>,
    authorities: Vec<Authority>,
}

/// The files as they were when they were looked at.
#[derive(Debug)]
struct Seen {
    loaded: Vec<Stamp>,
    last: Vec<Stamp>,
}

impl ServerUpgrade {
    /// Loads the certificate and key, and the trust in certificates of clients. A client without a
    /// certificate is accepted; one with a certificate that is not trusted is refused.
    ///
    /// # Errors
    /// Files that cannot be read or used.
    pub fn new(identity: CertificateFiles, clients: Option<ClientTrust>) -> Result<Self, Error> {
        let stamps = stamps(&identity, clients.as_ref());
        let loaded = ArcSwap::from_pointee(Loaded::new(&identity, clients.as_ref())?);
        let seen = Mutex::new(Seen { loaded: stamps.clone(), last: stamps });
        let shared = Shared {
            identity,
            clients,
            loaded,
            seen,
            sessions: Sessions::default(),
            reviewing: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Reads the files again. Handshakes from now on use them, and connections of clients whose certificates
    /// are not trusted any more end. When the files cannot be used, everything stays as it was.
    ///
    /// # Errors
    /// Files that cannot be read or used.
    pub fn reload(&self) -> Result<(), Error> {
        self.shared.reload()
    }

    /// Reads the files again if they have changed and are complete: the same in two calls. Ends connections
    /// of clients whose certificates have expired by `now` or are not trusted any more. It reads files and
    /// verifies signatures, so it is not for threads that serve.
    ///
    /// # Errors
    /// Files that have changed and cannot be read or used. It is said once for each change.
    pub fn review(&self, now: SystemTime) -> Result<(), Error> {
        if self.shared.has_changed() {
            return self.shared.reload();
        }
        self.shared.end_distrusted(now, false);
        Ok(())
    }
}

impl Shared {
    fn reload(&self) -> Result<(), Error> {
        let stamps = stamps(&self.identity, self.clients.as_ref());
        *self.seen.lock() = Seen { loaded: stamps.clone(), last: stamps };
        self.loaded.store(Arc::new(Loaded::new(&self.identity, self.clients.as_ref())?));
        self.end_distrusted(SystemTime::now(), true);
        Ok(())
    }

    fn has_changed(&self) -> bool {
        let stamps = stamps(&self.identity, self.clients.as_ref());
        let mut seen = self.seen.lock();
        let is_complete = stamps == seen.last;
        let has_changed = stamps != seen.loaded;
        seen.last = stamps;
        has_changed && is_complete
    }

    fn end_distrusted(&self, now: SystemTime, all: bool) {
        // One review after the other: a later one must find every connection, and have the newest trust.
        let _reviewing = self.reviewing.lock();
        let loaded = self.loaded.load_full();
        let verify = |chain: &[CertificateDer<'_>], at| loaded.verify(chain, at);
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.sessions.review(&verify, UnixTime::since_unix_epoch(now), all);
    }

    /// Notes a connection, and returns the certificate of its client.
    fn admit(&self, peer: SocketAddr, secured: Secured) -> Upgraded {
        let loaded = self.loaded.load();
        let certificate = certificate::describe(&secured.peer_chain, &loaded.authorities).map(Arc::new);
        audit(peer, certificate.as_deref());
        if certificate.is_some() {
            self.sessions.add(Session::new(peer, secured.peer_chain, secured.stream.trust()));
        }
        Upgraded { stream: Box::new(secured.stream), peer: certificate }
    }
}

impl Upgrade for ServerUpgrade {
    fn upgrade(&self, stream: Arc<dyn Stream>) -> BoxFuture<io::Result<Upgraded>> {
        let shared = Arc::clone(&self.shared);
        let config = Arc::clone(&shared.loaded.load().config);
        let connection = ServerConnection::new(config).map_err(io::Error::other);
        Box::pin(async move {
            let peer = stream.peer();
            let secured = crate::handshake::perform(Connection::Server(connection?), stream).await;
            let secured =
                secured.inspect_err(|error| tracing::debug!(%peer, %error, "a TLS handshake failed"))?;
            Ok(shared.admit(peer, secured))
        })
    }
}

/// Logs the protection of a connection, with the serial number of the client's certificate (RFC 9289 §6.1).
fn audit(peer: SocketAddr, certificate: Option<&PeerCertificate>) {
    match certificate {
        None => tracing::info!(%peer, mode = "tls", "a connection is protected"),
        Some(certificate) => {
            let serial = certificate.serial.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            tracing::info!(%peer, mode = "mtls", serial, "a connection is protected");
        }
    }
}

fn stamps(identity: &CertificateFiles, clients: Option<&ClientTrust>) -> Vec<Stamp> {
    let own = [&identity.certificate, &identity.key];
    let of_clients = clients.map(|trust| &trust.authorities);
    let revocations = clients.and_then(|trust| trust.revocations.as_ref());
    own.into_iter().chain(of_clients).chain(revocations).map(|path| Stamp::of(path)).collect()
}

impl Loaded {
    fn new(identity: &CertificateFiles, clients: Option<&ClientTrust>) -> Result<Self, Error> {
        let (certificates, key) = identity.load()?;
        let (verifier, authorities) = match clients {
            None => (Arc::new(NoClientAuth) as _, Vec::new()),
            Some(trust) => trust.load()?,
        };
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|builder| {
                builder.with_client_cert_verifier(Arc::clone(&verifier)).with_single_cert(certificates, key)
            })
            .map_err(|source| identity.refused(source))?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(Self { config: Arc::new(config), verifier, authorities })
    }

    /// Verifies a client's certificate at a time.
    fn verify(&self, chain: &[CertificateDer<'_>], at: UnixTime) -> Result<(), rustls::Error> {
        let Some((first, issuers)) = chain.split_first() else { return Ok(()) };
        self.verifier.verify_client_cert(first, issuers, at).map(|_| ())
    }
}

impl ClientTrust {
    fn load(&self) -> Result<(Arc<dyn ClientCertVerifier>, Vec<Authority>), Error> {
        let refused = |cause: String| Error::Authorities { path: self.authorities.clone(), cause };
        let certificates = files::certificates("certificates of authorities", &self.authorities)?;
        let authorities = certificates.iter().filter_map(Authority::of).collect();
        let mut verifier = WebPkiClientVerifier::builder_with_provider(
            files::roots(&self.authorities, certificates)?,
            provider(),
        )
        .allow_unauthenticated();
        if let Some(path) = &self.revocations {
            verifier = verifier.with_crls(files::revocations(path)?).allow_unknown_revocation_status();
        }
        let verifier = verifier.build().map_err(|error| refused(error.to_string()))?;
        Ok((verifier, authorities))
    }
}
