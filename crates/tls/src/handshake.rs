//! A handshake from its beginning to its end.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;

use bytes::{Buf, BytesMut};
use rpc_net::Stream;
use rustls::Connection;
use rustls::pki_types::CertificateDer;

use crate::error;
use crate::stream::{Sink, TlsStream};

/// Room for the bytes of one read. rustls bounds its own memory of a handshake.
const RECEIVE_BYTES: usize = 16 << 10;

/// The outcome of a handshake.
pub(crate) struct Secured {
    pub(crate) stream: TlsStream,
    /// The peer's certificate, followed by those of its issuers; empty for an anonymous peer.
    pub(crate) peer_chain: Vec<CertificateDer<'static>>,
}

/// Performs the handshake of `connection` over `stream`. Its time is bounded by the caller.
pub(crate) async fn perform(mut connection: Connection, stream: Arc<dyn Stream>) -> io::Result<Secured> {
    let mut received = BytesMut::with_capacity(RECEIVE_BYTES);
    while connection.is_handshaking() {
        send(&mut connection, &*stream).await?;
        if !connection.is_handshaking() {
            break;
        }
        if received.is_empty() {
            receive(&*stream, &mut received).await?;
        }
        let mut ciphertext = &received[..];
        let fed = connection.read_tls(&mut ciphertext)?;
        received.advance(fed);
        if let Err(error) = connection.process_new_packets() {
            // The alert says why; the peer may be gone already.
            let _ = send(&mut connection, &*stream).await;
            return Err(error::ended(error));
        }
    }
    send(&mut connection, &*stream).await?;
    let peer_chain = connection.peer_certificates().unwrap_or_default();
    let peer_chain = peer_chain.iter().map(|certificate| certificate.clone().into_owned()).collect();
    Ok(Secured { stream: TlsStream::new(stream, connection, received), peer_chain })
}

async fn receive(stream: &dyn Stream, received: &mut BytesMut) -> io::Result<()> {
    loop {
        poll_fn(|context| stream.poll_read_ready(context)).await?;
        received.reserve(RECEIVE_BYTES);
        match stream.try_read(received) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn send(connection: &mut Connection, stream: &dyn Stream) -> io::Result<()> {
    while connection.wants_write() {
        match connection.write_tls(&mut Sink(stream)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll_fn(|context| stream.poll_write_ready(context)).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
