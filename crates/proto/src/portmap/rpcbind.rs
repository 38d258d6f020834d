//! rpcbind, versions 3 and 4 of the port mapper (RFC 1833 §2): which universal address a program has on a
//! transport.

use bytes::Bytes;
use xdr::{List, Xdr};

/// Version 3.
pub const VERSION_3: u32 = 3;
/// Version 4.
pub const VERSION_4: u32 = 4;
/// The longest text of a [`Binding`] in bytes.
pub const TEXT_BYTES_MAX: u32 = 256;
/// The most bindings of one reply that are decoded.
pub const BINDINGS_MAX: u32 = 1 << 12;

/// A procedure of rpcbind. What calls other programs for the caller (CALLIT, BCAST, INDIRECT) is left out: it
/// serves amplification attacks, and callers who want to be taken for this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Procedure {
    /// Does nothing.
    Null = 0,
    /// Registers a [`Binding`]; answers a `bool`.
    Set = 1,
    /// Removes the bindings of a program and version, of one transport or of all; answers a `bool`.
    Unset = 2,
    /// The address of a program, in another version if need be: a [`Text`], empty when unknown.
    GetAddress = 3,
    /// All bindings: [`BindingList`].
    Dump = 4,
    /// The address of this version of a program (version 4 only).
    GetVersionAddress = 9,
}

impl Procedure {
    /// The procedure with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Null,
            1 => Self::Set,
            2 => Self::Unset,
            3 => Self::GetAddress,
            4 => Self::Dump,
            9 => Self::GetVersionAddress,
            _ => return None,
        })
    }

    /// Its number on the wire.
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// Where a program listens on one transport (`rpcb`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct Binding {
    /// Program number.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The transport: `tcp`, `udp`, `tcp6`, `udp6` (RFC 5665 §5.1).
    #[xdr(max = TEXT_BYTES_MAX)]
    pub network_id: Bytes,
    /// The universal address (RFC 5665 §5.2.3).
    #[xdr(max = TEXT_BYTES_MAX)]
    pub address: Bytes,
    /// Who registered it, and may remove it.
    #[xdr(max = TEXT_BYTES_MAX)]
    pub owner: Bytes,
}

/// All bindings (`rpcblist`).
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct BindingList(#[xdr(max = BINDINGS_MAX)] pub List<Binding>);

/// A universal address as the answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct Text(#[xdr(max = TEXT_BYTES_MAX)] pub Bytes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_binding() {
        let binding = Binding {
            program: 100_021,
            version: 4,
            network_id: Bytes::from_static(b"tcp"),
            address: Bytes::from_static(b"1.2.3.4.8.1"),
            owner: Bytes::new(),
        };
        #[rustfmt::skip]
        let golden = [
            0, 1, 0x86, 0xb5, 0, 0, 0, 4,
            0, 0, 0, 3, b't', b'c', b'p', 0,
            0, 0, 0, 11, b'1', b'.', b'2', b'.', b'3', b'.', b'4', b'.', b'8', b'.', b'1', 0,
            0, 0, 0, 0,
        ];
        assert_eq!(&xdr::to_bytes(&binding)[..], golden);
        assert_eq!(xdr::from_bytes::<Binding>(golden.to_vec()).unwrap(), binding);
        let list = BindingList(List(vec![binding.clone(), binding]));
        assert_eq!(xdr::from_bytes::<BindingList>(xdr::to_bytes(&list)).unwrap(), list);
    }

    #[test]
    fn numbers_are_their_own_inverse_and_what_calls_others_is_not_offered() {
        for number in [0, 1, 2, 3, 4, 9] {
            assert_eq!(Procedure::from_number(number).unwrap().number(), number);
        }
        for number in [5, 6, 7, 8, 10, 11, 12, 13] {
            assert_eq!(Procedure::from_number(number), None);
        }
    }
}
