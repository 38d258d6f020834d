//! Versions 3 and 4 (RFC 1833 §2).

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use proto::portmap::rpcbind::{Binding, BindingList, Procedure, Text, VERSION_4};
use proto::portmap::{parse_universal_address, universal_address};
use rpc::{Call, Refusal, Transport};
use xdr::{Encoder, List};

use super::registration::network_id;
use super::{PortMapper, Registration, arguments, own_address};

/// The owner of the registered programs.
const OWNER: &[u8] = b"primetime";

pub(super) fn run(mapper: &PortMapper, call: &Call<'_>, reply: &mut Encoder) -> Result<(), Refusal> {
    let procedure = Procedure::from_number(call.header.procedure).ok_or(Refusal::ProcedureUnavailable)?;
    match procedure {
        Procedure::Null => {}
        Procedure::Set | Procedure::Unset => {
            arguments::<Binding>(call)?;
            reply.put(&false);
        }
        Procedure::GetAddress => {
            let wanted: Binding = arguments(call)?;
            let find = |transport| mapper.find(wanted.program, wanted.version, transport);
            reply.put(&address(call, &wanted, transport(&wanted.network_id).and_then(find)));
        }
        Procedure::GetVersionAddress if call.header.version == VERSION_4 => {
            let wanted: Binding = arguments(call)?;
            let find = |transport| mapper.find_exact(wanted.program, wanted.version, transport);
            reply.put(&address(call, &wanted, transport(&wanted.network_id).and_then(find)));
        }
        Procedure::GetVersionAddress => return Err(Refusal::ProcedureUnavailable),
        Procedure::Dump => {
            let own = own_address(call);
            let bindings = mapper.list.iter().map(|registration| binding(registration, own)).collect();
            reply.put(&BindingList(List(bindings)));
        }
    }
    Ok(())
}

/// The transports of RFC 5665 §5.1. A socket for IPv6 is one for IPv4 as well, so that both have the same
/// ports.
fn transport(network_id: &[u8]) -> Option<Transport> {
    match network_id {
        b"tcp" | b"tcp6" => Some(Transport::Tcp),
        b"udp" | b"udp6" => Some(Transport::Udp),
        _ => None,
    }
}

/// The address of a program, at the host address by which the caller knows this server.
fn address(call: &Call<'_>, wanted: &Binding, found: Option<&Registration>) -> Text {
    let Some(found) = found else { return Text(Bytes::new()) };
    let known = parse_universal_address(&wanted.address).map(|address| address.ip());
    let own = own_address(call);
    let ip = known.filter(|known| own.is_unspecified() && known.is_ipv4() == own.is_ipv4()).unwrap_or(own);
    Text(universal_address(SocketAddr::new(ip, found.port)).into())
}

fn binding(registration: &Registration, own: IpAddr) -> Binding {
    Binding {
        program: registration.program,
        version: registration.version,
        network_id: Bytes::from_static(network_id(registration.transport, own.is_ipv6()).as_bytes()),
        address: universal_address(SocketAddr::new(own, registration.port)).into(),
        owner: Bytes::from_static(OWNER),
    }
}
