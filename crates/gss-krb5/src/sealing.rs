//! Authenticated encryption of an encryption type for one key usage, in place.
//!
//! AES with HMAC-SHA1 authenticates the plaintext (RFC 3961 §5.3). AES with HMAC-SHA2 authenticates the
//! initial vector and the ciphertext (RFC 8009 §5).

use zeroize::Zeroizing;

use crate::cipher::{BLOCK_BYTES, Decryptor, Encryptor};
use crate::derivation::{Purpose, derive};
use crate::mac::{Mac, Tag};
use crate::{Enctype, Error, cts};

/// The bytes that the MAC covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Covered {
    Plaintext,
    VectorAndCiphertext,
}

impl Covered {
    const fn by(enctype: Enctype) -> Self {
        match enctype {
            Enctype::Aes128Sha1 | Enctype::Aes256Sha1 => Self::Plaintext,
            Enctype::Aes128Sha256 | Enctype::Aes256Sha384 => Self::VectorAndCiphertext,
        }
    }
}

/// Returns the MAC of integrity, ready for the first byte of a message.
fn integrity(enctype: Enctype, key: &[u8], usage: u32) -> Mac {
    let mut mac = Mac::new(enctype, &derive(enctype, key, usage, Purpose::Integrity));
    if Covered::by(enctype) == Covered::VectorAndCiphertext {
        mac.update(&[0; BLOCK_BYTES]);
    }
    mac
}

fn encryption_key(enctype: Enctype, key: &[u8], usage: u32) -> Zeroizing<Vec<u8>> {
    derive(enctype, key, usage, Purpose::Encryption)
}

/// Returns the MAC of checksums for a key usage.
pub(crate) fn checksum(enctype: Enctype, key: &[u8], usage: u32) -> Mac {
    Mac::new(enctype, &derive(enctype, key, usage, Purpose::Checksum))
}

/// The keys that encrypt for one usage.
pub(crate) struct SealingKeys {
    covered: Covered,
    cipher: Encryptor,
    integrity: Mac,
}

impl SealingKeys {
    pub(crate) fn new(enctype: Enctype, key: &[u8], usage: u32) -> Self {
        Self {
            covered: Covered::by(enctype),
            cipher: Encryptor::new(enctype, &encryption_key(enctype, key, usage)),
            integrity: integrity(enctype, key, usage),
        }
    }

    /// Encrypts a confounder and a message in place and returns the MAC that goes behind them.
    pub(crate) fn seal(&self, data: &mut [u8]) -> Tag {
        let mut mac = self.integrity.clone();
        match self.covered {
            Covered::Plaintext => cts::encrypt(&self.cipher, data, |plaintext| mac.update(plaintext), |_| {}),
            Covered::VectorAndCiphertext => {
                cts::encrypt(&self.cipher, data, |_| {}, |ciphertext| mac.update(ciphertext));
            }
        }
        mac.finish()
    }
}

/// The keys that decrypt for one usage.
pub(crate) struct OpeningKeys {
    covered: Covered,
    cipher: Decryptor,
    integrity: Mac,
}

impl OpeningKeys {
    pub(crate) fn new(enctype: Enctype, key: &[u8], usage: u32) -> Self {
        Self {
            covered: Covered::by(enctype),
            cipher: Decryptor::new(enctype, &encryption_key(enctype, key, usage)),
            integrity: integrity(enctype, key, usage),
        }
    }

    /// Decrypts a confounder and a message in place. `data` has at least one block.
    ///
    /// # Errors
    /// [`Error::BadMac`] unless `tag` is the MAC. The data are decrypted by then, and must not be used.
    pub(crate) fn open(&self, data: &mut [u8], tag: &[u8]) -> Result<(), Error> {
        let mut mac = self.integrity.clone();
        match self.covered {
            Covered::Plaintext => cts::decrypt(&self.cipher, data, |_| {}, |plaintext| mac.update(plaintext)),
            Covered::VectorAndCiphertext => {
                cts::decrypt(&self.cipher, data, |ciphertext| mac.update(ciphertext), |_| {});
            }
        }
        if mac.finish().matches(tag) { Ok(()) } else { Err(Error::BadMac) }
    }
}
