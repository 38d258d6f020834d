//! Accepting connections.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rpc::{RecordLimits, Service};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::MissedTickBehavior;

use crate::busy_poll::BusyPolls;
use crate::driver::{DriverLimits, Ended, Neighbours, drive};
use crate::link::Link;
use crate::memory::{ClientAddress, MemoryBudget, Shared};
use crate::own_host;
use crate::places::{Activity, Admission, Occupant, Places};
use crate::stream::{PlainTcp, Stream};
use crate::tcp::TcpOptions;
use crate::turns::Crowd;
use crate::upgrade::Upgrade;

/// Bounds of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// The longest call in bytes.
    pub record_bytes_max: usize,
    /// The most fragments of a call.
    pub fragments_max: usize,
    /// The most connections. For one more, an idle connection of the client address with the most is
    /// closed, or the new one.
    pub connections_max: usize,
    /// How long a connection may be idle before it is closed; one that alone carries the callbacks of a
    /// client is not.
    pub idle_timeout: Duration,
    /// The most calls under way on one connection; beyond, nothing more is read from it.
    pub requests_in_flight_max: usize,
    /// The most bytes of replies that wait for one connection; beyond, nothing more is read from it.
    pub replies_pending_bytes_max: usize,
    /// How long a peer may keep a part of a record to itself, and how long an upgrade may take.
    pub partial_record_timeout: Duration,
    /// How long a peer may take nothing of the replies that wait for it; then its connection is closed.
    pub unread_timeout: Duration,
    /// How long a thread looks for the next call of a connection whose calls come one at a time and soon,
    /// before it sleeps until one comes. At most half the cores look at the same time. Zero is never.
    pub busy_poll_limit: Duration,
    /// How many threads of the runtime serve; all of them when `None`.
    pub threads: Option<usize>,
    /// How long calls may take to end after the server was told to stop.
    pub stop_timeout: Duration,
    /// Settings of TCP for the listener, which its connections inherit.
    pub tcp: TcpOptions,
    /// The server's part of the handshake of an upgrade, which the service's authenticator offers
    /// ([`Verdict::Upgrade`](rpc::auth::Verdict::Upgrade)). No upgrade is offered when `None`.
    pub upgrade: Option<Arc<dyn Upgrade>>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            record_bytes_max: (1 << 20) + (64 << 10),
            fragments_max: 128,
            connections_max: 1024,
            // As long as Linux's server has it; its client closes idle connections after five minutes itself.
            idle_timeout: Duration::from_secs(360),
            requests_in_flight_max: 4096,
            replies_pending_bytes_max: 16 << 20,
            partial_record_timeout: Duration::from_secs(60),
            unread_timeout: Duration::from_secs(60),
            busy_poll_limit: Duration::from_micros(100),
            threads: None,
            stop_timeout: Duration::from_secs(10),
            tcp: TcpOptions::default(),
            upgrade: None,
        }
    }
}

/// The memory of an open connection, in bytes: its buffer, its task, and charges not settled with its
/// client's account.
pub const CONNECTION_BYTES: u64 = 112 << 10;
/// A connection that was idle for so many ticks is closed.
const IDLE_TICKS: u32 = 72;
/// The shortest tick.
const TICK_MIN: Duration = Duration::from_millis(10);
/// Pause after an error of `accept` that will not go away at once, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Serves connections until `stop`; then takes no more calls, answers those under way, and returns.
///
/// # Errors
/// Those of [`TcpOptions::apply`], before any connection is accepted. Errors of single connections are logged
/// and end only those.
pub async fn serve<S: Service>(
    listener: TcpListener,
    service: Arc<S>,
    options: ServerOptions,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    serve_within(listener, service, options, MemoryBudget::unlimited(), stop).await
}

