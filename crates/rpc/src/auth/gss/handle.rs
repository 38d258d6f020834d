//! The handles of contexts. A stranger cannot guess one, and a server knows those of its other runs.

use std::hash::{Hash, Hasher};

use super::Surroundings;

/// A run of the server. It differs from those of other runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootInstance(pub u64);

/// The random part of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nonce(u128);

/// The bytes of a handle: the boot instance, then the nonce.
pub(super) const HANDLE_BYTES: usize = 24;

/// The reason why bytes are no handle of this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandleFault {
    /// It has another length.
    Malformed,
    /// Another run of the server has made it.
    OtherRun,
}

impl Nonce {
    pub(super) fn random(surroundings: &dyn Surroundings) -> Self {
        let mut bytes = [0; 16];
        surroundings.random(&mut bytes);
        Self(u128::from_be_bytes(bytes))
    }

    /// Returns the handle with this nonce.
    pub(super) fn handle(self, boot: BootInstance) -> [u8; HANDLE_BYTES] {
        let mut handle = [0; HANDLE_BYTES];
        handle[..8].copy_from_slice(&boot.0.to_be_bytes());
        handle[8..].copy_from_slice(&self.0.to_be_bytes());
        handle
    }

    /// Returns the nonce of a handle that this run has made, or another sender of the same length.
    pub(super) fn of(handle: &[u8], boot: BootInstance) -> Result<Self, HandleFault> {
        let handle: &[u8; HANDLE_BYTES] = handle.try_into().map_err(|_| HandleFault::Malformed)?;
        let (made_by, nonce) = handle.split_at(8);
        if made_by != boot.0.to_be_bytes() {
            return Err(HandleFault::OtherRun);
        }
        nonce.try_into().map(|nonce| Self(u128::from_be_bytes(nonce))).map_err(|_| HandleFault::Malformed)
    }
}

#[cfg(test)]
impl From<u128> for Nonce {
    fn from(nonce: u128) -> Self {
        Self(nonce)
    }
}

impl Hash for Nonce {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0 as u64);
    }
}

/// Takes the low half of a nonce as its hash: it is random, and no client can choose a nonce of the table.
#[derive(Debug, Default, Clone)]
pub(super) struct NonceHasher(u64);

impl Hasher for NonceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 ^= number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_of_another_run_or_length_has_no_nonce() {
        let (nonce, boot) = (Nonce(7 << 64 | 9), BootInstance(3));
        let handle = nonce.handle(boot);
        assert_eq!(Nonce::of(&handle, boot), Ok(nonce));
        assert_eq!(Nonce::of(&handle, BootInstance(4)), Err(HandleFault::OtherRun));
        assert_eq!(Nonce::of(&handle[1..], boot), Err(HandleFault::Malformed));
        assert_eq!(Nonce::of(&[], boot), Err(HandleFault::Malformed));
    }
}
