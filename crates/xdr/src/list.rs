//! Linked lists: optional data that holds the next element (RFC 4506 §4.19).

use crate::{Decode, DecodeBounded, Decoder, Encode, Encoder, ErrorKind, Result};

/// A linked list, on the wire a chain of `TRUE, element` closed by `FALSE`.
///
/// Decoded in a loop, so a long chain cannot exhaust the stack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List<T>(pub Vec<T>);

impl<T: Decode> DecodeBounded for List<T> {
    fn decode_bounded(from: &mut Decoder, max: u32) -> Result<Self> {
        let mut items = Vec::new();
        while from.bool()? {
            if items.len() >= max as usize {
                return Err(from.error(ErrorKind::TooLong { length: max.saturating_add(1), max }));
            }
            items.push(T::decode(from)?);
        }
        Ok(Self(items))
    }
}

impl<T: Encode> Encode for List<T> {
    fn encode(&self, to: &mut Encoder) {
        for item in &self.0 {
            to.bool(true);
            item.encode(to);
        }
        to.bool(false);
    }
}
