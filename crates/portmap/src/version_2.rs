//! Version 2 (RFC 1833 §3).

use proto::portmap::{Mapping, MappingList, PROTOCOL_TCP, PROTOCOL_UDP, Procedure};
use rpc::{Call, Refusal, Transport};
use xdr::{Encoder, List};

use super::{PortMapper, Registration, arguments};

pub(super) fn run(mapper: &PortMapper, call: &Call<'_>, reply: &mut Encoder) -> Result<(), Refusal> {
    let procedure = Procedure::from_number(call.header.procedure).ok_or(Refusal::ProcedureUnavailable)?;
    match procedure {
        Procedure::Null => {}
        Procedure::Set | Procedure::Unset => {
            arguments::<Mapping>(call)?;
            reply.put(&false);
        }
        Procedure::GetPort => {
            let wanted: Mapping = arguments(call)?;
            let transport = match wanted.protocol {
                PROTOCOL_TCP => Some(Transport::Tcp),
                PROTOCOL_UDP => Some(Transport::Udp),
                _ => None,
            };
            let found = transport.and_then(|by| mapper.find(wanted.program, wanted.version, by));
            reply.put(&found.map_or(0, |found| u32::from(found.port)));
        }
        Procedure::Dump => reply.put(&MappingList(List(mapper.list.iter().map(mapping).collect()))),
    }
    Ok(())
}

fn mapping(registration: &Registration) -> Mapping {
    Mapping {
        program: registration.program,
        version: registration.version,
        protocol: match registration.transport {
            Transport::Tcp => PROTOCOL_TCP,
            Transport::Udp => PROTOCOL_UDP,
        },
        port: registration.port.into(),
    }
}
