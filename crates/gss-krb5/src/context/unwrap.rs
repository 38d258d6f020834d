//! Wrap tokens of the peer (RFC 4121 §4.2.4, §4.2.5).

use std::ops::Range;

use super::Context;
use crate::header::{self, HEADER_BYTES, Header, SEALED, WRAP_TOKEN_ID};
use crate::{CONFOUNDER_BYTES, Error};

/// An authentic message in the buffer of its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwrapped {
    /// Where the message is in the token.
    pub message: Range<usize>,
    /// Whether the message was encrypted. A receiver that demands privacy refuses the others.
    pub is_private: bool,
    /// The sequence number of the token.
    pub sequence: u64,
}

impl Context {
    /// Verifies the peer's Wrap token, and returns its message and whether it was encrypted.
    ///
    /// # Errors
    /// An [`Error`] unless the token is the peer's.
    pub fn unwrap(&self, token: &[u8]) -> Result<(Vec<u8>, bool), Error> {
        let mut token = token.to_vec();
        let Unwrapped { message, is_private, .. } = self.unwrap_in_place(&mut token)?;
        token.truncate(message.end);
        token.drain(..message.start);
        Ok((token, is_private))
    }

    /// Verifies the peer's Wrap token, decrypts it where it is, and returns where its message is.
    ///
    /// Accepts every right rotation count: one other than zero costs a pass over the token. Accepts every
    /// extra count of a sealed token up to the length of what is sealed.
    ///
    /// # Errors
    /// An [`Error`] unless the token is the peer's. The bytes of the token may have changed by then, and must
    /// not be used.
    pub fn unwrap_in_place(&self, token: &mut [u8]) -> Result<Unwrapped, Error> {
        let mac_bytes = self.enctype.mac_bytes();
        let header = *header::split(token, WRAP_TOKEN_ID, HEADER_BYTES + mac_bytes)?.0;
        let flags = header::flags(&header);
        self.check_flags(flags)?;
        let is_private = flags & SEALED != 0;
        if is_private {
            let bytes_min = HEADER_BYTES + CONFOUNDER_BYTES + HEADER_BYTES + mac_bytes;
            if token.len() < bytes_min {
                return Err(Error::TooShort { bytes: token.len(), bytes_min });
            }
        } else if usize::from(header::extra_count(&header)) != mac_bytes {
            return Err(Error::BadExtraCount(header::extra_count(&header)));
        }

        let body = &mut token[HEADER_BYTES..];
        // The body has at least a checksum, so it is not empty.
        body.rotate_left(usize::from(header::rotation(&header)) % body.len());
        let (data, tag) = body.split_at_mut(body.len() - mac_bytes);
        let opened = if is_private { self.open(&header, data, tag) } else { self.check(&header, data, tag) };
        let in_body = opened?;
        let message = HEADER_BYTES + in_body.start..HEADER_BYTES + in_body.end;
        Ok(Unwrapped { message, is_private, sequence: header::sequence(&header) })
    }

    /// Verifies a message that is not encrypted.
    fn check(&self, header: &Header, data: &[u8], tag: &[u8]) -> Result<Range<usize>, Error> {
        // The checksum covers a header with an extra count and a rotation of zero.
        let mut covered = *header;
        covered[4..8].fill(0);
        if !self.receive.checksum.of(&[data, &covered]).matches(tag) {
            return Err(Error::BadMac);
        }
        Ok(0..data.len())
    }

    /// Decrypts confounder, message, filler and header.
    fn open(&self, header: &Header, data: &mut [u8], tag: &[u8]) -> Result<Range<usize>, Error> {
        self.receive.opening.open(data, tag)?;
        let sealed_header = data.len() - HEADER_BYTES;
        let sealed = &data[sealed_header..];
        // The rotation is done after sealing. Kerberos implementations read only the other fields.
        if sealed[..6] != header[..6] || sealed[8..] != header[8..] {
            return Err(Error::HeaderMismatch);
        }
        let extra_count = header::extra_count(header);
        let end = sealed_header
            .checked_sub(usize::from(extra_count))
            .filter(|end| *end >= CONFOUNDER_BYTES)
            .ok_or(Error::BadExtraCount(extra_count))?;
        Ok(CONFOUNDER_BYTES..end)
    }
}
