//! A client: one connection with many calls under way, made again when it is lost.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rpc::auth::{Credentials, OnBehalf, SystemCredentials};
use rpc::{CallError, CallHeader, Connection, Credential, NoService, RecordLimits, Service};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;
use xdr::{Decoder, Encoder};

use crate::busy_poll::BusyPolls;
use crate::call_frame::{frame_call_with, results_of};
use crate::driver::{DriverLimits, Neighbours, drive};
use crate::link::{Link, RawReply};
use crate::memory::MemoryBudget;
use crate::own_host;
use crate::stream::PlainTcp;
use crate::tcp::TcpOptions;
use crate::turns::Crowd;
use crate::upgrade::UpgradeDemand;

/// How a client behaves.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// How long a call may take, reconnecting and sending it again included.
    pub call_timeout: Duration,
    /// The longest reply, and the longest call, in bytes.
    pub record_bytes_max: usize,
    /// The source of the credentials of calls.
    pub credentials: Arc<dyn Credentials>,
    /// After the loss of a connection, send the calls under way again with the same xid on the next one, as
    /// NFSv3 does. Otherwise they end with [`CallError::Disconnected`].
    pub retransmit: bool,
    /// With `retransmit`, how long an answer is waited for before the connection is given up and what is
    /// under way is sent again on the next one; `None` for as long as the call may take.
    pub attempt_timeout: Option<Duration>,
    /// Asked where the server is, when it was not to be reached for a while.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// Settings of TCP for each connection.
    pub tcp: TcpOptions,
    /// The upgrade that each connection has before its first call, within `connect_timeout`. A server that
    /// does not offer it counts as out of reach ([`CallError::Connect`]): no call is sent to it.
    pub upgrade: Option<UpgradeDemand>,
}

/// Knows the addresses that a server has at the moment.
pub trait Resolve: std::fmt::Debug + Send + Sync {
    /// The addresses, the best first.
    fn resolve(&self) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + '_>>;
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(60),
            record_bytes_max: (4 << 20) + (64 << 10),
            credentials: SystemCredentials::shared(Credential::None),
            retransmit: false,
            attempt_timeout: None,
            resolver: None,
            tcp: TcpOptions::default(),
            upgrade: None,
        }
    }
}

/// What came back, and what it took.
#[derive(Debug)]
pub struct Reply {
    /// Stands at the results.
    pub results: Decoder,
    /// Where the time went.
    pub timing: Timing,
    /// Size of the call on the wire.
    pub bytes_sent: u32,
    /// Size of the reply on the wire.
    pub bytes_received: u32,
}

/// Where the time of a call went.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timing {
    /// Until the call was given to the socket.
    pub queued: Duration,
    /// From there to the arrival of the reply.
    pub wire: Duration,
}

/// The first pause before another attempt to connect; it doubles up to [`RECONNECT_PAUSE_MAX`].
const RECONNECT_PAUSE: Duration = Duration::from_millis(5);
const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(2);

/// How long a server must be out of reach before it is asked for at another address.
const RESOLVE_AFTER: Duration = Duration::from_secs(1);
/// The addresses of a server that are tried.
const ADDRESSES_MAX: usize = 8;

/// A handle on a connection; clones share it.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    address: Mutex<SocketAddr>,
    /// Since when no connection can be made.
    out_of_reach: Mutex<Option<Instant>>,
    options: ClientOptions,
    start: Box<dyn Fn(Arc<Link>) + Send + Sync>,
    link: Mutex<Option<Arc<Link>>>,
    connecting: tokio::sync::Mutex<()>,
    /// How long to wait before the next attempt to connect: connections that ended before anything came on
    /// them make it longer.
    pause: Mutex<Duration>,
    next_xid: AtomicU32,
    generation: watch::Sender<u64>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("address", &*self.address.lock()).finish_non_exhaustive()
    }
}

impl Client {
    /// Connects to `address`.
    ///
    /// # Errors
    /// [`CallError::Connect`].
    pub async fn connect(address: SocketAddr, options: ClientOptions) -> Result<Self, CallError> {
        Self::connect_with_callbacks(address, options, Arc::new(NoService)).await
    }

    /// Connects to `address`; calls that arrive on the connection are answered by `service`.
    ///
    /// # Errors
    /// [`CallError::Connect`].
    pub async fn connect_with_callbacks<S: Service>(
        address: SocketAddr,
        options: ClientOptions,
        service: Arc<S>,
    ) -> Result<Self, CallError> {
        let limits = DriverLimits {
            records: RecordLimits { record_bytes_max: options.record_bytes_max, fragments_max: 4096 },
            in_flight_max: 1024,
            outgoing_bytes_max: usize::MAX,
            partial_record_timeout: options.call_timeout,
            // Calls have deadlines of their own.
            unread_timeout: None,
        };
        let start = Box::new(move |link: Arc<Link>| {
            let neighbours = Arc::new(Neighbours {
                busy_polls: BusyPolls::never(),
                crowd: Crowd::never(),
                memory: MemoryBudget::unlimited(),
                upgrade: None,
            });
            let driver = drive(link, Arc::clone(&service), limits, neighbours, std::future::pending());
            tokio::spawn(async move {
                let ended = driver.await;
                tracing::debug!(%ended, "connection to the server ended");
            });
        });
        let inner = Inner {
            address: Mutex::new(address),
            out_of_reach: Mutex::new(None),
            options,
            start,
            link: Mutex::new(None),
            connecting: tokio::sync::Mutex::new(()),
            pause: Mutex::new(Duration::ZERO),
            next_xid: AtomicU32::new(first_xid()),
            generation: watch::Sender::new(0),
        };
        let client = Self { inner: Arc::new(inner) };
        client.inner.open().await?;
        Ok(client)
    }

