//! Accepting connections.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::busy_poll::BusyPolls;
use super::driver::{DriverLimits, Ended, Neighbours, drive};
use super::link::Link;
use super::own_host;
use super::turns::Crowd;
use crate::{RecordLimits, Service};

/// Bounds of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerOptions {
    /// The longest call in bytes.
    pub record_bytes_max: usize,
    /// The most fragments of a call.
    pub fragments_max: usize,
    /// The most connections; one more is closed at once.
    pub connections_max: usize,
    /// The most calls under way on one connection; beyond, nothing more is read from it.
    pub requests_in_flight_max: usize,
    /// The most bytes of replies that wait for one connection; beyond, nothing more is read from it.
    pub replies_pending_bytes_max: usize,
    /// How long a peer may keep a part of a record to itself.
    pub partial_record_timeout: Duration,
    /// How long a thread looks for the next call of a connection whose calls come one at a time and soon, before it sleeps until one
    /// comes. At most half the cores look at the same time. Zero is never.
    pub busy_poll_limit: Duration,
    /// How long calls may take to end after the server was told to stop.
    pub stop_timeout: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            record_bytes_max: (1 << 20) + (64 << 10),
            fragments_max: 128,
            connections_max: 1024,
            requests_in_flight_max: 4096,
            replies_pending_bytes_max: 16 << 20,
            partial_record_timeout: Duration::from_secs(60),
            busy_poll_limit: Duration::from_micros(100),
            stop_timeout: Duration::from_secs(10),
        }
    }
}

/// Pause after an error of `accept` that will not go away at once, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Serves connections until `stop`; then takes no more calls, answers those under way, and returns.
///
/// # Errors
/// None at present: errors of single connections are logged and end only those.
pub async fn serve<S: Service>(
    listener: TcpListener,
    service: Arc<S>,
    options: ServerOptions,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(options.connections_max));
    let busy_polls = BusyPolls::new(options.busy_poll_limit);
    let neighbours = Arc::new(Neighbours { busy_polls, crowd: Crowd::new() });
    let usual = own_host::unpace(&listener);
    let (stop_sender, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            let connections = options.connections_max;
            tracing::warn!(peer = %peer.ip(), connections, "too many connections: one was closed");
            service.refused();
            continue;
        };
        if let Some(usual) = &usual {
            usual.restore(&stream);
        }
        let Ok(link) = Link::new(stream) else { continue };
        let mut stopped = stopped.clone();
        let stop = async move {
            // The sender outlives every connection.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let peer = crate::Connection::peer(&*link);
        let driver = drive(link, Arc::clone(&service), limits(&options), Arc::clone(&neighbours), stop);
        connections.spawn(async move {
            log(peer, &driver.await);
            drop(place);
        });
    }
    drop(listener);
    stop_sender.send_replace(true);
    let finish = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(options.stop_timeout, finish).await.is_err() {
        tracing::warn!("calls were still under way when the time to stop was over");
        connections.abort_all();
    }
    Ok(())
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
