//! The encryption types and their sizes.

use std::fmt;

/// An encryption type of Kerberos 5: cipher, hash and sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Enctype {
    /// aes128-cts-hmac-sha1-96 (RFC 3962).
    Aes128Sha1,
    /// aes256-cts-hmac-sha1-96 (RFC 3962).
    Aes256Sha1,
    /// aes128-cts-hmac-sha256-128 (RFC 8009).
    Aes128Sha256,
    /// aes256-cts-hmac-sha384-192 (RFC 8009).
    Aes256Sha384,
}

impl Enctype {
    /// All encryption types, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Aes128Sha1, Self::Aes256Sha1, Self::Aes128Sha256, Self::Aes256Sha384];

    /// Returns the encryption type with this number, `None` for every other (RFC 3962 §7, RFC 8009 §7).
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|enctype| enctype.number() == number)
    }

    /// Returns the number on the wire and in keytabs.
    pub const fn number(self) -> i32 {
        match self {
            Self::Aes128Sha1 => 17,
            Self::Aes256Sha1 => 18,
            Self::Aes128Sha256 => 19,
            Self::Aes256Sha384 => 20,
        }
    }

    /// Returns the registered name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Sha1 => "aes128-cts-hmac-sha1-96",
            Self::Aes256Sha1 => "aes256-cts-hmac-sha1-96",
            Self::Aes128Sha256 => "aes128-cts-hmac-sha256-128",
            Self::Aes256Sha384 => "aes256-cts-hmac-sha384-192",
        }
    }

    /// Returns the length of a protocol key and of an encryption key in bytes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Aes128Sha1 | Self::Aes128Sha256 => 16,
            Self::Aes256Sha1 | Self::Aes256Sha384 => 32,
        }
    }

    /// Returns the length of a checksum in bytes, also of the one behind an encrypted message.
    pub const fn mac_bytes(self) -> usize {
        match self {
            Self::Aes128Sha1 | Self::Aes256Sha1 => 12,
            Self::Aes128Sha256 => 16,
            Self::Aes256Sha384 => 24,
        }
    }

    /// Returns the length of a checksum key and of an integrity key in bytes.
    pub(crate) const fn mac_key_bytes(self) -> usize {
        match self {
            Self::Aes256Sha384 => 24,
            _ => self.key_bytes(),
        }
    }
}

impl fmt::Display for Enctype {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Enctype;

    #[test]
    fn numbers_lead_back_to_their_enctypes() {
        for enctype in Enctype::ALL {
            assert_eq!(Enctype::from_number(enctype.number()), Some(enctype));
        }
        assert_eq!(Enctype::ALL.map(Enctype::number), [17, 18, 19, 20]);
        assert_eq!(Enctype::from_number(16), None);
        assert_eq!(Enctype::from_number(-17), None);
    }
}
