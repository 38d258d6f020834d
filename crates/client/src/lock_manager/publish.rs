//! How servers find the lock manager: through the port mapper of this machine, or one of this process where
//! the machine has none.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ::portmap::registration::{self, Registered, network_id};
use ::portmap::{PortMapper, Registration};
use proto::nlm4;
use proto::portmap::rpcbind::Binding;
use proto::portmap::{PORT, parse_universal_address};
use rpc::{CallError, Credential, Transport};
use rpc_net::{Destination, OneCall, call_once};
use tokio::net::TcpStream;

use super::listener::{any, bind, serve_both};

/// How long a program of this machine may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) enum Publication {
    /// With the machine's port mapper.
    Registered(Registered),
    /// This process is the machine's port mapper, until its runtime ends.
    OwnPortMapper,
}

/// Has servers find the lock manager.
pub(super) async fn publish(is_ipv6: bool, list: [Registration; 2]) -> io::Result<Publication> {
    let loopback: IpAddr = if is_ipv6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    if has_port_mapper(loopback).await? {
        let rpcbind = rpcbind(loopback).await?;
        return register(rpcbind, loopback, list).await.map(Publication::Registered);
    }
    let (stream, datagrams) = bind(is_ipv6, PORT)?;
    let list = list.into_iter().chain(Registration::of_port_mapper()).collect();
    serve_both(stream, datagrams, Arc::new(PortMapper::new(list)));
    Ok(Publication::OwnPortMapper)
}

/// The socket of rpcbind, unless that is the one of another network namespace, and otherwise its port.
async fn rpcbind(loopback: IpAddr) -> io::Result<Destination> {
    let to = SocketAddr::new(loopback, PORT);
    let port = Destination::Network { transport: Transport::Tcp, local: None, to };
    let socket = registration::destination();
    let is_same = matches!(socket, Destination::Local(_))
        && registration::list(&socket).await.ok() == Some(registration::list(&port).await?);
    Ok(if is_same { socket } else { port })
}

async fn has_port_mapper(loopback: IpAddr) -> io::Result<bool> {
    let connecting = TcpStream::connect((loopback, PORT));
    match tokio::time::timeout(ANSWER, connecting).await {
        Ok(outcome) => Ok(outcome.is_ok()),
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the port mapper does not answer")),
    }
}

/// Registers the lock manager, unless another one runs. What one has left behind that was killed is replaced.
async fn register(rpcbind: Destination, loopback: IpAddr, list: [Registration; 2]) -> io::Result<Registered> {
    let is_ipv6 = loopback.is_ipv6();
    let before: Vec<_> = registration::list(&rpcbind)
        .await?
        .into_iter()
        .filter_map(|binding| {
            let transport = transport(&binding, is_ipv6).filter(|_| binding.program == nlm4::PROGRAM)?;
            Some((binding, transport))
        })
        .collect();
    for (binding, transport) in &before {
        if answers(binding, *transport, loopback).await {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another lock manager is registered"));
        }
    }
    for (binding, _) in before.iter().filter(|(binding, _)| binding.version == nlm4::VERSION) {
        if !registration::remove(&rpcbind, binding).await? {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the lock manager of another user has ended and is registered still",
            ));
        }
    }
    let any = any(is_ipv6);
    let bindings = list.iter().map(|program| registration::binding(program, any)).collect();
    registration::register_bindings(rpcbind, bindings).await
}

fn transport(binding: &Binding, is_ipv6: bool) -> Option<Transport> {
    let has_name = |transport: &Transport| binding.network_id == network_id(*transport, is_ipv6);
    [Transport::Tcp, Transport::Udp].into_iter().find(has_name)
}

