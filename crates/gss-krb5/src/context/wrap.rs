//! Wrap tokens that this side sends (RFC 4121 §4.2.4).
//!
//! A sealed token is the header, and encrypted behind it the message and a copy of the header. Otherwise the
//! message follows the header as it is, and its checksum follows the message. No token is rotated. None has
//! filler, because ciphertext stealing needs no padding.

use super::Context;
use crate::header::{HEADER_BYTES, SEALED, wrap_header};
use crate::{CONFOUNDER_BYTES, Confounder, Error};

/// How a message is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapProtection {
    /// With a checksum.
    Integrity,
    /// Encrypted, with a checksum.
    Privacy(
        /// New random bytes, as [`Confounder`] demands.
        Confounder,
    ),
}

impl WrapProtection {
    /// Returns how many bytes of a token come before the message: 16, or 32 in an encrypted one.
    pub const fn bytes_before(&self) -> usize {
        match self {
            Self::Integrity => HEADER_BYTES,
            Self::Privacy(_) => HEADER_BYTES + CONFOUNDER_BYTES,
        }
    }

    /// Returns how many bytes of a token come behind the message.
    const fn bytes_behind(&self, mac_bytes: usize) -> usize {
        match self {
            Self::Integrity => mac_bytes,
            Self::Privacy(_) => HEADER_BYTES + mac_bytes,
        }
    }
}

impl Context {
    /// Returns how many bytes a token is longer than its message.
    pub const fn wrap_overhead_bytes(&self, protection: &WrapProtection) -> usize {
        protection.bytes_before() + protection.bytes_behind(self.enctype.mac_bytes())
    }

    /// Returns the Wrap token of `message`.
    #[must_use]
    pub fn wrap(&self, sequence: u64, message: &[u8], protection: WrapProtection) -> Vec<u8> {
        let mut token = Vec::new();
        self.wrap_into(sequence, &[message], protection, &mut token);
        token
    }

    /// Appends to `token` the Wrap token of a message in parts.
    pub fn wrap_into(&self, sequence: u64, parts: &[&[u8]], protection: WrapProtection, token: &mut Vec<u8>) {
        let from = token.len();
        let message_bytes: usize = parts.iter().map(|part| part.len()).sum();
        token.reserve(message_bytes + self.wrap_overhead_bytes(&protection));
        token.resize(from + protection.bytes_before(), 0);
        for part in parts {
            token.extend_from_slice(part);
        }
        self.wrap_at(sequence, token, from, protection);
    }

    /// Turns the end of `buffer`, from `from` on, into a Wrap token.
    ///
    /// The message is there already, behind [`WrapProtection::bytes_before`] bytes of any content at `from`.
    /// It is encrypted in place. The buffer grows by the rest of [`Self::wrap_overhead_bytes`], and is not
    /// copied if it has that capacity.
    ///
    /// # Errors
    /// [`Error::TooShort`] if the buffer ends before the message begins. It is unchanged then.
    pub fn wrap_in_place(
        &self,
        sequence: u64,
        buffer: &mut Vec<u8>,
        from: usize,
        protection: WrapProtection,
    ) -> Result<(), Error> {
        let bytes = buffer.len().saturating_sub(from);
        let bytes_min = protection.bytes_before();
        if bytes < bytes_min {
            return Err(Error::TooShort { bytes, bytes_min });
        }
        self.wrap_at(sequence, buffer, from, protection);
        Ok(())
    }

    /// As [`Self::wrap_in_place`], with the room before the message checked.
    fn wrap_at(&self, sequence: u64, buffer: &mut Vec<u8>, from: usize, protection: WrapProtection) {
        let flags = self.flags(self.role);
        let mac_bytes = self.enctype.mac_bytes();
        buffer.reserve(protection.bytes_behind(mac_bytes));
        let body = from + HEADER_BYTES;
        match protection {
            WrapProtection::Integrity => {
                // The checksum covers a header with an extra count of zero.
                let tag = self.send.checksum.of(&[&buffer[body..], &wrap_header(flags, 0, sequence)]);
                buffer[from..body].copy_from_slice(&wrap_header(flags, mac_bytes as u16, sequence));
                buffer.extend_from_slice(tag.as_slice());
            }
            WrapProtection::Privacy(confounder) => {
                let header = wrap_header(flags | SEALED, 0, sequence);
                buffer[from..body].copy_from_slice(&header);
                buffer[body..body + CONFOUNDER_BYTES].copy_from_slice(&confounder);
                buffer.extend_from_slice(&header);
                let tag = self.send.sealing.seal(&mut buffer[body..]);
                buffer.extend_from_slice(tag.as_slice());
            }
        }
    }
}
