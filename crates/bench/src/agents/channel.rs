//! Messages over a stream: a length of four bytes, and that much JSON.

use std::io;
use std::time::Duration;

use rustix::net::sockopt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest message, in bytes: the curves of thousands of threads.
const MESSAGE_BYTES_MAX: u32 = 256 << 20;

/// Silence that is asked about, how often, and how many questions in a row are left without an answer.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_PROBES: u32 = 3;

/// The way out.
pub(super) struct Sender(Box<dyn AsyncWrite + Send + Unpin>);

/// The way in.
pub(super) struct Receiver(Box<dyn AsyncRead + Send + Unpin>);

/// Both ways.
pub(super) fn channel(
    from: impl AsyncRead + Send + Unpin + 'static,
    to: impl AsyncWrite + Send + Unpin + 'static,
) -> (Sender, Receiver) {
    (Sender(Box::new(to)), Receiver(Box::new(from)))
}

/// Both ways over a connection. That the other machine is gone without a word is noticed within half a
/// minute.
pub(super) fn over_tcp(stream: TcpStream) -> io::Result<(Sender, Receiver)> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(&stream, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_PROBES)?;
    let (from, to) = stream.into_split();
    Ok(channel(from, to))
}

impl Sender {
    pub(super) async fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let body = serde_json::to_vec(message)?;
        let length = u32::try_from(body.len()).ok().filter(|length| *length <= MESSAGE_BYTES_MAX);
        let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
        self.raw(&length.to_be_bytes()).await?;
        self.raw(&body).await?;
        self.0.flush().await
    }

    pub(super) async fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await
    }

    pub(super) async fn flush(&mut self) -> io::Result<()> {
        self.0.flush().await
    }
}

impl Receiver {
    /// The next message; none at the end of the stream.
    pub(super) async fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut length = [0; 4];
        match self.0.read_exact(&mut length).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        };
        let length = u32::from_be_bytes(length);
        if length > MESSAGE_BYTES_MAX {
            return Err(io::Error::other("what comes is no message of an agent"));
        }
        // Memory is taken for what has come, not for what was announced.
        let mut body = Vec::new();
        (&mut self.0).take(u64::from(length)).read_to_end(&mut body).await?;
        if body.len() < length as usize {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&body)?))
    }

    /// Waits for the end of the stream, whatever still comes.
    pub(super) async fn drain(mut self) {
        let _ = tokio::io::copy(&mut self.0, &mut tokio::io::sink()).await;
    }

    pub(super) async fn raw<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).await?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_arrive_whole_and_what_is_none_is_refused() {
        let (near, far) = tokio::io::duplex(64);
        let (from, to) = tokio::io::split(far);
        let (_, mut receiver) = channel(from, tokio::io::sink());
        let writing = tokio::spawn(async move {
            let (mut sender, _) = channel(tokio::io::empty(), near);
            let long = "x".repeat(1000);
            sender.send(&("one", long)).await.unwrap();
            sender.raw(&[0xff; 8]).await.unwrap();
        });
        let (one, long): (String, String) = receiver.receive().await.unwrap().unwrap();
        assert_eq!((one.as_str(), long.len()), ("one", 1000));
        assert!(receiver.receive::<String>().await.is_err(), "a length that no message has");
        writing.await.unwrap();
        drop(to);
        let (_, mut receiver) = channel(&[0_u8, 0, 0, 9, b'"'][..], tokio::io::sink());
        assert!(receiver.receive::<String>().await.unwrap().is_none(), "half a message");
    }
}
