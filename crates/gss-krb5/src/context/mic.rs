//! MIC tokens (RFC 4121 §4.2.6.1): a header and the checksum of message and header.

use super::Context;
use crate::Error;
use crate::header::{self, HEADER_BYTES, MIC_TOKEN_ID, SEALED};

impl Context {
    /// Returns the length of a MIC token in bytes: 28, 32 or 40.
    pub const fn mic_token_bytes(&self) -> usize {
        HEADER_BYTES + self.enctype.mac_bytes()
    }

    /// Returns the MIC token of `message`.
    #[must_use]
    pub fn mic(&self, sequence: u64, message: &[u8]) -> Vec<u8> {
        let mut token = Vec::with_capacity(self.mic_token_bytes());
        self.mic_into(sequence, &[message], &mut token);
        token
    }

    /// Appends to `token` the MIC token of a message in parts.
    pub fn mic_into(&self, sequence: u64, parts: &[&[u8]], token: &mut Vec<u8>) {
        let header = header::mic_header(self.flags(self.role), sequence);
        let mut mac = self.send.mic.clone();
        for part in parts {
            mac.update(part);
        }
        mac.update(&header);
        token.extend_from_slice(&header);
        token.extend_from_slice(mac.finish().as_slice());
    }

    /// Verifies the peer's MIC token of `message` and returns the sequence number in it.
    ///
    /// # Errors
    /// An [`Error`] unless the token is the peer's for exactly this message.
    pub fn verify_mic(&self, token: &[u8], message: &[u8]) -> Result<u64, Error> {
        self.verify_mic_of(token, &[message])
    }

    /// Like [`Self::verify_mic`], of a message in parts.
    ///
    /// # Errors
    /// As of [`Self::verify_mic`].
    pub fn verify_mic_of(&self, token: &[u8], parts: &[&[u8]]) -> Result<u64, Error> {
        let (header, received) = header::split(token, MIC_TOKEN_ID, self.mic_token_bytes())?;
        let flags = header::flags(header);
        self.check_flags(flags)?;
        if flags & SEALED != 0 {
            return Err(Error::SealedMic);
        }
        let mut mac = self.receive.mic.clone();
        for part in parts {
            mac.update(part);
        }
        mac.update(header);
        if mac.finish().matches(received) { Ok(header::sequence(header)) } else { Err(Error::BadMac) }
    }
}
