//! HMAC with the hash of an encryption type, truncated to its checksum length.

use hmac::{Hmac, KeyInit, Mac as _};
use sha1::Sha1;
use sha2::{Sha256, Sha384};
use subtle::ConstantTimeEq;

use crate::Enctype;

/// The longest checksum, of aes256-cts-hmac-sha384-192.
const TAG_BYTES_MAX: usize = 24;

/// An HMAC with its key absorbed. A clone computes the MAC of one message.
#[derive(Clone)]
pub(crate) enum Mac {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
    Sha384(Hmac<Sha384>),
}

impl Mac {
    pub(crate) fn new(enctype: Enctype, key: &[u8]) -> Self {
        match enctype {
            Enctype::Aes128Sha1 | Enctype::Aes256Sha1 => Self::Sha1(keyed(key)),
            Enctype::Aes128Sha256 => Self::Sha256(keyed(key)),
            Enctype::Aes256Sha384 => Self::Sha384(keyed(key)),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(mac) => mac.update(bytes),
            Self::Sha256(mac) => mac.update(bytes),
            Self::Sha384(mac) => mac.update(bytes),
        }
    }

    /// Returns the MAC of all updates, truncated to the checksum length.
    pub(crate) fn finish(self) -> Tag {
        match self {
            Self::Sha1(mac) => Tag::truncated(&mac.finalize().into_bytes(), 12),
            Self::Sha256(mac) => Tag::truncated(&mac.finalize().into_bytes(), 16),
            Self::Sha384(mac) => Tag::truncated(&mac.finalize().into_bytes(), 24),
        }
    }

    /// Returns the checksum of `parts`, one behind the other. This MAC stays as it is.
    pub(crate) fn of(&self, parts: &[&[u8]]) -> Tag {
        let mut mac = self.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finish()
    }
}

fn keyed<M: KeyInit>(key: &[u8]) -> M {
    M::new_from_slice(key).expect("HMAC takes keys of every length")
}

/// A truncated MAC.
pub(crate) struct Tag {
    bytes: [u8; TAG_BYTES_MAX],
    length: usize,
}

impl Tag {
    fn truncated(mac: &[u8], length: usize) -> Self {
        let mut bytes = [0; TAG_BYTES_MAX];
        bytes[..length].copy_from_slice(&mac[..length]);
        Self { bytes, length }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Compares in constant time.
    pub(crate) fn matches(&self, received: &[u8]) -> bool {
        self.as_slice().ct_eq(received).into()
    }
}