/// Like [`serve`], within a memory budget: the connections of a client that holds more than its share are
/// not read.
///
/// # Errors
/// Those of [`serve`].
pub async fn serve_within<S: Service>(
    listener: TcpListener,
    service: Arc<S>,
    options: ServerOptions,
    memory: Arc<MemoryBudget>,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let mut places = Places::new(options.connections_max);
    let mut ticks = tokio::time::interval((options.idle_timeout / IDLE_TICKS).max(TICK_MIN));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let busy_polls = BusyPolls::new(options.busy_poll_limit);
    let crowd = Crowd::new(options.threads);
    let upgrade = options.upgrade.clone();
    let neighbours = Arc::new(Neighbours { busy_polls, crowd, memory, upgrade });
    options.tcp.apply(&listener)?;
    let usual = match options.tcp.congestion {
        Some(_) => None,
        None => own_host::unpace(&listener),
    };
    let (stop_sender, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
            Some(ended) = connections.join_next(), if !connections.is_empty() => {
                forget(&mut places, ended);
                continue;
            }
            _ = ticks.tick() => {
                places.tick(IDLE_TICKS);
                continue;
            }
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                // There may be no descriptor for it.
                places.close_one(false);
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        while let Some(ended) = connections.try_join_next() {
            forget(&mut places, ended);
        }
        let client = ClientAddress::of(peer.ip());
        match places.admit(client) {
            Admission::Free => {}
            Admission::Instead => service.gave_way(),
            Admission::Refused => {
                let connections = options.connections_max;
                tracing::warn!(peer = %peer.ip(), connections, "too many connections: one was closed");
                service.refused();
                continue;
            }
        }
        let Ok(stream) = PlainTcp::new(stream) else { continue };
        if let Some(usual) = &usual {
            usual.restore(&stream);
        }
        let link = Link::new(Arc::new(stream));
        let mut stopped = stopped.clone();
        let stop = async move {
            // The sender outlives every connection.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let peer = rpc::Connection::peer(&*link);
        let id = rpc::Connection::id(&*link);
        places.insert(id, client, Served { link: Arc::clone(&link), service: Arc::clone(&service) });
        let driver = drive(link, Arc::clone(&service), limits(&options), Arc::clone(&neighbours), stop);
        let cost = ConnectionCost::new(Arc::clone(&neighbours.memory));
        connections.spawn(async move {
            log(peer, &driver.await);
            drop(cost);
            id
        });
    }
    drop(places);
    drop(listener);
    stop_sender.send_replace(true);
    let finish = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(options.stop_timeout, finish).await.is_err() {
        tracing::warn!("calls were still under way when the time to stop was over");
        connections.abort_all();
    }
    Ok(())
}

/// Serves one connection over any stream, until it ends or until `stop`.
pub async fn serve_stream<S: Service>(
    stream: Box<dyn Stream>,
    service: Arc<S>,
    options: ServerOptions,
    stop: impl Future<Output = ()> + Send,
) {
    let neighbours = Arc::new(Neighbours {
        busy_polls: BusyPolls::new(options.busy_poll_limit),
        crowd: Crowd::new(options.threads),
        memory: MemoryBudget::unlimited(),
        upgrade: options.upgrade.clone(),
    });
    let peer = stream.peer();
    log(peer, &drive(Link::new(Arc::from(stream)), service, limits(&options), neighbours, stop).await);
}

/// The part of a connection in the memory that all clients share.
struct ConnectionCost(Arc<MemoryBudget>);

impl ConnectionCost {
    fn new(memory: Arc<MemoryBudget>) -> Self {
        memory.add_shared(Shared::Connections, CONNECTION_BYTES as i64);
        Self(memory)
    }
}

impl Drop for ConnectionCost {
    fn drop(&mut self) {
        self.0.add_shared(Shared::Connections, -(CONNECTION_BYTES as i64));
    }
}

/// A connection that takes a place.
struct Served<S> {
    link: Arc<Link>,
    service: Arc<S>,
}

impl<S: Service> Occupant for Served<S> {
    fn activity(&self) -> Activity {
        self.link.activity()
    }

    fn is_only_backchannel(&self) -> bool {
        self.service.is_only_backchannel(rpc::Connection::id(&*self.link))
    }

    fn close(&self) {
        self.link.close();
    }
}

/// The task of a connection has ended. One that has panicked keeps its place until that has been idle for
/// long enough.
fn forget<O: Occupant>(places: &mut Places<O>, ended: Result<u64, JoinError>) {
    match ended {
        Ok(id) => places.forget(id),
        Err(error) => tracing::error!(%error, "the task of a connection ended"),
    }
}

fn limits(options: &ServerOptions) -> DriverLimits {
    DriverLimits {
        records: RecordLimits {
            record_bytes_max: options.record_bytes_max,
            fragments_max: options.fragments_max,
        },
        in_flight_max: options.requests_in_flight_max,
        outgoing_bytes_max: options.replies_pending_bytes_max,
        partial_record_timeout: options.partial_record_timeout,
        unread_timeout: Some(options.unread_timeout),
    }
}

fn log(peer: std::net::SocketAddr, ended: &Ended) {
    match ended {
        Ended::ByPeer | Ended::ByUs => tracing::debug!(%peer, %ended, "connection ended"),
        // Without the port: one that comes again and again is one peer, and is reported as one.
        Ended::Panicked => tracing::error!(peer = %peer.ip(), %ended, "connection ended"),
        _ => tracing::info!(peer = %peer.ip(), %ended, "connection ended"),
    }
}
