//! The transport of records: bytes both ways, and hints that save work where a transport has them.

use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::BytesMut;
use rustix::net::sockopt::set_tcp_congestion;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::sys;

/// A stream of bytes both ways, as a socket that does not block. Dropping it closes it.
///
/// The hints have defaults that are right for every stream; a transport that leaves them does more work.
pub trait Stream: Send + Sync + fmt::Debug + 'static {
    /// The other end.
    fn peer(&self) -> SocketAddr;

    /// Our own end, where it is known.
    fn local(&self) -> Option<SocketAddr>;

    /// Resolves when something can be read, or the stream has ended.
    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Appends received bytes to `buffer`, no more than there is room for; 0 is the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing; otherwise the stream is lost.
    fn try_read(&self, buffer: &mut BytesMut) -> io::Result<usize>;

    /// Resolves when something can be written.
    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Writes as much as there is room for; the number of bytes.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room; otherwise the stream is lost.
    fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Ends both directions. Readers and writers that wait are woken, and find the end of the stream.
    fn shut_down(&self);

    /// Hint: as [`Stream::try_read`], for a caller that looks again and again: it asks the system, whatever a
    /// runtime knows.
    ///
    /// # Errors
    /// Those of [`Stream::try_read`].
    fn look(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.try_read(buffer)
    }

    /// Hint: reading is worth it from so many bytes on; 1 is what a stream begins with.
    ///
    /// # Errors
    /// Where the transport refuses it.
    fn set_low_water(&self, _bytes: usize) -> io::Result<()> {
        Ok(())
    }

    /// Hint: something has come that was not read. False where that is not known.
    fn has_input(&self) -> bool {
        false
    }

    /// Hint: both ends are on this machine. By default the addresses decide.
    fn is_same_host(&self) -> bool {
        let peer = self.peer().ip();
        peer.to_canonical().is_loopback() || self.local().is_some_and(|local| local.ip() == peer)
    }

    /// Hint: the other end sends no more, though what it sent before was not read. False where that is not
    /// known.
    fn is_ended_by_peer(&self, _context: &mut Context<'_>) -> bool {
        false
    }
}

/// A connection over TCP without any protection.
#[derive(Debug)]
pub struct PlainTcp {
    stream: TcpStream,
    peer: SocketAddr,
}

impl PlainTcp {
    /// Small requests leave at once from now on.
    ///
    /// # Errors
    /// When the connection is lost already.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let peer = stream.peer_addr()?;
        Ok(Self { stream, peer })
    }

    /// Sets the congestion control (TCP_CONGESTION).
    ///
    /// # Errors
    /// When the kernel does not have it, or this process may not use it.
    pub(crate) fn set_congestion(&self, algorithm: &str) -> io::Result<()> {
        Ok(set_tcp_congestion(&self.stream, algorithm)?)
    }

    /// The congestion control.
    #[cfg(test)]
    pub(crate) fn congestion(&self) -> String {
        rustix::net::sockopt::tcp_congestion(&self.stream).unwrap()
    }
}

impl Stream for PlainTcp {
    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn local(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }

    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_read_ready(context)
    }

    fn try_read(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.stream.try_read_buf(buffer)
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_write_ready(context)
    }

    fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.try_write_vectored(slices)
    }

    fn shut_down(&self) {
        // An error says that the connection has ended already.
        let _ = rustix::net::shutdown(&self.stream, rustix::net::Shutdown::Both);
    }

    fn look(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        sys::receive_now(&self.stream, buffer)
    }

    fn set_low_water(&self, bytes: usize) -> io::Result<()> {
        sys::set_receive_low_water(&self.stream, bytes)
    }

    fn has_input(&self) -> bool {
        // By the system's own account: the runtime may not have looked since.
        rustix::io::ioctl_fionread(&self.stream).is_ok_and(|bytes| bytes > 0)
    }

    fn is_ended_by_peer(&self, context: &mut Context<'_>) -> bool {
        let ready = std::pin::pin!(self.stream.ready(Interest::READABLE));
        matches!(std::future::Future::poll(ready, context), Poll::Ready(Ok(ready)) if ready.is_read_closed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two addresses and no bytes.
    #[derive(Debug)]
    struct Ends(SocketAddr, Option<SocketAddr>);

    impl Stream for Ends {
        fn peer(&self) -> SocketAddr {
            self.0
        }

        fn local(&self) -> Option<SocketAddr> {
            self.1
        }

        fn poll_read_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn try_read(&self, _: &mut BytesMut) -> io::Result<usize> {
            Ok(0)
        }

        fn poll_write_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn try_write(&self, _: &[IoSlice<'_>]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn shut_down(&self) {}
    }

    #[test]
    fn stream_with_one_end_elsewhere_is_not_on_the_same_host() {
        for (peer, local, is_same_host) in [
            ("127.0.0.1", Some("127.0.0.1"), true),
            ("::ffff:127.0.0.2", Some("::ffff:127.0.0.1"), true),
            ("192.0.2.1", Some("192.0.2.1"), true),
            ("192.0.2.2", Some("192.0.2.1"), false),
            ("127.0.0.1", None, true),
            ("192.0.2.1", None, false),
        ] {
            let end = |ip: &str| SocketAddr::new(ip.parse().unwrap(), 1);
            assert_eq!(Ends(end(peer), local.map(end)).is_same_host(), is_same_host, "{peer} {local:?}");
        }
    }
}
