//! One socket of a relayed connection and what the kernel last said of it. Knows nothing of delays.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::epoll;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

/// Edge-triggered readiness: a flag stays set until the kernel says that it would block.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) stream: TcpStream,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// The peer sends no more: read on until the kernel says so, short reads or not.
    pub(super) hung_up: bool,
    pub(super) error: bool,
    /// The end of what the peer sent was read.
    pub(super) read_ended: bool,
    /// The socket failed; nothing is read from it or written to it any more.
    pub(super) failed: bool,
}

impl Side {
    pub(super) fn accepted(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self::new(stream))
    }

    /// A socket that is not connected yet.
    pub(super) fn unconnected(target: SocketAddr) -> io::Result<Self> {
        let family = if target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let stream = TcpStream::from(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?);
        stream.set_nodelay(true)?;
        Ok(Self::new(stream))
    }

    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            readable: false,
            writable: false,
            hung_up: false,
            error: false,
            read_ended: false,
            failed: false,
        }
    }

    pub(super) fn observe(&mut self, events: epoll::EventFlags) {
        use epoll::EventFlags as E;
        self.readable |= events.intersects(E::IN | E::RDHUP | E::HUP | E::ERR);
        self.writable |= events.intersects(E::OUT | E::HUP | E::ERR);
        self.hung_up |= events.intersects(E::RDHUP | E::HUP | E::ERR);
        self.error |= events.contains(E::ERR);
    }

    /// Makes the peer see a reset when the socket is closed.
    pub(super) fn reset_on_close(&self) {
        // Fails only on a socket that is dead already, and then there is nobody to tell.
        let _ = sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO));
    }
}

impl AsFd for Side {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
