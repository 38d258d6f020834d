//! Reading XDR items from a record.

use bytes::Bytes;

use crate::{Decode, Error, ErrorKind, Result};

/// Reads items one after the other from a record.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    input: Bytes,
    offset: usize,
}

impl Decoder {
    /// A decoder at the start of `input`.
    pub fn new(input: Bytes) -> Self {
        Self { input, offset: 0 }
    }

    /// Bytes read so far.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The whole input, of which [`Decoder::offset`] bytes were read.
    pub fn input_ref(&self) -> &[u8] {
        &self.input
    }

    /// Bytes not yet read.
    pub fn remaining(&self) -> usize {
        self.input.len() - self.offset
    }

    /// The bytes not yet read, without reading them.
    pub fn rest(&self) -> Bytes {
        self.input.slice(self.offset..)
    }

    /// As [`Decoder::rest`], borrowed from the decoder.
    pub fn rest_ref(&self) -> &[u8] {
        &self.input[self.offset..]
    }

    /// Reads one `T`.
    ///
    /// # Errors
    /// What `T` cannot be made of.
    pub fn get<T: Decode>(&mut self) -> Result<T> {
        T::decode(self)
    }

    /// An unsigned integer (RFC 4506 §4.2).
    ///
    /// # Errors
    /// `UnexpectedEnd`.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// An unsigned hyper integer (RFC 4506 §4.5).
    ///
    /// # Errors
    /// `UnexpectedEnd`.
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// A boolean (RFC 4506 §4.4).
    ///
    /// # Errors
    /// `UnexpectedEnd`, `NotBoolean`.
    #[inline]
    pub fn bool(&mut self) -> Result<bool> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.error_before(4, ErrorKind::NotBoolean(other))),
        }
    }

    /// Fixed-length opaque data (RFC 4506 §4.9).
    ///
    /// # Errors
    /// `UnexpectedEnd`, `Padding`.
    #[inline]
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.array()?;
        self.padding(N)?;
        Ok(bytes)
    }

    /// Variable-length opaque data of at most `max` bytes, without a copy (RFC 4506 §4.10).
    ///
    /// # Errors
    /// `UnexpectedEnd`, `TooLong`, `Padding`.
    #[inline]
    pub fn opaque(&mut self, max: u32) -> Result<Bytes> {
        let length = self.length(max)?;
        self.need(length)?;
        let bytes = self.input.slice(self.offset..self.offset + length);
        self.offset += length;
        self.padding(length)?;
        Ok(bytes)
    }

    /// Like [`Decoder::opaque`], with whatever is in the padding: for what well-known peers fill with what
    /// was there before.
    ///
    /// # Errors
    /// `UnexpectedEnd`, `TooLong`.
    pub fn opaque_padded_anyhow(&mut self, max: u32) -> Result<Bytes> {
        let length = self.length(max)?;
        let padded = length + (length.wrapping_neg() & 3);
        self.need(padded)?;
        let bytes = self.input.slice(self.offset..self.offset + length);
        self.offset += padded;
        Ok(bytes)
    }

    /// Like [`Decoder::opaque`] but borrowed from the decoder, for data that is looked at once.
    ///
    /// # Errors
    /// As [`Decoder::opaque`].
    #[inline]
    pub fn opaque_ref(&mut self, max: u32) -> Result<&[u8]> {
        let length = self.length(max)?;
        self.need(length)?;
        let start = self.offset;
        self.offset += length;
        self.padding(length)?;
        Ok(&self.input[start..start + length])
    }

    /// Variable-length opaque data of at most `max` bytes that is one `T` and nothing else, read in its
    /// place. What is wrong with the `T` alone is the inner error: then as well the decoder stands behind the
    /// data.
    ///
    /// # Errors
    /// As [`Decoder::opaque`].
    pub fn opaque_holding<T: Decode>(&mut self, max: u32) -> Result<Result<T>> {
        let length = self.length(max)?;
        self.need(length)?;
        let end = self.offset + length;
        let held = T::decode(self).and_then(|held| match end.checked_sub(self.offset) {
            Some(0) => Ok(held),
            Some(left) => Err(self.error(ErrorKind::Trailing(left))),
            None => Err(self.error(ErrorKind::UnexpectedEnd)),
        });
        self.offset = end;
        self.padding(length)?;
        Ok(held)
    }

    /// The count in front of variable-length data.
    ///
    /// # Errors
    /// `UnexpectedEnd`, `TooLong`.
    #[inline]
    pub fn length(&mut self, max: u32) -> Result<usize> {
        let length = self.u32()?;
        if length > max {
            return Err(self.error_before(4, ErrorKind::TooLong { length, max }));
        }
        Ok(length as usize)
    }

    /// Checks that everything has been read.
    ///
    /// # Errors
    /// `Trailing`.
    pub fn finish(&self) -> Result<()> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.error(ErrorKind::Trailing(left))),
        }
    }

    /// An error at the present position.
    pub fn error(&self, kind: ErrorKind) -> Error {
        Error { offset: self.offset, kind }
    }

    /// An error about an item of `length` bytes that was just read.
    pub fn error_before(&self, length: usize, kind: ErrorKind) -> Error {
        Error { offset: self.offset.saturating_sub(length), kind }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.input[self.offset..].first_chunk::<N>() {
            Some(bytes) => {
                self.offset += N;
                Ok(*bytes)
            }
            None => Err(self.error(ErrorKind::UnexpectedEnd)),
        }
    }

    #[inline]
    fn need(&self, length: usize) -> Result<()> {
        if length > self.remaining() { Err(self.error(ErrorKind::UnexpectedEnd)) } else { Ok(()) }
    }

    #[inline]
    fn padding(&mut self, length: usize) -> Result<()> {
        let pad = length.wrapping_neg() & 3;
        self.need(pad)?;
        if self.input[self.offset..self.offset + pad].iter().any(|b| *b != 0) {
            return Err(self.error(ErrorKind::Padding));
        }
        self.offset += pad;
        Ok(())
    }
}