    /// Calls a procedure and waits for its results.
    ///
    /// # Errors
    /// See [`CallError`]; after `Disconnected` and `Timeout` the outcome is unknown.
    pub async fn call(
        &self,
        program: u32,
        version: u32,
        procedure: u32,
        arguments: impl FnOnce(&mut Encoder),
    ) -> Result<Reply, CallError> {
        self.inner.call((program, version, procedure), OnBehalf::Client, arguments).await
    }

    /// As [`Client::call`], for a user of the client: over the same connection, with the user's credential.
    ///
    /// # Errors
    /// As [`Client::call`]; [`CallError::NoCredential`] when the user has none.
    pub async fn call_for(
        &self,
        on_behalf: OnBehalf<'_>,
        (program, version, procedure): (u32, u32, u32),
        arguments: impl FnOnce(&mut Encoder),
    ) -> Result<Reply, CallError> {
        self.inner.call((program, version, procedure), on_behalf, arguments).await
    }

    /// True while there is a connection.
    pub fn is_connected(&self) -> bool {
        self.inner.current().is_some()
    }

    /// The server's address; another one after it has moved.
    pub fn peer_address(&self) -> SocketAddr {
        *self.inner.address.lock()
    }

    /// Our own end of the present connection.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.inner.current().and_then(|link| link.stream.local())
    }

    /// The present connection, for what belongs to it alone.
    pub fn connection(&self) -> Option<Arc<dyn Connection>> {
        self.inner.current().map(|link| link as Arc<dyn Connection>)
    }

    /// How often a connection has been made; 1 after [`Client::connect`].
    pub fn generation(&self) -> u64 {
        *self.inner.generation.borrow()
    }

    /// Makes sure that there is a connection.
    ///
    /// # Errors
    /// [`CallError::Connect`].
    pub async fn reconnect(&self) -> Result<(), CallError> {
        self.inner.open().await.map(|_| ())
    }

    /// Drops the present connection; the next call makes another.
    pub fn disconnect(&self) {
        let link = self.inner.link.lock().take();
        if let Some(link) = link {
            link.close();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(link) = self.link.get_mut().take() {
            link.close();
        }
    }
}

impl Inner {
    fn current(&self) -> Option<Arc<Link>> {
        self.link.lock().as_ref().filter(|link| link.is_open()).cloned()
    }

    async fn open(&self) -> Result<Arc<Link>, CallError> {
        if let Some(link) = self.current() {
            return Ok(link);
        }
        let _one_at_a_time = self.connecting.lock().await;
        if let Some(link) = self.current() {
            return Ok(link);
        }
        let ended = self.link.lock().take();
        if let Some(ended) = ended {
            self.learn_from(&ended);
        }
        let pause = *self.pause.lock();
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        let stream = match self.reach().await {
            Ok(stream) => stream,
            Err(error) => {
                let since = *self.out_of_reach.lock().get_or_insert_with(Instant::now);
                match self.reach_elsewhere(since).await {
                    Some(stream) => stream,
                    None => return Err(CallError::Connect(error)),
                }
            }
        };
        *self.out_of_reach.lock() = None;
        let link = Link::new(Arc::new(PlainTcp::new(stream).map_err(CallError::Connect)?));
        if let Err(error) = self.upgrade(&link).await {
            self.learn_from(&link);
            return Err(CallError::Connect(error));
        }
        (self.start)(Arc::clone(&link));
        *self.link.lock() = Some(Arc::clone(&link));
        self.generation.send_modify(|generation| *generation += 1);
        Ok(link)
    }

    /// Has a new connection upgraded if the options demand it.
    async fn upgrade(&self, link: &Link) -> io::Result<()> {
        let Some(demand) = &self.options.upgrade else { return Ok(()) };
        let upgrade = demand.perform(link.stream.first(), || link.next_xid());
        let upgraded = tokio::time::timeout(self.options.connect_timeout, Box::pin(upgrade))
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        link.stream.replace(upgraded);
        Ok(())
    }

    /// A connection has ended. A server that accepts connections and closes them, or answers none, is not
    /// asked again and again without a pause.
    fn learn_from(&self, ended: &Link) {
        let mut pause = self.pause.lock();
        *pause = match ended.is_answered() {
            true => Duration::ZERO,
            false => (*pause * 2).clamp(RECONNECT_PAUSE, RECONNECT_PAUSE_MAX),
        };
    }

