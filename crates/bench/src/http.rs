//! One request over HTTP.

use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Sends `request` over `stream`, and returns what `read` makes of the answer while the connection is open.
///
/// # Errors
/// When the other end does not answer as HTTP demands.
pub(crate) async fn exchange<B, T>(
    stream: TcpStream,
    request: Request<B>,
    read: impl AsyncFnOnce(Response<Incoming>) -> T,
) -> hyper::Result<T>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // An error of the connection is also an error of the request.
    let carrying = tokio::spawn(connection);
    let outcome = match sender.send_request(request).await {
        Ok(answer) => Ok(read(answer).await),
        Err(error) => Err(error),
    };
    carrying.abort();
    outcome
}
