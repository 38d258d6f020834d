//! What can be decoded and encoded.

use bytes::Bytes;

use crate::{Decoder, Encoder, Result};

/// A type with an XDR encoding of bounded size.
pub trait Decode: Sized {
    /// Reads one value.
    ///
    /// # Errors
    /// Whatever the data cannot be.
    fn decode(from: &mut Decoder) -> Result<Self>;
}

/// A type of variable length, which can only be decoded against a maximum.
pub trait DecodeBounded: Sized {
    /// Reads one value of at most `max` elements.
    ///
    /// # Errors
    /// As [`Decode::decode`], and `TooLong`.
    fn decode_bounded(from: &mut Decoder, max: u32) -> Result<Self>;
}

/// A type that can be written as XDR.
pub trait Encode {
    /// Appends the value.
    fn encode(&self, to: &mut Encoder);
}

/// Decodes one value that fills `bytes` exactly.
///
/// # Errors
/// As [`Decode::decode`], and `Trailing`.
pub fn from_bytes<T: Decode>(bytes: impl Into<Bytes>) -> Result<T> {
    let mut decoder = Decoder::new(bytes.into());
    let value = T::decode(&mut decoder)?;
    decoder.finish()?;
    Ok(value)
}

/// Encodes one value.
pub fn to_bytes<T: Encode + ?Sized>(value: &T) -> Bytes {
    let mut encoder = Encoder::new();
    value.encode(&mut encoder);
    encoder.into_inner().into()
}
