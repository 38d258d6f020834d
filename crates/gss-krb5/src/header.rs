//! The 16 bytes in front of both kinds of tokens (RFC 4121 §4.2.6).

use crate::Error;

pub(crate) const HEADER_BYTES: usize = 16;

/// The bytes of a header.
pub(crate) type Header = [u8; HEADER_BYTES];

pub(crate) const MIC_TOKEN_ID: u16 = 0x0404;
pub(crate) const WRAP_TOKEN_ID: u16 = 0x0504;

/// Flags (RFC 4121 §4.2.2). Receivers ignore the other bits, which the MAC covers all the same.
pub(crate) const SENT_BY_ACCEPTOR: u8 = 1;
pub(crate) const SEALED: u8 = 2;
pub(crate) const ACCEPTOR_SUBKEY: u8 = 4;

const FILLER: u8 = 0xff;

/// Returns the header of a MIC token.
pub(crate) fn mic_header(flags: u8, sequence: u64) -> Header {
    let mut header = [FILLER; HEADER_BYTES];
    header[..2].copy_from_slice(&MIC_TOKEN_ID.to_be_bytes());
    header[2] = flags;
    header[8..].copy_from_slice(&sequence.to_be_bytes());
    header
}

/// Returns the header of a Wrap token that is not rotated.
pub(crate) fn wrap_header(flags: u8, extra_count: u16, sequence: u64) -> Header {
    let mut header = [0; HEADER_BYTES];
    header[..2].copy_from_slice(&WRAP_TOKEN_ID.to_be_bytes());
    header[2] = flags;
    header[3] = FILLER;
    header[4..6].copy_from_slice(&extra_count.to_be_bytes());
    header[8..].copy_from_slice(&sequence.to_be_bytes());
    header
}

/// Splits a token of at least `bytes_min` bytes into header and body, and checks its identifier.
pub(crate) fn split(token: &[u8], token_id: u16, bytes_min: usize) -> Result<(&Header, &[u8]), Error> {
    let too_short = Error::TooShort { bytes: token.len(), bytes_min };
    let (header, body) = token.split_first_chunk::<HEADER_BYTES>().ok_or(too_short)?;
    let found = u16::from_be_bytes([header[0], header[1]]);
    if found != token_id {
        return Err(Error::WrongTokenId(found));
    }
    if token.len() < bytes_min {
        return Err(too_short);
    }
    let filler = if token_id == MIC_TOKEN_ID { &header[3..8] } else { &header[3..4] };
    if filler.iter().any(|byte| *byte != FILLER) {
        return Err(Error::BadFiller);
    }
    Ok((header, body))
}

pub(crate) const fn flags(header: &Header) -> u8 {
    header[2]
}

/// Returns the extra count of a Wrap token: the length of its checksum, or of the filler that is sealed.
pub(crate) const fn extra_count(header: &Header) -> u16 {
    u16::from_be_bytes([header[4], header[5]])
}

/// Returns the right rotation count of a Wrap token.
pub(crate) const fn rotation(header: &Header) -> u16 {
    u16::from_be_bytes([header[6], header[7]])
}

pub(crate) fn sequence(header: &Header) -> u64 {
    u64::from_be_bytes(std::array::from_fn(|index| header[8 + index]))
}
