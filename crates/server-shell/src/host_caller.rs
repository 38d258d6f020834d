//! Calls of client hosts, through their port mappers.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use proto::portmap::{self, Mapping, PROTOCOL_TCP, PROTOCOL_UDP, parse_universal_address, rpcbind};
use rpc::{AuthSys, CallError, Credential, Transport};
use rpc_net::{Destination, OneCall, call_once};
use server::hosts::{CallHosts, HostRoute, ProcedureNumber};
use server::runtime::BoxFuture;
use tokio::sync::Semaphore;

/// Calls to one host at the same time; more wait, so that a silent one takes no place of others.
const CALLS_PER_HOST: usize = 8;
/// Calls at the same time.
const CALLS_MAX: usize = 256;
/// Ports that are remembered.
const PORTS_MAX: usize = 1024;
/// How long a port is remembered.
const PORT_LIFE: Duration = Duration::from_secs(60);

/// Clones share everything.
#[derive(Debug, Clone)]
pub(super) struct HostCaller {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    port_mapper: u16,
    calls: Semaphore,
    hosts: Mutex<BTreeMap<IpAddr, Arc<Semaphore>>>,
    ports: Mutex<BTreeMap<PortKey, (u16, Instant)>>,
}

/// Host, transport, program and version.
type PortKey = (IpAddr, Transport, u32, u32);

impl HostCaller {
    /// Finds programs through the port mappers at this port.
    pub(super) fn new(port_mapper: u16) -> Self {
        let inner = Inner {
            port_mapper,
            calls: Semaphore::new(CALLS_MAX),
            hosts: Mutex::default(),
            ports: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }
}

impl CallHosts for HostCaller {
    fn call(
        &self,
        route: HostRoute,
        procedure: ProcedureNumber,
        arguments: Vec<u8>,
        time_limit: Duration,
    ) -> BoxFuture<Result<Bytes, CallError>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            let called = inner.call_in_turn(route, procedure, arguments, time_limit);
            let outcome = tokio::time::timeout(time_limit, called).await;
            inner.forget_idle();
            outcome.unwrap_or(Err(CallError::Timeout))
        })
    }
}

impl Inner {
    async fn call_in_turn(
        &self,
        route: HostRoute,
        (program, version, procedure): ProcedureNumber,
        arguments: Vec<u8>,
        time_limit: Duration,
    ) -> Result<Bytes, CallError> {
        let of_host = Arc::clone(
            self.hosts
                .lock()
                .entry(route.address)
                .or_insert_with(|| Arc::new(Semaphore::new(CALLS_PER_HOST))),
        );
        let _place_of_host = of_host.acquire().await.map_err(|_| CallError::Disconnected)?;
        let _place = self.calls.acquire().await.map_err(|_| CallError::Disconnected)?;
        let key = (route.address, route.transport, program, version);
        let call = OneCall { program, version, procedure, credential: credential(), arguments };
        if let Some(port) = self.known_port(&key) {
            match send(&route, port, call.clone(), time_limit).await {
                Err(CallError::Connect(_) | CallError::Disconnected) => {}
                outcome => return outcome,
            }
            // The program has moved.
            self.ports.lock().remove(&key);
        }
        let port = self.ask_port(&route, program, version, time_limit).await?;
        self.remember_port(key, port);
        send(&route, port, call, time_limit).await
    }

    fn known_port(&self, key: &PortKey) -> Option<u16> {
        let ports = self.ports.lock();
        ports.get(key).filter(|(_, asked)| asked.elapsed() < PORT_LIFE).map(|(port, _)| *port)
    }

    fn remember_port(&self, key: PortKey, port: u16) {
        let mut ports = self.ports.lock();
        if ports.len() >= PORTS_MAX {
            ports.retain(|_, (_, asked)| asked.elapsed() < PORT_LIFE);
        }
        if ports.len() < PORTS_MAX {
            ports.insert(key, (port, Instant::now()));
        }
    }

    /// Where a program of a host listens, on the transport of the route.
    async fn ask_port(
        &self,
        route: &HostRoute,
        program: u32,
        version: u32,
        time_limit: Duration,
    ) -> Result<u16, CallError> {
        let call = |version, procedure, arguments: Bytes| OneCall {
            program: portmap::PROGRAM,
            version,
            procedure,
            credential: Credential::None,
            arguments: arguments.to_vec(),
        };
        let port = if route.address.is_ipv4() {
            let protocol = match route.transport {
                Transport::Tcp => PROTOCOL_TCP,
                Transport::Udp => PROTOCOL_UDP,
            };
            let wanted = xdr::to_bytes(&Mapping { program, version, protocol, port: 0 });
            let asked = call(portmap::VERSION, portmap::Procedure::GetPort.number(), wanted);
            let results = send(route, self.port_mapper, asked, time_limit).await?;
            let port: u32 = xdr::from_bytes(results).map_err(CallError::Protocol)?;
            u16::try_from(port).unwrap_or(0)
        } else {
            let network_id: &[u8] = match route.transport {
                Transport::Tcp => b"tcp6",
                Transport::Udp => b"udp6",
            };
            let network_id = Bytes::from_static(network_id);
            let empty = Bytes::new();
            let wanted =
                rpcbind::Binding { program, version, network_id, address: empty.clone(), owner: empty };
            let asked =
                call(rpcbind::VERSION_3, rpcbind::Procedure::GetAddress.number(), xdr::to_bytes(&wanted));
            let results = send(route, self.port_mapper, asked, time_limit).await?;
            let rpcbind::Text(address) = xdr::from_bytes(results).map_err(CallError::Protocol)?;
            parse_universal_address(&address).map_or(0, |address| address.port())
        };
        if port == 0 {
            let missing =
                io::Error::new(io::ErrorKind::NotFound, "its port mapper does not know the program");
            return Err(CallError::Connect(missing));
        }
        Ok(port)
    }

