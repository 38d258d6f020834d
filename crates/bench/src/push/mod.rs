//! Results for Prometheus: told to a Pushgateway, which keeps them until they are scraped.
//!
//! Owns the names of the metrics and the one request that carries them. It measures nothing and writes no
//! file.

mod gateway;
mod text;

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpStream;

pub use gateway::{Gateway, GatewayError};
pub use text::exposition;

use crate::http::exchange;
use crate::results::Results;

/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// So much of a refusal is read.
const REFUSAL_BYTES_MAX: usize = 4 << 10;

/// Why results were not pushed, in one sentence.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The gateway is not there.
    #[error(
        "the results were not pushed: cannot reach {gateway}: {source}; push them with `bench report --push`"
    )]
    Connect {
        /// Where it should be.
        gateway: String,
        /// What the network says.
        source: std::io::Error,
    },
    /// It does not speak HTTP, or was gone in the middle.
    #[error(
        "the results were not pushed: {gateway} does not answer as HTTP asks for: {source}; name a \
         Pushgateway"
    )]
    Http {
        /// Which one.
        gateway: String,
        /// What is wrong.
        source: hyper::Error,
    },
    /// It says nothing.
    #[error(
        "the results were not pushed: {gateway} has not answered within {} s; push them with `bench report \
         --push`",
        PATIENCE.as_secs()
    )]
    Silent {
        /// Which one.
        gateway: String,
    },
    /// It does not want them.
    #[error(
        "the results were not pushed: {gateway} answers {status}{said}; name a Pushgateway that takes them"
    )]
    Refused {
        /// Which one.
        gateway: String,
        /// Its status.
        status: StatusCode,
        /// The first line of its words, after a colon; empty where it has none.
        said: String,
    },
}

/// Puts `results` into the group that `gateway` names, in the place of what was there.
///
/// # Errors
/// When the gateway cannot be reached, is silent for ten seconds, or refuses.
pub async fn push(results: &Results, gateway: &Gateway) -> Result<(), Error> {
    let putting = put(exposition(results), gateway);
    tokio::time::timeout(PATIENCE, putting)
        .await
        .unwrap_or_else(|_| Err(Error::Silent { gateway: gateway.to_string() }))
}

async fn put(text: String, gateway: &Gateway) -> Result<(), Error> {
    let failed = |source| Error::Http { gateway: gateway.to_string(), source };
    let stream = TcpStream::connect((gateway.host(), gateway.port()))
        .await
        .map_err(|source| Error::Connect { gateway: gateway.to_string(), source })?;
    let mut request = Request::new(Full::new(Bytes::from(text)));
    *request.method_mut() = Method::PUT;
    *request.uri_mut() = gateway.uri().clone();
    request.headers_mut().insert(HOST, gateway.host_header());
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(text::CONTENT_TYPE));
    let read = async |answer: Response<Incoming>| match answer.status().is_success() {
        true => Ok(()),
        false => Err(refusal(answer, gateway).await),
    };
    exchange(stream, request, read).await.map_err(failed)?
}

async fn refusal(answer: Response<Incoming>, gateway: &Gateway) -> Error {
    let status = answer.status();
    let body = Limited::new(answer.into_body(), REFUSAL_BYTES_MAX).collect().await;
    let words = body.map(|body| body.to_bytes()).unwrap_or_default();
    let first = String::from_utf8_lossy(&words).lines().next().unwrap_or_default().trim().to_owned();
    let said: String = first.chars().filter(|character| !character.is_control()).collect();
    let said = if said.is_empty() { said } else { format!(": {said}") };
    Error::Refused { gateway: gateway.to_string(), status, said }
}
