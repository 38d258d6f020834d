//! An upgrade whose stream masks every byte, and a service that offers it.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use rpc::auth::{AUTH_TLS, Authenticator, Caller, Channel, Claim, PeerCertificate, Verdict, Verifier};
use rpc::{BoxFuture, Call, CallHeader, Connection, Credential, Disposition, Refusal, Service};
use rpc_net::{ServerOptions, Stream, Upgrade, Upgraded, serve};
use tokio::net::TcpListener;
use xdr::Encoder;

pub(crate) const PROGRAM: u32 = 400_000;
/// Answers with nothing.
const NULL: u32 = 0;
/// Answers with the principal of the caller.
pub(crate) const TELL: u32 = 1;
/// Calls the client back and answers with the results.
pub(crate) const CALL_BACK: u32 = 2;
/// Begins a callback and answers at once.
pub(crate) const BEGIN_CALLBACK: u32 = 3;
/// Is never answered.
pub(crate) const HANG: u32 = 4;

pub(crate) const CLIENT_NAME: &[u8; 4] = b"ann!";
pub(crate) const SERVER_NAME: &[u8; 4] = b"host";
const MASK: u8 = 0x5a;

pub(crate) fn masked(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ MASK).collect()
}

/// Masks every byte of another stream.
#[derive(Debug)]
struct Masked(Arc<dyn Stream>);

impl Stream for Masked {
    fn peer(&self) -> SocketAddr {
        self.0.peer()
    }

    fn local(&self) -> Option<SocketAddr> {
        self.0.local()
    }

    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_read_ready(context)
    }

    fn try_read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        let start = buffer.len();
        let count = self.0.try_read(buffer)?;
        buffer[start..].iter_mut().for_each(|byte| *byte ^= MASK);
        Ok(count)
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_write_ready(context)
    }

    fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let bytes: Vec<u8> = slices.iter().flat_map(|slice| masked(slice)).collect();
        self.0.try_write(&[IoSlice::new(&bytes)])
    }

    fn shut_down(&self) {
        self.0.shut_down();
    }
}

/// One end of the handshake: the client sends its name in four bytes, then the server does. A name with `?`
/// is refused.
#[derive(Debug)]
pub(crate) struct MaskUpgrade {
    pub(crate) own_name: &'static [u8; 4],
    pub(crate) done: Arc<AtomicUsize>,
}

impl Upgrade for MaskUpgrade {
    fn upgrade(&self, stream: Arc<dyn Stream>) -> BoxFuture<io::Result<Upgraded>> {
        let (own_name, done) = (self.own_name, Arc::clone(&self.done));
        Box::pin(async move {
            let say_name = || assert_eq!(stream.try_write(&[IoSlice::new(own_name)]).unwrap(), 4);
            let is_client = own_name == CLIENT_NAME;
            if is_client {
                say_name();
            }
            let mut name = BytesMut::with_capacity(64);
            while name.len() < 4 {
                poll_fn(|context| stream.poll_read_ready(context)).await?;
                match stream.try_read(&mut name) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
            if name.len() > 4 || name.contains(&b'?') {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if !is_client {
                say_name();
            }
            done.fetch_add(1, Ordering::SeqCst);
            Ok(Upgraded {
                stream: Box::new(Masked(stream)),
                peer: Some(Arc::new(PeerCertificate { der: name.freeze(), ..PeerCertificate::default() })),
            })
        })
    }
}

/// Names callers by their channel. It offers an upgrade to every AUTH_TLS call, also to a second one.
struct ByChannel;

impl Authenticator for ByChannel {
    fn judge(&self, _: &CallHeader, claim: &Claim<'_>, _: &[u8], connection: &dyn Connection) -> Verdict {
        if claim.credential.flavor == AUTH_TLS {
            return Verdict::Upgrade(Verifier::starttls());
        }
        let name: &[u8] = match connection.channel() {
            Channel::Plain => b"plain",
            Channel::Upgraded { peer } => &peer.as_ref().unwrap().der,
        };
        Verdict::Lasting(Arc::new(Caller::named(claim.credential.flavor, name, None)))
    }
}

/// The principal of a caller without a credential over a channel with this name.
pub(crate) fn principal(name: &[u8]) -> Vec<u8> {
    Caller::named(0, name, None).principal().to_vec()
}

#[derive(Default)]
pub(crate) struct Tells {
    pub(crate) failed_upgrades: AtomicUsize,
    pub(crate) calls: AtomicUsize,
    pub(crate) disconnected: tokio::sync::Notify,
}

impl Service for Tells {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let back = || {
            let limit = Duration::from_secs(60);
            call.connection.call(PROGRAM, 1, TELL, Credential::None.into(), Vec::new(), limit)
        };
        match call.header.procedure {
            NULL => {}
            CALL_BACK => reply.buffer_mut().extend_from_slice(&back().await.unwrap()),
            BEGIN_CALLBACK => drop(tokio::spawn(back())),
            HANG => {
                call.connection.set_cancellable(true);
                std::future::pending::<()>().await;
            }
            _ => reply.buffer_mut().extend_from_slice(call.caller.principal()),
        }
        Ok(Disposition::Reply)
    }

    fn authenticator(&self) -> Arc<dyn Authenticator> {
        Arc::new(ByChannel)
    }

    fn upgrade_failed(&self) {
        self.failed_upgrades.fetch_add(1, Ordering::SeqCst);
    }

    fn disconnected(&self, _: u64) {
        self.disconnected.notify_one();
    }
}

/// A server that upgrades connections.
pub(crate) struct Fixture {
    pub(crate) address: SocketAddr,
    pub(crate) service: Arc<Tells>,
    pub(crate) handshakes: Arc<AtomicUsize>,
}

pub(crate) async fn start(options: ServerOptions) -> Fixture {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (service, handshakes) = (Arc::new(Tells::default()), Arc::default());
    let upgrade = MaskUpgrade { own_name: SERVER_NAME, done: Arc::clone(&handshakes) };
    let options = ServerOptions { upgrade: Some(Arc::new(upgrade)), ..options };
    tokio::spawn(serve(listener, Arc::clone(&service), options, std::future::pending()));
    Fixture { address, service, handshakes }
}
