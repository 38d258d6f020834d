//! What listens beside the main port for clients of NFSv3: datagrams for the small programs, and a port
//! mapper.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use ::portmap::registration::{self, Registered};
use ::portmap::{PortMapper, Registration};
use proto::{mount3, nfs3, nfs4, nlm4, nsm1, portmap};
use rpc::{Service, Transport};
use rpc_net::{DatagramOptions, ServerOptions, serve, serve_datagrams};
use server::dispatch::WithoutNfs;
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;

use super::PortMapMode;

/// Connections to the port mapper; one more is closed at once.
const PORT_MAPPER_CONNECTIONS_MAX: usize = 256;
/// The longest request to the port mapper, in bytes.
const PORT_MAPPER_BYTES_MAX: usize = 8 << 10;

/// Why clients could not find the programs, in one sentence with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// Datagrams cannot be received at the port.
    #[error(
        "cannot receive datagrams at {address}: {source}; choose another port with --listen, or leave out \
         --portmap"
    )]
    Datagrams {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The port of the port mapper cannot be had.
    #[error(
        "cannot be the port mapper at {address}: {source}; stop the rpcbind that is there, register with it \
         by --portmap register, or run as a user that may listen \
         there"
    )]
    PortMapper {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// There is no rpcbind.
    #[error("cannot ask rpcbind: {0}; start it, or be the port mapper by --portmap builtin")]
    NoRpcbind(io::Error),
    /// rpcbind did not take the programs.
    #[error(
        "cannot register with rpcbind: {0}; see what it has with rpcinfo -p, and remove with rpcinfo -d what \
         has ended"
    )]
    Register(io::Error),
}

/// What listens. Dropped, it goes on until the runtime ends.
#[derive(Debug, Default)]
pub(super) struct SideListeners {
    tasks: JoinSet<io::Result<()>>,
    registered: Option<Registered>,
}

impl SideListeners {
    /// Starts what `mode` says for programs that listen at `address`.
    ///
    /// # Errors
    /// See [`SideError`].
    pub(super) async fn start<S: Service>(
        mode: PortMapMode,
        address: SocketAddr,
        programs: &Arc<S>,
    ) -> Result<Self, SideError> {
        let mut listeners = Self::default();
        if mode == PortMapMode::None {
            return Ok(listeners);
        }
        let failed = |source| SideError::Datagrams { address, source };
        let socket = UdpSocket::bind(address).await.map_err(failed)?;
        let service = Arc::new(WithoutNfs(Arc::clone(programs)));
        listeners.receive(socket, service);
        let mut list = registrations(address.port());
        if mode == PortMapMode::Builtin {
            list.extend(Registration::of_port_mapper());
            listeners.be_port_mapper(SocketAddr::new(address.ip(), portmap::PORT), list).await?;
        } else {
            let registered = registration::register(registration::destination(), &list, address.ip()).await;
            listeners.registered = Some(registered.map_err(|error| match error.kind() {
                io::ErrorKind::AddrInUse => SideError::Register(error),
                _ => SideError::NoRpcbind(error),
            })?);
        }
        Ok(listeners)
    }

    async fn be_port_mapper(
        &mut self,
        address: SocketAddr,
        list: Vec<Registration>,
    ) -> Result<(), SideError> {
        let failed = |source| SideError::PortMapper { address, source };
        let listener: TcpListener = super::start::listen(address).map_err(failed)?;
        let socket = UdpSocket::bind(address).await.map_err(failed)?;
        let mapper = Arc::new(PortMapper::new(list));
        let options = ServerOptions {
            record_bytes_max: PORT_MAPPER_BYTES_MAX,
            connections_max: PORT_MAPPER_CONNECTIONS_MAX,
            ..ServerOptions::default()
        };
        let by_stream: Pin<Box<dyn Future<Output = io::Result<()>> + Send>> =
            Box::pin(serve(listener, Arc::clone(&mapper), options, std::future::pending()));
        self.tasks.spawn(by_stream);
        self.receive(socket, mapper);
        Ok(())
    }

    fn receive<S: Service>(&mut self, socket: UdpSocket, service: Arc<S>) {
        self.tasks.spawn(serve_datagrams(
            socket,
            service,
            DatagramOptions::default(),
            std::future::pending(),
        ));
    }

    /// Ends all of it, and tells rpcbind so.
    pub(super) async fn stop(mut self) {
        if let Some(registered) = &self.registered {
            registered.remove().await;
        }
        self.tasks.shutdown().await;
    }
}

impl Drop for SideListeners {
    fn drop(&mut self) {
        self.tasks.detach_all();
    }
}

/// The programs as clients look for them, all at one port.
fn registrations(port: u16) -> Vec<Registration> {
    let entry = |transport| move |(program, version)| Registration { program, version, transport, port };
    let small =
        [(mount3::PROGRAM, mount3::VERSION), (nlm4::PROGRAM, nlm4::VERSION), (nsm1::PROGRAM, nsm1::VERSION)];
    let nfs = [(nfs3::PROGRAM, nfs3::VERSION), (nfs3::PROGRAM, nfs4::VERSION)];
    let by_stream = nfs.into_iter().chain(small).map(entry(Transport::Tcp));
    by_stream.chain(small.into_iter().map(entry(Transport::Udp))).collect()
}
