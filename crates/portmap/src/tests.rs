//! What clients ask the port mapper.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use proto::portmap::rpcbind::{Binding, BindingList, Text};
use proto::portmap::{Mapping, MappingList};
use rpc::{Call, CallHeader, Connection, Credential, Refusal, Service, Transport};
use testkit::connection::TestConnection;
use xdr::{Decode, Decoder, Encode, Encoder};

use super::{PortMapper, Registration};

const KNOWN: Option<SocketAddr> =
    Some(SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 111));

fn mapper() -> PortMapper {
    let entry = |program, version, transport, port| Registration { program, version, transport, port };
    PortMapper::new(vec![
        entry(100_003, 3, Transport::Tcp, 2049),
        entry(100_003, 4, Transport::Tcp, 2049),
        entry(100_021, 4, Transport::Tcp, 2049),
        entry(100_021, 4, Transport::Udp, 2050),
    ])
}

fn raw(
    local: Option<SocketAddr>,
    (program, version, procedure): (u32, u32, u32),
    arguments: &impl Encode,
) -> Result<Bytes, Refusal> {
    let header = CallHeader { xid: 1, program, version, procedure };
    let caller = Credential::None.into();
    let peer = SocketAddr::from(([10, 0, 0, 2], 900));
    let connection: Arc<dyn Connection> = Arc::new(TestConnection::new(peer).with_local(local));
    let arguments = Decoder::new(xdr::to_bytes(arguments));
    let call = Call { header: &header, caller: &caller, peer, connection: &connection, arguments };
    let mut reply = Encoder::new();
    mapper().call(call, &mut reply).now_or_never().unwrap()?;
    Ok(reply.into_inner().into())
}

fn ask<T: Decode>(version: u32, procedure: u32, arguments: &impl Encode) -> T {
    xdr::from_bytes(raw(KNOWN, (100_000, version, procedure), arguments).unwrap()).unwrap()
}

fn mapping(program: u32, version: u32, protocol: u32) -> Mapping {
    Mapping { program, version, protocol, port: 0 }
}

fn binding(program: u32, version: u32, network_id: &str, address: &str) -> Binding {
    let text = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    Binding { program, version, network_id: text(network_id), address: text(address), owner: Bytes::new() }
}

#[test]
fn version_2_tells_ports() {
    let port = |program, version, protocol| ask::<u32>(2, 3, &mapping(program, version, protocol));
    assert_eq!(port(100_003, 3, 6), 2049);
    assert_eq!(port(100_021, 4, 17), 2050);
    assert_eq!(port(100_003, 2, 6), 2049, "in another version: it will say which there are");
    assert_eq!((port(100_003, 3, 17), port(100_005, 3, 6), port(100_003, 3, 1)), (0, 0, 0));
    let all: MappingList = ask(2, 4, &());
    assert_eq!(all.0.0.len(), 4);
    assert_eq!(all.0.0[3], Mapping { port: 2050, ..mapping(100_021, 4, 17) });
}

#[test]
fn versions_3_and_4_tell_universal_addresses() {
    let address = |version, asked| ask::<Text>(version, 3, &asked).0;
    for version in [3, 4] {
        assert_eq!(address(version, binding(100_021, 4, "udp", "")), "10.0.0.1.8.2");
        assert_eq!(address(version, binding(100_003, 2, "tcp", "")), "10.0.0.1.8.1");
        assert_eq!(address(version, binding(100_005, 3, "tcp", "")), "");
        assert_eq!(address(version, binding(100_003, 3, "local", "")), "");
        let all: BindingList = ask(version, 4, &());
        assert_eq!(all.0.0.len(), 4);
        assert_eq!(
            all.0.0[3],
            Binding { owner: "primetime".into(), ..binding(100_021, 4, "udp", "10.0.0.1.8.2") }
        );
    }
    assert_eq!(ask::<Text>(4, 9, &binding(100_003, 3, "tcp", "")).0, "10.0.0.1.8.1");
    assert_eq!(ask::<Text>(4, 9, &binding(100_003, 2, "tcp", "")).0, "", "no other version");
}

#[test]
fn the_address_is_the_one_that_the_client_knows_where_no_other_is_known() {
    let asked = |local, address| {
        let results = raw(local, (100_000, 4, 3), &binding(100_003, 3, "tcp", address)).unwrap();
        xdr::from_bytes::<Text>(results).unwrap().0
    };
    assert_eq!(asked(None, "192.0.2.7.0.111"), "192.0.2.7.8.1");
    assert_eq!(asked(None, "nonsense"), "0.0.0.0.8.1");
    assert_eq!(asked(None, "2001:db8::1.0.111"), "0.0.0.0.8.1", "not of another family");
    assert_eq!(asked(KNOWN, "192.0.2.7.0.111"), "10.0.0.1.8.1");
}

#[test]
fn port_mapper_refuses_registration_and_indirect_calls() {
    assert!(!ask::<bool>(2, 1, &mapping(1, 1, 6)) && !ask::<bool>(2, 2, &mapping(100_003, 3, 6)));
    for procedure in [1, 2] {
        assert!(!ask::<bool>(4, procedure, &binding(100_003, 3, "tcp", "1.2.3.4.0.1")));
    }
    for (version, procedure) in [(2, 5), (3, 5), (3, 9), (4, 5), (4, 10), (4, 99)] {
        let outcome = raw(KNOWN, (100_000, version, procedure), &binding(100_003, 3, "tcp", ""));
        assert_eq!(outcome, Err(Refusal::ProcedureUnavailable), "{version} {procedure}");
    }
    assert_eq!(raw(KNOWN, (100_000, 5, 0), &()), Err(Refusal::ProgramMismatch { low: 2, high: 4 }));
    assert_eq!(raw(KNOWN, (100_003, 3, 0), &()), Err(Refusal::ProgramUnavailable));
    let long = binding(100_003, 3, &"x".repeat(257), "");
    assert_eq!(raw(KNOWN, (100_000, 4, 3), &long), Err(Refusal::GarbageArguments));
    assert_eq!(raw(KNOWN, (100_000, 2, 3), &7_u32), Err(Refusal::GarbageArguments));
}
