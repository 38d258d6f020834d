//! The port mapper, versions 2, 3 and 4 (RFC 1833): a [`PortMapper`] that tells where the programs of its own
//! process listen, and [`registration`] with another one.
//!
//! SET and UNSET are answered with FALSE, and procedures that call programs for the caller are not offered.

#![forbid(unsafe_code)]

pub mod registration;
mod rpcbind;
#[cfg(test)]
mod tests;
mod version_2;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use proto::portmap::{self, rpcbind as wire};
use rpc::{Call, Disposition, Refusal, Service, Transport};
use xdr::{Decode, Encoder};

/// A program of this process on one transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registration {
    /// Program number.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// What carries it.
    pub transport: Transport,
    /// The port.
    pub port: u16,
}

/// Answers the calls of the port mapper.
#[derive(Debug)]
pub struct PortMapper {
    list: Vec<Registration>,
}

impl Registration {
    /// The entries of the port mapper itself.
    pub fn of_port_mapper() -> impl Iterator<Item = Self> {
        [portmap::VERSION, wire::VERSION_3, wire::VERSION_4].into_iter().flat_map(|version| {
            [Transport::Tcp, Transport::Udp].map(|transport| Self {
                program: portmap::PROGRAM,
                version,
                transport,
                port: portmap::PORT,
            })
        })
    }
}

impl PortMapper {
    /// Tells where these programs listen.
    pub fn new(list: Vec<Registration>) -> Self {
        Self { list }
    }

    /// The program in this version, or else in another: its caller then learns which there are.
    fn find(&self, program: u32, version: u32, transport: Transport) -> Option<&Registration> {
        let mut others = self.list.iter().filter(|r| r.program == program && r.transport == transport);
        self.find_exact(program, version, transport).or_else(|| others.next())
    }

    fn find_exact(&self, program: u32, version: u32, transport: Transport) -> Option<&Registration> {
        self.list.iter().find(|r| (r.program, r.version, r.transport) == (program, version, transport))
    }
}

impl Service for PortMapper {
    async fn call(&self, call: Call<'_>, reply: &mut Encoder) -> Result<Disposition, Refusal> {
        if call.header.program != portmap::PROGRAM {
            return Err(Refusal::ProgramUnavailable);
        }
        match call.header.version {
            portmap::VERSION => version_2::run(self, &call, reply)?,
            wire::VERSION_3 | wire::VERSION_4 => rpcbind::run(self, &call, reply)?,
            _ => return Err(Refusal::ProgramMismatch { low: portmap::VERSION, high: wire::VERSION_4 }),
        }
        Ok(Disposition::Reply)
    }
}

/// Where the caller has reached this server.
fn own_address(call: &Call<'_>) -> IpAddr {
    let any = match call.peer.ip().to_canonical() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::from([0; 16]),
    };
    call.connection.local().as_ref().map_or(any, |local| SocketAddr::ip(local).to_canonical())
}

fn arguments<T: Decode>(call: &Call<'_>) -> Result<T, Refusal> {
    let mut decoder = call.arguments.clone();
    let arguments = T::decode(&mut decoder).and_then(|arguments| decoder.finish().map(|()| arguments));
    arguments.map_err(|_| Refusal::GarbageArguments)
}