    async fn reach(&self) -> io::Result<TcpStream> {
        let address = *self.address.lock();
        tokio::time::timeout(self.options.connect_timeout, own_host::connect(address, &self.options.tcp))
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    /// Tries the other addresses that the server has, at the same port, and stays with the first that
    /// answers.
    async fn reach_elsewhere(&self, since: Instant) -> Option<TcpStream> {
        let resolver = self.options.resolver.as_ref().filter(|_| since.elapsed() >= RESOLVE_AFTER)?;
        let before = *self.address.lock();
        let found = match tokio::time::timeout(self.options.connect_timeout, resolver.resolve()).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                tracing::debug!(%error, "looking for the server's addresses");
                return None;
            }
            Err(_) => return None,
        };
        for ip in found.into_iter().take(ADDRESSES_MAX).filter(|ip| *ip != before.ip()) {
            *self.address.lock() = SocketAddr::new(ip, before.port());
            if let Ok(stream) = self.reach().await {
                tracing::info!(from = %before, to = %ip, "the server has moved to another address");
                return Some(stream);
            }
        }
        *self.address.lock() = before;
        None
    }

    async fn call(
        &self,
        (program, version, procedure): (u32, u32, u32),
        on_behalf: OnBehalf<'_>,
        arguments: impl FnOnce(&mut Encoder),
    ) -> Result<Reply, CallError> {
        let started = Instant::now();
        let deadline = started + self.options.call_timeout;
        let xid = self.next_xid.fetch_add(1, Ordering::Relaxed);
        let header = CallHeader { xid, program, version, procedure };
        let pass = self.options.credentials.pass(on_behalf)?;
        let (frame, protection) = frame_call_with(&header, pass, arguments);
        if frame.len() - 4 > self.options.record_bytes_max {
            return Err(CallError::TooLarge(frame.len()));
        }
        let bytes_sent = frame.len();
        let frame = Bytes::from(frame);
        let first = match self.current() {
            Some(link) => Some(self.attempt(&link, xid, &frame, deadline).await),
            None => None,
        };
        let (sent, raw) = match first {
            Some(Err(CallError::Disconnected)) if self.options.retransmit => {
                self.transmit(xid, frame, deadline).await?
            }
            Some(answered) => answered?,
            None => self.transmit(xid, frame, deadline).await?,
        };
        Ok(Reply {
            results: results_of(raw.rest, protection)?,
            timing: Timing { queued: sent - started, wire: raw.received.saturating_duration_since(sent) },
            bytes_sent: u32::try_from(bytes_sent).unwrap_or(u32::MAX),
            bytes_received: u32::try_from(raw.bytes + 4).unwrap_or(u32::MAX),
        })
    }

    /// A connection is of no use any more, unless it has been replaced already.
    fn give_up(&self, link: &Arc<Link>) {
        let is_present = {
            let mut present = self.link.lock();
            present.take_if(|present| Arc::ptr_eq(present, link)).is_some()
        };
        if is_present {
            self.learn_from(link);
            link.close();
        }
    }

    /// Sends the frame over `link` and waits for the answer. The link keeps the time, for all calls with one
    /// timer.
    async fn attempt(
        &self,
        link: &Arc<Link>,
        xid: u32,
        frame: &Bytes,
        deadline: Instant,
    ) -> Result<(Instant, RawReply), CallError> {
        let sent = Instant::now();
        let limit = self.options.attempt_timeout.filter(|_| self.options.retransmit);
        let until = limit.map_or(deadline, |limit| deadline.min(sent + limit));
        match Link::send(&**link, xid, frame.clone(), until)?.answer().await {
            Err(CallError::Timeout) if until < deadline => {
                self.give_up(link);
                Err(CallError::Disconnected)
            }
            answered => answered.map(|reply| (sent, reply)),
        }
    }

    /// Sends the frame until it is answered, once unless calls are retransmitted, over connections that may
    /// have to be made.
    fn transmit(
        &self,
        xid: u32,
        frame: Bytes,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<(Instant, RawReply), CallError>> {
        // Few calls come here; the others are not to carry what it takes.
        Box::pin(async move {
            let sent = tokio::time::timeout_at(deadline, self.transmit_without_end(xid, &frame, deadline));
            sent.await.unwrap_or(Err(CallError::Timeout))
        })
    }

    async fn transmit_without_end(
        &self,
        xid: u32,
        frame: &Bytes,
        deadline: Instant,
    ) -> Result<(Instant, RawReply), CallError> {
        let mut pause = RECONNECT_PAUSE;
        loop {
            let link = match self.open().await {
                Ok(link) => link,
                Err(_) if self.options.retransmit => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(RECONNECT_PAUSE_MAX);
                    continue;
                }
                Err(error) => return Err(error),
            };
            match self.attempt(&link, xid, frame, deadline).await {
                Err(CallError::Disconnected) if self.options.retransmit => {}
                answered => return answered,
            }
        }
    }
}

/// Xids of successive clients differ, so that a server's cache of duplicates does not mistake one for
/// another.
fn first_xid() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id()) as u32
}
