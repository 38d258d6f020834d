//! Registers programs with a running rpcbind (RFC 1833 §2.2.1), and takes that back.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use proto::portmap::rpcbind::{Binding, BindingList, Procedure, VERSION_4};
use proto::portmap::{self, universal_address};
use rpc::{CallError, Credential, Transport};
use rpc_net::{Destination, OneCall, call_once};
use xdr::{Decode, Encode};

use crate::Registration;

/// Where rpcbind takes registrations; it knows the user at the other end of such a socket.
const SOCKETS: [&str; 2] = ["/run/rpcbind.sock", "/var/run/rpcbind.sock"];
/// How long one call may take.
const CALL: Duration = Duration::from_secs(5);

/// Registered programs. [`Registered::remove`] takes them back, dropping does not.
#[derive(Debug)]
pub struct Registered {
    rpcbind: Destination,
    bindings: Vec<Binding>,
}

/// The socket of a running rpcbind, or its port on this host.
pub fn destination() -> Destination {
    match SOCKETS.into_iter().map(Path::new).find(|path| path.exists()) {
        Some(path) => Destination::Local(path.to_owned()),
        None => Destination::Network {
            transport: Transport::Tcp,
            local: None,
            to: SocketAddr::from((Ipv4Addr::LOCALHOST, portmap::PORT)),
        },
    }
}

/// Registers the programs that listen at `address`: all or none.
///
/// # Errors
/// When rpcbind cannot be asked, or another process has registered a program; its kind is then `AddrInUse`.
pub async fn register(
    rpcbind: Destination,
    programs: &[Registration],
    address: IpAddr,
) -> io::Result<Registered> {
    let bindings = programs.iter().flat_map(|program| bindings(program, address)).collect();
    register_bindings(rpcbind, bindings).await
}

/// Registers bindings: all or none.
///
/// # Errors
/// As [`register`].
pub async fn register_bindings(rpcbind: Destination, bindings: Vec<Binding>) -> io::Result<Registered> {
    let mut registered = Registered { rpcbind, bindings: Vec::new() };
    for binding in bindings {
        let outcome = ask(&registered.rpcbind, Procedure::Set, &binding).await;
        let refused = match outcome {
            Ok(true) => {
                registered.bindings.push(binding);
                continue;
            }
            Ok(false) => io::Error::new(
                io::ErrorKind::AddrInUse,
                format!("it has program {} already, or does not let this user register it", binding.program),
            ),
            Err(error) => io_error(error),
        };
        registered.remove().await;
        return Err(refused);
    }
    Ok(registered)
}

impl Registered {
    /// Takes back what was registered.
    pub async fn remove(&self) {
        for binding in &self.bindings {
            if let Err(error) = ask::<bool>(&self.rpcbind, Procedure::Unset, binding).await {
                tracing::warn!(%error, program = binding.program, "rpcbind still has a program that has \
                                                                   ended");
            }
        }
    }
}

/// All that is registered.
///
/// # Errors
/// When rpcbind cannot be asked, or its list is longer than a reply may be.
pub async fn list(rpcbind: &Destination) -> io::Result<Vec<Binding>> {
    let BindingList(list) = ask(rpcbind, Procedure::Dump, &()).await.map_err(io_error)?;
    Ok(list.0)
}

/// Removes a binding of a process that has ended; false when rpcbind does not let this user do it.
///
/// # Errors
/// When rpcbind cannot be asked.
pub async fn remove(rpcbind: &Destination, binding: &Binding) -> io::Result<bool> {
    ask(rpcbind, Procedure::Unset, binding).await.map_err(io_error)
}

async fn ask<T: Decode>(
    rpcbind: &Destination,
    procedure: Procedure,
    arguments: &impl Encode,
) -> Result<T, CallError> {
    let call = OneCall {
        program: portmap::PROGRAM,
        version: VERSION_4,
        procedure: procedure.number(),
        credential: Credential::None,
        arguments: xdr::to_bytes(arguments).to_vec(),
    };
    let results = call_once(rpcbind, call, CALL).await?;
    xdr::from_bytes(results).map_err(CallError::Protocol)
}

fn io_error(error: CallError) -> io::Error {
    match error {
        CallError::Connect(error) => error,
        error => io::Error::other(error.to_string()),
    }
}

