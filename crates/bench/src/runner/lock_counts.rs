//! The NLM requests of a kernel, which does not count them itself: differences of the server's counters.
//!
//! Only the benchmark's own server is read, and only while one run is under way, so that every NLM request
//! between two reads belongs to that run.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::{Request, Response, StatusCode};
use proto::nlm4;
use tokio::net::TcpStream;

use crate::http::exchange;
use crate::run_part::Conductor;

/// The timeout for one read of the counters.
const READ_WITHIN: Duration = Duration::from_secs(5);
/// More than the metrics of a server with 64 exports have.
const METRICS_BYTES_MAX: usize = 8 << 20;

/// The counter that the server has for each operation (docs/operating.md).
const COUNTER: &str = "primetime_operations_total{";
const NLM_COUNTER: &str = "primetime_operations_total{program=\"nlm4\",operation=\"";

/// NLM requests by name, as the client library names them in `Snapshot::requests`.
pub(super) type Counts = BTreeMap<String, u64>;

/// Reads the counters of the server before and after each part of a run; reads nothing without an address.
pub(super) struct LockCounts<'a, C> {
    /// The address of the server's metrics.
    metrics: Option<SocketAddr>,
    conductor: &'a mut C,
    reads: Vec<Result<Counts, String>>,
}

impl<'a, C: Conductor> LockCounts<'a, C> {
    pub(super) fn new(metrics: Option<SocketAddr>, conductor: &'a mut C) -> Self {
        Self { metrics, conductor, reads: Vec::new() }
    }

    /// Returns the requests of each part, of which there are `parts`; without an address they are empty.
    ///
    /// # Errors
    /// When the counters could not be read, or went back.
    pub(super) fn of_parts(self, parts: usize) -> Result<Vec<Counts>, String> {
        if self.metrics.is_none() {
            return Ok(vec![Counts::new(); parts]);
        }
        let reads = self.reads.into_iter().collect::<Result<Vec<_>, _>>()?;
        let (pairs, rest) = reads.as_chunks::<2>();
        if pairs.len() != parts || !rest.is_empty() {
            return Err(format!("{} reads are not two for each of {parts} parts", reads.len()));
        }
        pairs.iter().map(|[before, after]| since(after, before)).collect()
    }

    async fn read(&mut self) {
        let Some(metrics) = self.metrics else { return };
        let read = tokio::time::timeout(READ_WITHIN, read(metrics)).await;
        let silent = || Err(format!("{metrics} has not answered within {} s", READ_WITHIN.as_secs()));
        self.reads.push(read.unwrap_or_else(|_| silent()));
    }
}

impl<C: Conductor> Conductor for LockCounts<'_, C> {
    async fn ready(&mut self, part: usize) {
        self.conductor.ready(part).await;
        self.read().await;
    }

    async fn finished(&mut self, part: usize) {
        self.read().await;
        self.conductor.finished(part).await;
    }
}

/// Returns the requests between two reads, without names that have none.
fn since(after: &Counts, before: &Counts) -> Result<Counts, String> {
    if let Some(name) = before.keys().find(|name| after.get(*name).is_none_or(|now| now < &before[*name])) {
        return Err(format!("the counter of {name} went back"));
    }
    let since = |(name, now): (&String, &u64)| (name.clone(), now - before.get(name).unwrap_or(&0));
    Ok(after.iter().map(since).filter(|(_, count)| *count > 0).collect())
}

/// Reads the NLM counters of the server whose metrics are at `address`.
async fn read(address: SocketAddr) -> Result<Counts, String> {
    let failed = |error: &dyn std::error::Error| format!("{address}: {error}");
    let stream = TcpStream::connect(address).await.map_err(|error| failed(&error))?;
    let request = Request::get("/metrics").header(HOST, address.to_string()).body(Empty::<Bytes>::new());
    let read = async |answer: Response<Incoming>| {
        if answer.status() != StatusCode::OK {
            return Err(format!("{address} answers {}", answer.status()));
        }
        let body = Limited::new(answer.into_body(), METRICS_BYTES_MAX).collect().await;
        let body = body.map_err(|error| format!("{address}: {error}"))?.to_bytes();
        parse(&String::from_utf8_lossy(&body))
    };
    let request = request.map_err(|error| failed(&error))?;
    exchange(stream, request, read).await.map_err(|error| failed(&error))?
}

