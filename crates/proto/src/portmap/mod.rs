//! The port mapper, version 2 (RFC 1833 §3): which port a program listens on. Versions 3 and 4 are
//! [`rpcbind`].

pub mod rpcbind;
mod universal_address;

pub use universal_address::{parse_universal_address, universal_address};
use xdr::{List, Xdr};

/// The program number of the port mapper.
pub const PROGRAM: u32 = 100_000;
/// Its version 2.
pub const VERSION: u32 = 2;
/// The port that it listens on, TCP and UDP.
pub const PORT: u16 = 111;
/// TCP as a protocol number (`IPPROTO_TCP`).
pub const PROTOCOL_TCP: u32 = 6;
/// UDP as a protocol number (`IPPROTO_UDP`).
pub const PROTOCOL_UDP: u32 = 17;
/// The most mappings of one reply that are decoded.
pub const MAPPINGS_MAX: u32 = 1 << 12;

/// A procedure of the port mapper. CALLIT is left out: it serves amplification attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Procedure {
    /// Does nothing.
    Null = 0,
    /// Registers a [`Mapping`]; answers a `bool`.
    Set = 1,
    /// Removes the mappings of a program and version; answers a `bool`.
    Unset = 2,
    /// The port of a program, version and protocol as `u32`, 0 when unknown.
    GetPort = 3,
    /// All mappings: [`MappingList`].
    Dump = 4,
}

impl Procedure {
    /// The procedure with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Null,
            1 => Self::Set,
            2 => Self::Unset,
            3 => Self::GetPort,
            4 => Self::Dump,
            _ => return None,
        })
    }

    /// Its number on the wire.
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// Where a program listens (`mapping`): the argument of SET, UNSET and GETPORT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
pub struct Mapping {
    /// Program number.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// [`PROTOCOL_TCP`] or [`PROTOCOL_UDP`]; ignored by UNSET.
    pub protocol: u32,
    /// The port; ignored by GETPORT and UNSET.
    pub port: u32,
}

/// All mappings (`pmaplist`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct MappingList(#[xdr(max = MAPPINGS_MAX)] pub List<Mapping>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_mapping_list() {
        let mapping = Mapping { program: 100_003, version: 3, protocol: PROTOCOL_TCP, port: 2049 };
        let list = MappingList(List(vec![mapping]));
        let golden = [
            0, 0, 0, 1, 0, 1, 0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 8, 1, // the mapping
            0, 0, 0, 0, // no more
        ];
        assert_eq!(&xdr::to_bytes(&list)[..], golden);
        assert_eq!(xdr::from_bytes::<MappingList>(golden.to_vec()).unwrap(), list);
    }

    #[test]
    fn numbers_are_their_own_inverse() {
        for number in 0..5 {
            assert_eq!(Procedure::from_number(number).unwrap().number(), number);
        }
        assert_eq!(Procedure::from_number(5), None, "CALLIT is not offered");
    }
}