/// The bindings of a program that listens at `address`: a socket for any address of IPv6 takes IPv4 as well.
fn bindings(program: &Registration, address: IpAddr) -> Vec<Binding> {
    if address == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        return vec![binding(program, address), binding(program, Ipv4Addr::UNSPECIFIED.into())];
    }
    vec![binding(program, address)]
}

/// The binding of a program that listens at `address`, and at no address of another family.
pub fn binding(program: &Registration, address: IpAddr) -> Binding {
    Binding {
        program: program.program,
        version: program.version,
        network_id: Bytes::from_static(network_id(program.transport, address.is_ipv6()).as_bytes()),
        address: universal_address(SocketAddr::new(address, program.port)).into(),
        owner: Bytes::new(),
    }
}

/// The name of a transport over IPv4 or IPv6 (RFC 5665 §5.1).
pub fn network_id(transport: Transport, is_ipv6: bool) -> &'static str {
    match (transport, is_ipv6) {
        (Transport::Tcp, false) => "tcp",
        (Transport::Tcp, true) => "tcp6",
        (Transport::Udp, false) => "udp",
        (Transport::Udp, true) => "udp6",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use testkit::script::{Answer, Script, ScriptedCall, serve};

    use super::*;

    /// An rpcbind that refuses one program.
    #[derive(Default)]
    struct Fake {
        list: Mutex<Vec<(u32, String, String)>>,
        refused: u32,
    }

    impl Script for Fake {
        async fn answer(&self, mut call: ScriptedCall) -> Answer {
            let (program, version, procedure) = call.number;
            assert_eq!((program, version), (100_000, 4));
            let asked: Binding = call.arguments.get().unwrap();
            let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
            let entry = (asked.program, text(&asked.network_id), text(&asked.address));
            let accepted = asked.program != self.refused;
            match procedure {
                1 if accepted => self.list.lock().push(entry),
                2 => self.list.lock().retain(|known| *known != entry),
                _ => {}
            }
            Answer::Results(xdr::to_bytes(&accepted).to_vec())
        }
    }

    async fn start(refused: u32) -> (Arc<Fake>, Destination) {
        let fake = Arc::new(Fake { refused, ..Fake::default() });
        let to = serve(Arc::clone(&fake)).await;
        (fake, Destination::Network { transport: Transport::Tcp, local: None, to })
    }

    fn programs() -> [Registration; 2] {
        [(100_021, Transport::Tcp), (100_024, Transport::Udp)].map(|(program, transport)| Registration {
            program,
            version: 4,
            transport,
            port: 2049,
        })
    }

    #[tokio::test]
    async fn programs_are_registered_for_their_addresses_and_unregistered() {
        for (address, expected) in [
            ("10.0.0.1", vec![(100_021, "tcp", "10.0.0.1.8.1"), (100_024, "udp", "10.0.0.1.8.1")]),
            (
                "::",
                vec![
                    (100_021, "tcp6", "::.8.1"),
                    (100_021, "tcp", "0.0.0.0.8.1"),
                    (100_024, "udp6", "::.8.1"),
                    (100_024, "udp", "0.0.0.0.8.1"),
                ],
            ),
        ] {
            let (fake, rpcbind) = start(0).await;
            let registered = register(rpcbind, &programs(), address.parse().unwrap()).await.unwrap();
            let expected: Vec<_> =
                expected.into_iter().map(|(p, id, at)| (p, id.to_owned(), at.to_owned())).collect();
            assert_eq!(*fake.list.lock(), expected);
            registered.remove().await;
            assert_eq!(*fake.list.lock(), []);
        }
    }

    #[tokio::test]
    async fn when_one_program_is_refused_none_stays_registered() {
        let (fake, rpcbind) = start(100_024).await;
        let error = register(rpcbind, &programs(), Ipv4Addr::LOCALHOST.into()).await.unwrap_err();
        assert!(error.to_string().contains("program 100024"), "{error}");
        assert_eq!(*fake.list.lock(), []);
        let nobody = Destination::Local("/nonexistent/rpcbind.sock".into());
        let error = register(nobody, &programs(), Ipv4Addr::LOCALHOST.into()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
