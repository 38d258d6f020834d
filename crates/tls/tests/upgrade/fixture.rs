//! A server that echoes over TLS, and clients of it.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use parking_lot::Mutex;
use rpc::auth::{AUTH_TLS, Authenticator, Caller, Channel, Claim, PeerCertificate, Verdict, Verifier};
use rpc::{Call, CallError, CallHeader, Connection, Disposition, Refusal, Service};
use rpc_net::{Client, ClientOptions, ServerOptions, UpgradeDemand, serve};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use testkit::authority::{Authority, Issued};
use testkit::wire::RawCall;
use tls::{CertificateFiles, ClientTrust, ClientUpgrade, ServerTrust, ServerUpgrade};
use tokio::net::TcpListener;
use xdr::Encoder;

pub(crate) const PROGRAM: u32 = 400_000;
/// Answers with its arguments.
pub(crate) const ECHO: u32 = 1;

/// Accepts every caller, and offers the upgrade.
struct Anybody;

impl Authenticator for Anybody {
    fn judge(&self, _: &CallHeader, claim: &Claim<'_>, _: &[u8], _: &dyn Connection) -> Verdict {
        match claim.credential.flavor {
            AUTH_TLS => Verdict::Upgrade(Verifier::starttls()),
            flavor => Verdict::Lasting(Arc::new(Caller::named(flavor, b"anybody", None))),
        }
    }
}

#[derive(Default)]
pub(crate) struct Echo {
    pub(crate) failed_upgrades: AtomicUsize,
    pub(crate) calls: AtomicUsize,
    /// The certificate of the client of each call.
    pub(crate) peers: Mutex<Vec<Option<Arc<PeerCertificate>>>>,
    pub(crate) disconnects: AtomicUsize,
    pub(crate) disconnected: tokio::sync::Notify,
}

impl Service for Echo {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        self.calls.fetch_add(1, SeqCst);
        let Channel::Upgraded { peer } = call.connection.channel() else { panic!("a plain channel") };
        self.peers.lock().push(peer.clone());
        reply.buffer_mut().extend_from_slice(call.arguments.rest_ref());
        Ok(Disposition::Reply)
    }

    fn authenticator(&self) -> Arc<dyn Authenticator> {
        Arc::new(Anybody)
    }

    fn upgrade_failed(&self) {
        self.failed_upgrades.fetch_add(1, SeqCst);
    }

    fn disconnected(&self, _: u64) {
        self.disconnects.fetch_add(1, SeqCst);
        self.disconnected.notify_one();
    }
}

pub(crate) struct Fixture {
    pub(crate) address: SocketAddr,
    pub(crate) service: Arc<Echo>,
    pub(crate) upgrade: Arc<ServerUpgrade>,
    pub(crate) files: CertificateFiles,
}

impl Fixture {
    /// Serves with a certificate of `authority` for "localhost". Clients may show certificates of
    /// `client_authority`.
    pub(crate) async fn start(authority: &Authority, client_authority: Option<&Authority>) -> Self {
        let files = files(&authority.issue("localhost"));
        let clients = client_authority.map(|authority| ClientTrust {
            authorities: authority.certificate(),
            revocations: Some(authority.revoke(&[])),
        });
        let upgrade = Arc::new(ServerUpgrade::new(files.clone(), clients).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = Arc::new(Echo::default());
        let options = ServerOptions { upgrade: Some(upgrade.clone()), ..ServerOptions::default() };
        tokio::spawn(serve(listener, Arc::clone(&service), options, std::future::pending()));
        Self { address, service, upgrade, files }
    }
}

pub(crate) fn files(issued: &Issued) -> CertificateFiles {
    CertificateFiles { certificate: issued.certificate.clone(), key: issued.key.clone() }
}

/// Trust in `authority`, for a server of this name.
pub(crate) fn trust(authority: &Authority, server_name: &str) -> ServerTrust {
    ServerTrust { authorities: Some(authority.certificate()), server_name: server_name.to_owned() }
}

/// A client whose connection is upgraded.
pub(crate) async fn connect(
    fixture: &Fixture,
    trust: &ServerTrust,
    identity: Option<&CertificateFiles>,
) -> Result<Client, CallError> {
    let upgrade = Arc::new(ClientUpgrade::new(trust, identity).unwrap());
    let options = ClientOptions {
        upgrade: Some(UpgradeDemand { program: PROGRAM, version: 1, upgrade }),
        ..ClientOptions::default()
    };
    Client::connect(fixture.address, options).await
}

/// Sends so many bytes and expects them back.
pub(crate) async fn echoes(client: &Client, bytes: usize) {
    let sent: Vec<u8> = (0..bytes).map(|place| (place % 251) as u8).collect();
    let write = |encoder: &mut Encoder| encoder.buffer_mut().extend_from_slice(&sent);
    let results = client.call(PROGRAM, 1, ECHO, write).await.unwrap().results;
    assert!(results.rest_ref() == sent, "{} of {bytes} bytes came back", results.remaining());
}

/// A plain connection whose probe was answered with the offer.
pub(crate) fn probe(fixture: &Fixture) -> TcpStream {
    let mut stream = TcpStream::connect(fixture.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let probe = RawCall::new(7, (PROGRAM, 1, 0)).with_credential(AUTH_TLS, b"").record();
    std::io::Write::write_all(&mut stream, &probe).unwrap();
    // The record mark, six words and eight bytes of the verifier.
    let mut offer = [0; 36];
    stream.read_exact(&mut offer).unwrap();
    assert!(offer.ends_with(b"STARTTLS\0\0\0\0"), "{offer:?}");
    stream
}

/// A client of the TLS library alone.
pub(crate) fn tls_client(authority: &Authority) -> rustls::ClientConnection {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(authority.certificate()).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    rustls::ClientConnection::new(Arc::new(config), name).unwrap()
}

/// A connection that begins with a handshake, as those of clients that reconnect.
pub(crate) fn handshake_at_once(
    fixture: &Fixture,
    authority: &Authority,
) -> rustls::StreamOwned<rustls::ClientConnection, TcpStream> {
    let stream = TcpStream::connect(fixture.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    rustls::StreamOwned::new(tls_client(authority), stream)
}