/// Adds up the NLM counters in `text` by name, over all exports.
fn parse(text: &str) -> Result<Counts, String> {
    if !text.lines().any(|line| line.starts_with(COUNTER)) {
        return Err("the metrics have no counts of operations".to_owned());
    }
    let mut counts = Counts::new();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix(NLM_COUNTER) else { continue };
        let operation = rest.split_once('"').map(|(operation, _)| operation);
        let count = rest.rsplit_once(' ').and_then(|(_, count)| count.parse::<u64>().ok());
        let (operation, count) = operation.zip(count).ok_or_else(|| format!("`{line}` is no counter"))?;
        let sum = counts.entry(request_name(operation).to_owned()).or_default();
        *sum = sum.saturating_add(count);
    }
    Ok(counts)
}

/// Returns the name that the client library counts an NLM procedure under.
fn request_name(operation: &str) -> &'static str {
    let procedure = nlm4::Procedure::ALL.iter().find(|procedure| procedure.name() == operation);
    client::Request::Lock(procedure.copied().unwrap_or(nlm4::Procedure::Null)).name()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A conductor that goes on at once.
    struct AtOnce;

    impl Conductor for AtOnce {
        async fn ready(&mut self, _part: usize) {}

        async fn finished(&mut self, _part: usize) {}
    }

    fn metrics(locks: u64) -> String {
        format!(
            "# TYPE primetime_operations_total counter\n\
             primetime_operations_total{{program=\"nfs3\",operation=\"READ\",export=\"/\"}} 900\n\
             primetime_operations_total{{program=\"nlm4\",operation=\"LOCK\",export=\"/\"}} {locks}\n\
             primetime_operations_total{{program=\"nlm4\",operation=\"NM_LOCK\",export=\"/a b\"}} 2\n\
             primetime_operations_total{{program=\"nlm4\",operation=\"UNLOCK\",export=\"/\"}} 7\n\
             primetime_operation_errors_total{{program=\"nlm4\",operation=\"LOCK\",export=\"/\"}} 1\n"
        )
    }

    /// Answers one connection with each of `answers`.
    async fn serve(answers: Vec<String>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = [0; 4096];
                let _ = stream.read(&mut head).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        address
    }

    fn ok(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    async fn count(answers: Vec<String>) -> Result<Vec<Counts>, String> {
        let mut conductor = AtOnce;
        let mut counts = LockCounts::new(Some(serve(answers).await), &mut conductor);
        counts.ready(0).await;
        counts.finished(0).await;
        counts.of_parts(1)
    }

    #[test]
    fn nlm_procedures_have_the_names_of_the_client_library() {
        let counts = parse(&metrics(5)).unwrap();
        assert_eq!(counts, Counts::from([("LOCK".to_owned(), 7), ("UNLOCK".to_owned(), 7)]));
    }

    #[test]
    fn metrics_without_counts_of_operations_are_an_error() {
        assert!(parse("primetime_clients 3\n").is_err());
        let broken = metrics(5).replace("} 5", "} five");
        assert!(parse(&broken).unwrap_err().contains("five"));
    }

    #[tokio::test]
    async fn part_has_the_difference_of_its_two_reads() {
        let counted = count(vec![ok(&metrics(5)), ok(&metrics(45))]).await.unwrap();
        assert_eq!(counted, [Counts::from([("LOCK".to_owned(), 40)])]);
    }

    #[tokio::test]
    async fn counters_that_cannot_be_read_or_go_back_are_an_error() {
        let unavailable = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n".to_owned();
        assert!(count(vec![unavailable, ok(&metrics(5))]).await.unwrap_err().contains("503"));
        assert!(count(vec![ok(&metrics(5)), ok(&metrics(4))]).await.unwrap_err().contains("went back"));
    }

    #[tokio::test]
    async fn without_an_address_every_part_is_empty() {
        let mut conductor = AtOnce;
        let mut counts = LockCounts::new(None, &mut conductor);
        counts.ready(0).await;
        counts.finished(0).await;
        assert_eq!(counts.of_parts(2).unwrap(), [Counts::new(), Counts::new()]);
    }
}
