//! Types of single attributes (RFC 8881 §3.2, §3.3, §5.8).

use bytes::Bytes;
use xdr::{Decode, DecodeBounded, Decoder, Encode, Encoder, Xdr};

use super::Bitmap;
use crate::nfs4::Time;

/// The type of an object (`nfs_ftype4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum FileType {
    /// Regular file.
    Regular = 1,
    /// Directory.
    Directory = 2,
    /// Block device.
    Block = 3,
    /// Character device.
    Character = 4,
    /// Symbolic link.
    Symlink = 5,
    /// Socket.
    Socket = 6,
    /// Named pipe.
    Fifo = 7,
    /// Directory of named attributes.
    AttributeDirectory = 8,
    /// Named attribute.
    NamedAttribute = 9,
}

/// A file system (`fsid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
#[xdr(fixed)]
pub struct FsId {
    /// First part.
    pub major: u64,
    /// Second part.
    pub minor: u64,
}

/// A device (`specdata4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Xdr)]
#[xdr(fixed)]
pub struct SpecData {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

/// How to set a time (`settime4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum SetTime {
    /// To the server's clock.
    #[xdr(case = 0)]
    Server,
    /// To the given time.
    #[xdr(case = 1)]
    Client(Time),
}

/// Bits of the mode to set and clear (`mode_masked4`, RFC 8881 §6.2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct MaskedMode {
    /// The values of the bits.
    pub value: u32,
    /// The bits that count.
    pub mask: u32,
}

/// Bits of `fs_charset_cap` (RFC 8881 §14.4).
pub mod charset {
    /// Names may be no UTF-8, and are taken and given as they are.
    pub const CONTAINS_NON_UTF8: u32 = 1;
    /// Names that are no UTF-8 are refused.
    pub const ALLOWS_ONLY_UTF8: u32 = 2;
}

/// How the change attribute evolves (`change_attr_type4`, RFC 7862 §12.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum ChangeAttrType {
    /// It grows with every change.
    Increasing = 0,
    /// It grows by one with every change.
    VersionCounter = 1,
    /// It grows by one with every change that is not made by way of pNFS.
    VersionCounterWithoutPnfs = 2,
    /// It is the time of the last change.
    TimeMetadata = 3,
    /// None of these.
    Undefined = 4,
}

/// What OPEN can be asked for (`open_arguments4`, RFC 9754): sets of bits, each with the number that the
/// standard gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct OpenArguments {
    /// `open_args_share_access4`.
    pub access: Bitmap,
    /// `open_args_share_deny4`.
    pub deny: Bitmap,
    /// `open_args_share_access_want4`.
    pub want: Bitmap,
    /// `open_args_open_claim4`.
    pub claim: Bitmap,
    /// `open_args_createmode4`.
    pub create_mode: Bitmap,
}

/// Longest name of a user or group in bytes.
const PRINCIPAL_BYTES_MAX: u32 = 1024;

/// A user or group: a name, or a number written in decimal digits (RFC 8881 §5.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// An id.
    Number(u32),
    /// `name@domain`, or anything else.
    Name(Bytes),
}

impl Decode for Principal {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        let text = Bytes::decode_bounded(from, PRINCIPAL_BYTES_MAX)?;
        let digits =
            !text.is_empty() && text.iter().all(u8::is_ascii_digit) && (text[0] != b'0' || text.len() == 1);
        let number = digits.then(|| std::str::from_utf8(&text).ok()?.parse().ok()).flatten();
        Ok(number.map_or(Self::Name(text), Self::Number))
    }
}

impl Encode for Principal {
    fn encode(&self, to: &mut Encoder) {
        match self {
            Self::Number(number) => {
                let length = number.checked_ilog10().map_or(1, |log| log as usize + 1);
                // The length, and room for ten digits with their padding.
                let mut bytes = [0; 4 + 12];
                bytes[3] = length as u8;
                let mut rest = *number;
                for digit in bytes[4..4 + length].iter_mut().rev() {
                    *digit = b'0' + (rest % 10) as u8;
                    rest /= 10;
                }
                to.fixed(&bytes[..4 + length.next_multiple_of(4)]);
            }
            Self::Name(name) => to.opaque(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_principals_are_decimal_without_leading_zeros() {
        for (principal, text) in [
            (Principal::Number(0), &b"0"[..]),
            (Principal::Number(1000), b"1000"),
            (Principal::Number(u32::MAX), b"4294967295"),
            (Principal::Name("007".into()), b"007"),
            (Principal::Name("4294967296".into()), b"4294967296"),
            (Principal::Name("root@example.net".into()), b"root@example.net"),
            (Principal::Name(Bytes::new()), b""),
        ] {
            let bytes = xdr::to_bytes(&Bytes::copy_from_slice(text));
            assert_eq!(xdr::to_bytes(&principal), bytes);
            assert_eq!(xdr::from_bytes::<Principal>(bytes).unwrap(), principal);
        }
    }
}
