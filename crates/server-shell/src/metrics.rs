//! Tells the counters over HTTP, as Prometheus asks for them.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rpc_net::memory::MemoryBudget;
use server::exports::Exports;
use server::metrics::Metrics;
use server::services::StateService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::exports::Exported;
use super::observe;
use super::records::Health;
use super::start::listen;

/// Scrapers at a time; one more is closed at once.
const CONNECTIONS_MAX: usize = 16;
/// The longest head of a request in bytes; a body is not read.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// How long a scraper may be connected.
const CONNECTION_TIME: Duration = Duration::from_secs(60);
/// How long it may take to send a request.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Pause after an error of `accept`.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The format, as scrapers know it.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is asked.
#[derive(Debug)]
struct Counted {
    metrics: Arc<Metrics>,
    services: StateService,
    exports: Arc<Exports<Exported>>,
    records: Option<Arc<Health>>,
    memory: Arc<MemoryBudget>,
}

/// Listens for scrapers.
#[derive(Debug)]
pub(super) struct MetricsServer {
    listener: TcpListener,
    address: SocketAddr,
    counted: Arc<Counted>,
}

impl MetricsServer {
    /// Begins to listen, and to count.
    pub(super) fn bind(
        address: SocketAddr,
        services: &StateService,
        exports: &Arc<Exports<Exported>>,
        records: Option<Arc<Health>>,
        memory: &Arc<MemoryBudget>,
    ) -> io::Result<Self> {
        let listener = listen(address)?;
        let address = listener.local_addr()?;
        let counted = Counted {
            metrics: Arc::new(Metrics::new(nanoseconds)),
            services: services.clone(),
            exports: Arc::clone(exports),
            records,
            memory: Arc::clone(memory),
        };
        Ok(Self { listener, address, counted: Arc::new(counted) })
    }

    pub(super) fn metrics(&self) -> &Arc<Metrics> {
        &self.counted.metrics
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers for ever.
    pub(super) async fn serve(self) -> Infallible {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a scraper was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                tracing::warn!(connections = CONNECTIONS_MAX, "too many scrapers: one was closed");
                continue;
            };
            let counted = Arc::clone(&self.counted);
            tokio::spawn(async move {
                // However it ends, the scraper comes again.
                let ended = tokio::time::timeout(CONNECTION_TIME, connection(stream, counted)).await;
                tracing::debug!(?ended, "a scraper is gone");
                drop(place);
            });
        }
    }
}

async fn connection(stream: TcpStream, counted: Arc<Counted>) -> hyper::Result<()> {
    let service = service_fn(move |request| answer(request, Arc::clone(&counted)));
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIME)
        .max_buf_size(REQUEST_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

async fn answer(
    request: Request<Incoming>,
    counted: Arc<Counted>,
) -> Result<Response<Full<Bytes>>, hyper::http::Error> {
    if request.uri().path() != "/metrics" {
        return Response::builder().status(StatusCode::NOT_FOUND).body("there is only /metrics\n".into());
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let response = Response::builder().status(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD");
        return response.body(Full::default());
    }
    let mut gauges = observe::gauges(&counted.services, &counted.exports, counted.records.as_deref()).await;
    gauges.memory = counted.memory.memory_use();
    let text = counted.metrics.text(counted.services.events(), &gauges);
    Response::builder().header(CONTENT_TYPE, TEXT).body(text.into())
}

/// Since the first time that this was asked.
fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    // A server that is up for 584 years is not a case to handle.
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