    /// Forgets hosts that nobody calls.
    fn forget_idle(&self) {
        self.hosts.lock().retain(|_, places| Arc::strong_count(places) > 1);
    }
}

/// Calls from the address that the host knows us by, unless we do not have it any more.
async fn send(route: &HostRoute, port: u16, call: OneCall, time_limit: Duration) -> Result<Bytes, CallError> {
    let to = SocketAddr::new(route.address, port);
    let from = |local| Destination::Network { transport: route.transport, local, to };
    match call_once(&from(route.local), call.clone(), time_limit).await {
        Err(CallError::Connect(error)) if error.kind() == io::ErrorKind::AddrNotAvailable => {
            call_once(&from(None), call, time_limit).await
        }
        outcome => outcome,
    }
}

/// Lock managers want some credential of the system.
fn credential() -> Credential {
    Credential::Sys(AuthSys { stamp: 0, machine_name: Bytes::new(), uid: 0, gid: 0, gids: Vec::new() })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use ::portmap::{PortMapper, Registration};
    use rpc::{Call, Disposition, Refusal, Service};
    use rpc_net::{DatagramOptions, ServerOptions, serve, serve_datagrams};
    use tokio::net::{TcpListener, UdpSocket};
    use xdr::Encoder;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// Answers with the caller's address.
    struct Mirror;

    impl Service for Mirror {
        async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
            reply.put(&Bytes::from(call.peer.ip().to_string()));
            Ok(Disposition::Reply)
        }
    }

    async fn listen() -> (TcpListener, UdpSocket, u16) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).await.unwrap(), port)
    }

    fn start(listener: TcpListener, socket: UdpSocket, service: impl Service) {
        let service = Arc::new(service);
        tokio::spawn(serve(listener, Arc::clone(&service), ServerOptions::default(), std::future::pending()));
        tokio::spawn(serve_datagrams(socket, service, DatagramOptions::default(), std::future::pending()));
    }

    fn route(transport: Transport, local: Option<[u8; 4]>) -> HostRoute {
        HostRoute { address: Ipv4Addr::LOCALHOST.into(), local: local.map(IpAddr::from), transport }
    }

    async fn ask(caller: &HostCaller, route: HostRoute, program: u32) -> Result<Bytes, CallError> {
        let results = caller.call(route, (program, 4, 5), Vec::new(), LONG).await?;
        Ok(xdr::from_bytes::<rpcbind::Text>(results).unwrap().0)
    }

    #[tokio::test]
    async fn program_found_by_port_mapper_is_called_from_the_known_address() {
        let (listener, socket, program_port) = listen().await;
        start(listener, socket, Mirror);
        let (listener, socket, port) = listen().await;
        let entry = |transport| Registration { program: 7, version: 4, transport, port: program_port };
        start(listener, socket, PortMapper::new(vec![entry(Transport::Tcp), entry(Transport::Udp)]));
        let caller = HostCaller::new(port);
        for transport in [Transport::Tcp, Transport::Udp, Transport::Tcp] {
            assert_eq!(ask(&caller, route(transport, Some([127, 0, 0, 2])), 7).await.unwrap(), "127.0.0.2");
            // Not an address of this host any more.
            assert_eq!(ask(&caller, route(transport, Some([192, 0, 2, 1])), 7).await.unwrap(), "127.0.0.1");
        }
        assert_eq!(caller.inner.ports.lock().len(), 2);
        let unknown = ask(&caller, route(Transport::Tcp, None), 8).await;
        assert!(matches!(unknown, Err(CallError::Connect(_))), "{unknown:?}");
        assert_eq!(caller.inner.hosts.lock().len(), 0, "nobody is called");
    }

    #[tokio::test]
    async fn a_program_that_has_moved_is_found_again() {
        let (listener, socket, program_port) = listen().await;
        start(listener, socket, Mirror);
        let (listener, socket, port) = listen().await;
        let entry = Registration { program: 7, version: 4, transport: Transport::Tcp, port: program_port };
        start(listener, socket, PortMapper::new(vec![entry]));
        let caller = HostCaller::new(port);
        let closed = listen().await.2;
        caller.inner.remember_port((Ipv4Addr::LOCALHOST.into(), Transport::Tcp, 7, 4), closed);
        assert_eq!(ask(&caller, route(Transport::Tcp, None), 7).await.unwrap(), "127.0.0.1");
    }

    #[tokio::test]
    async fn a_silent_host_only_takes_its_own_places() {
        // Accepts nothing, answers nothing.
        let (_listener, _socket, port) = listen().await;
        let silent = HostCaller::new(port);
        let limit = Duration::from_millis(300);
        let calls = (0..100).map(|_| silent.call(route(Transport::Udp, None), (7, 4, 5), Vec::new(), limit));
        for outcome in futures_util::future::join_all(calls).await {
            assert!(matches!(outcome, Err(CallError::Timeout)), "{outcome:?}");
        }
        assert_eq!(silent.inner.calls.available_permits(), CALLS_MAX);
        assert_eq!(silent.inner.hosts.lock().len(), 0);
    }
}