/// False when nothing listens there. A program that is slow to answer is alive.
async fn answers(binding: &Binding, transport: Transport, loopback: IpAddr) -> bool {
    let Some(address) = parse_universal_address(&binding.address) else { return true };
    let ip = if address.ip().is_unspecified() { loopback } else { address.ip() };
    let to = SocketAddr::new(ip, address.port());
    let call = OneCall {
        program: binding.program,
        version: binding.version,
        procedure: nlm4::Procedure::Null.number(),
        credential: Credential::None,
        arguments: Vec::new(),
    };
    let called = call_once(&Destination::Network { transport, local: None, to }, call, ANSWER).await;
    !matches!(called, Err(CallError::Connect(error)) if error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use proto::portmap::rpcbind::BindingList;
    use testkit::script::{Answer, Script, ScriptedCall, serve};
    use tokio::net::{TcpListener, UdpSocket};
    use xdr::List;

    use super::*;

    /// An rpcbind, with its list.
    #[derive(Default)]
    struct Fake(Mutex<Vec<Binding>>);

    impl Script for Fake {
        async fn answer(&self, mut call: ScriptedCall) -> Answer {
            let mut list = self.0.lock();
            let same = |a: &Binding, b: &Binding| {
                (a.program, a.version, &a.network_id) == (b.program, b.version, &b.network_id)
            };
            let procedure = call.number.2;
            if procedure == 4 {
                return Answer::Results(xdr::to_bytes(&BindingList(List(list.clone()))).to_vec());
            }
            let asked: Binding = call.arguments.get().unwrap();
            let is_known = list.iter().any(|known| same(known, &asked));
            let is_set = procedure == 1;
            match is_set {
                true if !is_known => list.push(asked),
                true => {}
                false => list.retain(|known| !same(known, &asked)),
            }
            Answer::Results(xdr::to_bytes(&(is_set != is_known)).to_vec())
        }
    }

    impl Fake {
        async fn start(list: Vec<Binding>) -> (Arc<Self>, Destination) {
            let fake = Arc::new(Self(Mutex::new(list)));
            let to = serve(Arc::clone(&fake)).await;
            (fake, Destination::Network { transport: Transport::Tcp, local: None, to })
        }
    }

    /// Has no program.
    struct NoProgram;

    impl Script for NoProgram {
        async fn answer(&self, _call: ScriptedCall) -> Answer {
            Answer::Refused(rpc::Refusal::ProgramUnavailable)
        }
    }

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn list(ports: [u16; 2]) -> [Registration; 2] {
        let entry = |transport, port| Registration {
            program: nlm4::PROGRAM,
            version: nlm4::VERSION,
            transport,
            port,
        };
        [entry(Transport::Tcp, ports[0]), entry(Transport::Udp, ports[1])]
    }

    fn bindings(ports: [u16; 2]) -> Vec<Binding> {
        list(ports).iter().map(|program| registration::binding(program, any(false))).collect()
    }

    /// Ports at which nothing listens.
    async fn closed_ports() -> [u16; 2] {
        let stream = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
        let datagrams = UdpSocket::bind((LOOPBACK, 0)).await.unwrap();
        [stream.local_addr().unwrap().port(), datagrams.local_addr().unwrap().port()]
    }

    #[tokio::test]
    async fn lock_manager_is_registered_and_taken_back() {
        let mut others = bindings([7, 7]);
        others[0].program = 100_003;
        others[1].network_id = "udp6".into();
        let (fake, rpcbind) = Fake::start(others.clone()).await;
        let registered = register(rpcbind, LOOPBACK, list([1000, 1001])).await.unwrap();
        assert_eq!(*fake.0.lock(), [others.clone(), bindings([1000, 1001])].concat());
        registered.remove().await;
        assert_eq!(*fake.0.lock(), others);
    }

    #[tokio::test]
    async fn registration_of_a_killed_process_is_replaced() {
        let (fake, rpcbind) = Fake::start(bindings(closed_ports().await)).await;
        register(rpcbind, LOOPBACK, list([1000, 1001])).await.unwrap();
        assert_eq!(*fake.0.lock(), bindings([1000, 1001]));
    }

    #[tokio::test]
    async fn running_lock_manager_of_any_version_stays_registered() {
        // An answer of any kind will do.
        let port = serve(Arc::new(NoProgram)).await.port();
        for version in [1, nlm4::VERSION] {
            let mut before = bindings([port, closed_ports().await[1]]);
            before[0].version = version;
            let (fake, rpcbind) = Fake::start(before.clone()).await;
            let error = register(rpcbind, LOOPBACK, list([1000, 1001])).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
            assert_eq!(*fake.0.lock(), before);
        }
    }
}
