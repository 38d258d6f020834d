//! Protocol keys, and the operations of an encryption type with them.

use std::fmt;

use zeroize::Zeroizing;

use crate::sealing::{OpeningKeys, SealingKeys, checksum};
use crate::{CONFOUNDER_BYTES, Confounder, Enctype, Error};

/// A protocol key of Kerberos: a session key, a subkey or a long-term key.
///
/// The bytes are zeroed when it is dropped, and `Debug` does not show them. Each operation derives the keys
/// for its usage. A [`Context`](crate::Context) derives its own once.
#[derive(Clone)]
pub struct ProtocolKey {
    enctype: Enctype,
    bytes: Zeroizing<Vec<u8>>,
}

impl ProtocolKey {
    /// Takes the bytes of a key.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless there are [`Enctype::key_bytes`] of them.
    pub fn new(enctype: Enctype, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != enctype.key_bytes() {
            return Err(Error::KeyLength { enctype, bytes: bytes.len() });
        }
        Ok(Self { enctype, bytes: Zeroizing::new(bytes.to_vec()) })
    }

    /// Returns the encryption type.
    pub const fn enctype(&self) -> Enctype {
        self.enctype
    }

    /// Encrypts `plaintext` for a key usage (RFC 3961 §5.3, RFC 8009 §5).
    ///
    /// The result is longer by [`CONFOUNDER_BYTES`] and [`Enctype::mac_bytes`].
    #[must_use]
    pub fn encrypt(&self, usage: u32, confounder: &Confounder, plaintext: &[u8]) -> Vec<u8> {
        let capacity = CONFOUNDER_BYTES + plaintext.len() + self.enctype.mac_bytes();
        let mut data = Vec::with_capacity(capacity);
        data.extend_from_slice(confounder);
        data.extend_from_slice(plaintext);
        let tag = SealingKeys::new(self.enctype, &self.bytes, usage).seal(&mut data);
        data.extend_from_slice(tag.as_slice());
        data
    }

    /// Reverses [`Self::encrypt`] for the same key usage.
    ///
    /// # Errors
    /// [`Error::TooShort`] below the length of an empty message, [`Error::BadMac`] for a ciphertext that this
    /// key did not make for this usage.
    pub fn decrypt(&self, usage: u32, ciphertext: &[u8]) -> Result<Vec<u8>, Error> {
        let bytes_min = CONFOUNDER_BYTES + self.enctype.mac_bytes();
        if ciphertext.len() < bytes_min {
            return Err(Error::TooShort { bytes: ciphertext.len(), bytes_min });
        }
        let (data, tag) = ciphertext.split_at(ciphertext.len() - self.enctype.mac_bytes());
        let mut data = data.to_vec();
        OpeningKeys::new(self.enctype, &self.bytes, usage).open(&mut data, tag)?;
        data.drain(..CONFOUNDER_BYTES);
        Ok(data)
    }

    /// Returns the checksum of `message` for a key usage, of [`Enctype::mac_bytes`].
    #[must_use]
    pub fn checksum(&self, usage: u32, message: &[u8]) -> Vec<u8> {
        checksum(self.enctype, &self.bytes, usage).of(&[message]).as_slice().to_vec()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for ProtocolKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProtocolKey").field("enctype", &self.enctype).finish_non_exhaustive()
    }
}
