//! Handles that cannot be forged: a payload followed by a keyed tag.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};

use crate::{Error, Handle, Result};

/// Length of a key in bytes.
pub(crate) const KEY_BYTES: usize = 16;
/// Length of the tag that ends a handle, in bytes.
const TAG_BYTES: usize = 16;

/// Seals and opens the handles of one export, for back ends whose objects have numbers or keys.
///
/// The tag is SipHash-2-4 with 128 bits over the export's id and the payload, so a handle of another export
/// under the same key does not open.
///
/// # Examples
/// ```
/// let seal = vfs::Seal::new([7; 16], 1);
/// let handle = seal.seal(&42u64.to_le_bytes());
/// assert_eq!(seal.open(handle.as_bytes())?, 42u64.to_le_bytes());
/// assert!(seal.open(b"forged").is_err());
/// # Ok::<(), vfs::Error>(())
/// ```
#[derive(Clone)]
pub struct Seal {
    key: [u8; KEY_BYTES],
    export: u64,
}

impl Seal {
    /// The longest payload in bytes.
    pub const PAYLOAD_BYTES_MAX: usize = Handle::MAX - TAG_BYTES;

    /// The seal of the export with this id. Handles survive a restart where the key does.
    pub fn new(key: [u8; KEY_BYTES], export: u64) -> Self {
        Self { key, export }
    }

    /// The handle with this payload.
    ///
    /// # Panics
    /// When the payload is longer than [`Self::PAYLOAD_BYTES_MAX`].
    pub fn seal(&self, payload: &[u8]) -> Handle {
        let mut bytes = [0; Handle::MAX];
        let end = payload.len() + TAG_BYTES;
        bytes[..payload.len()].copy_from_slice(payload);
        bytes[payload.len()..end].copy_from_slice(&self.tag(payload));
        Handle::new(&bytes[..end]).expect("payload and tag fit a handle")
    }

    /// The payload of a handle that [`Seal::seal`] made.
    ///
    /// # Errors
    /// `BadHandle` for any other bytes.
    pub fn open<'a>(&self, handle: &'a [u8]) -> Result<&'a [u8]> {
        if handle.len() > Handle::MAX {
            return Err(Error::BadHandle);
        }
        let (payload, tag) = handle.split_last_chunk::<TAG_BYTES>().ok_or(Error::BadHandle)?;
        // Every byte is compared, so the time taken tells nothing about the tag.
        let difference =
            self.tag(payload).iter().zip(tag).fold(0, |all, (ours, theirs)| all | (ours ^ theirs));
        if difference == 0 { Ok(payload) } else { Err(Error::BadHandle) }
    }

    /// A number derived from the key and `label`, for ids and verifiers.
    pub fn derive(&self, label: &[u8]) -> u64 {
        let tag = self.tag(label);
        u64::from_le_bytes(*tag.first_chunk().expect("a tag is longer than a number"))
    }

    fn tag(&self, payload: &[u8]) -> [u8; TAG_BYTES] {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write_u64(self.export);
        hasher.write(payload);
        hasher.finish128().as_bytes()
    }
}

/// Compares every byte, so that the time taken tells nothing about where the two differ.
pub(crate) fn equal(ours: &[u8], theirs: &[u8]) -> bool {
    let difference = ours.iter().zip(theirs).fold(0, |all, (ours, theirs)| all | (ours ^ theirs));
    ours.len() == theirs.len() && difference == 0
}

/// `N` bytes from the kernel's random number generator.
pub(crate) fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_payload_opens_and_no_flipped_bit_does() {
        let seal = Seal::new([7; KEY_BYTES], 1);
        let handle = seal.seal(b"payload");
        assert_eq!(seal.open(handle.as_bytes()).unwrap(), b"payload");
        for bit in 0..handle.as_bytes().len() * 8 {
            let mut forged = handle.as_bytes().to_vec();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(seal.open(&forged), Err(Error::BadHandle)), "bit {bit}");
        }
    }

    #[test]
    fn a_handle_of_another_export_or_key_does_not_open() {
        let handle = Seal::new([7; KEY_BYTES], 1).seal(b"payload");
        assert!(Seal::new([7; KEY_BYTES], 2).open(handle.as_bytes()).is_err());
        assert!(Seal::new([8; KEY_BYTES], 1).open(handle.as_bytes()).is_err());
    }

    #[test]
    fn too_short_and_too_long_bytes_do_not_open() {
        let seal = Seal::new([7; KEY_BYTES], 1);
        for length in [0, 1, 15, 65, 4096] {
            assert!(matches!(seal.open(&vec![0; length]), Err(Error::BadHandle)), "{length} bytes");
        }
    }
}
