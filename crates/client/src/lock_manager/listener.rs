//! The sockets of the lock manager: at a port of the system's choice, over UDP and TCP, found through the
//! port mapper.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ::portmap::Registration;
use proto::nlm4;
use rpc::{Service, Transport};
use rpc_net::{DatagramOptions, ServerOptions, serve, serve_datagrams};
use tokio::net::{TcpListener, TcpSocket, UdpSocket};

use super::publish::{Publication, publish};
use super::service::LockCallbacks;
use super::waits::Waits;

/// The longest call: five fields of 1024 bytes at most, and an AUTH_SYS credential.
const CALL_BYTES_MAX: usize = 8 << 10;
/// Connections at the same time; idle ones give way.
const CONNECTIONS_MAX: usize = 64;
/// Calls under way on one connection, and on the socket for datagrams.
const IN_FLIGHT_MAX: usize = 64;
/// How long a peer may keep a part of a call to itself, or not read an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Connections that wait to be accepted.
const BACKLOG: u32 = 16;

pub(super) struct Listener {
    publication: Publication,
}

impl Listener {
    /// Listens, and has servers find it. The tasks end with the runtime.
    pub(super) async fn start(is_ipv6: bool, waits: &Arc<Waits>) -> io::Result<Self> {
        let (stream, datagrams) = bind(is_ipv6, 0)?;
        let list = [
            registration(Transport::Tcp, stream.local_addr()?),
            registration(Transport::Udp, datagrams.local_addr()?),
        ];
        serve_both(stream, datagrams, Arc::new(LockCallbacks(Arc::clone(waits))));
        let publication = publish(is_ipv6, list).await?;
        tracing::debug!(?list, "this process has a lock manager for NFSv3");
        Ok(Self { publication })
    }

    /// Unregisters.
    pub(super) async fn end(self) {
        if let Publication::Registered(registered) = self.publication {
            registered.remove().await;
        }
    }
}

fn registration(transport: Transport, address: SocketAddr) -> Registration {
    Registration { program: nlm4::PROGRAM, version: nlm4::VERSION, transport, port: address.port() }
}

/// All addresses of a family.
pub(super) fn any(is_ipv6: bool) -> IpAddr {
    if is_ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() }
}

/// Sockets of one address family at a port.
pub(super) fn bind(is_ipv6: bool, port: u16) -> io::Result<(TcpListener, UdpSocket)> {
    let address = SocketAddr::new(any(is_ipv6), port);
    let stream = if is_ipv6 { TcpSocket::new_v6()? } else { TcpSocket::new_v4()? };
    stream.set_reuseaddr(true)?;
    let domain = if is_ipv6 { rustix::net::AddressFamily::INET6 } else { rustix::net::AddressFamily::INET };
    let flags = rustix::net::SocketFlags::CLOEXEC | rustix::net::SocketFlags::NONBLOCK;
    let datagrams = rustix::net::socket_with(domain, rustix::net::SocketType::DGRAM, flags, None)?;
    if is_ipv6 {
        // The sockets of IPv4 are others.
        rustix::net::sockopt::set_ipv6_v6only(&stream, true)?;
        rustix::net::sockopt::set_ipv6_v6only(&datagrams, true)?;
    }
    stream.bind(address)?;
    rustix::net::bind(&datagrams, &address)?;
    Ok((stream.listen(BACKLOG)?, UdpSocket::from_std(datagrams.into())?))
}

/// Serves until the runtime ends.
pub(super) fn serve_both<S: Service>(stream: TcpListener, datagrams: UdpSocket, service: Arc<S>) {
    let options = ServerOptions {
        record_bytes_max: CALL_BYTES_MAX,
        fragments_max: 16,
        connections_max: CONNECTIONS_MAX,
        requests_in_flight_max: IN_FLIGHT_MAX,
        replies_pending_bytes_max: CALL_BYTES_MAX * IN_FLIGHT_MAX,
        partial_record_timeout: PATIENCE,
        unread_timeout: PATIENCE,
        busy_poll_limit: Duration::ZERO,
        threads: Some(1),
        ..ServerOptions::default()
    };
    tokio::spawn(serve(stream, Arc::clone(&service), options, std::future::pending()));
    let options = DatagramOptions {
        call_bytes_max: CALL_BYTES_MAX,
        in_flight_max: IN_FLIGHT_MAX,
        ..DatagramOptions::default()
    };
    tokio::spawn(serve_datagrams(datagrams, service, options, std::future::pending()));
}
