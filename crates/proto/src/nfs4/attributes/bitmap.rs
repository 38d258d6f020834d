//! Sets of attributes (`bitmap4`, RFC 8881 §3.3.7).

use std::ops::{BitAnd, BitOr};

use xdr::{Decode, Decoder, Encode, Encoder};

use super::AttributeId;

/// Words that are kept: numbers up to 95.
const WORDS: usize = 3;
/// Words that are accepted; those beyond [`WORDS`] hold attributes that nobody here knows.
const WORDS_MAX: u32 = 8;

/// A set of attributes. Bits above 95 are dropped when it is decoded: no attribute has such a number, and a
/// request for one is answered without it, as for any attribute that is not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bitmap([u32; WORDS]);

impl Bitmap {
    /// The empty set.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// The set of the attributes given.
    pub const fn of(ids: &[AttributeId]) -> Self {
        let mut words = [0; WORDS];
        let mut index = 0;
        while index < ids.len() {
            let number = ids[index] as u32;
            words[(number / 32) as usize] |= 1 << (number % 32);
            index += 1;
        }
        Self(words)
    }

    /// The set with these first 32 bits: for a `bitmap4` that is no set of attributes.
    pub const fn from_word(word: u32) -> Self {
        let mut words = [0; WORDS];
        words[0] = word;
        Self(words)
    }

    /// True when `id` is in the set.
    pub const fn contains(&self, id: AttributeId) -> bool {
        let number = id as u32;
        self.0[(number / 32) as usize] & (1 << (number % 32)) != 0
    }

    /// The set with `id` in it.
    #[must_use]
    pub const fn with(mut self, id: AttributeId) -> Self {
        let number = id as u32;
        self.0[(number / 32) as usize] |= 1 << (number % 32);
        self
    }

    /// Adds `id`.
    pub fn insert(&mut self, id: AttributeId) {
        *self = self.with(id);
    }

    /// True without any attribute.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// True when the sets have an attribute in common.
    pub fn intersects(&self, other: Self) -> bool {
        !(*self & other).is_empty()
    }

    /// The attributes of `self` that are not in `other`.
    #[must_use]
    pub fn without(&self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }

    /// As [`Decode::decode`], with the first number that was dropped.
    pub(super) fn decode_with_rest(from: &mut Decoder) -> xdr::Result<(Self, Option<u32>)> {
        let length = from.length(WORDS_MAX)?;
        let (mut bitmap, mut beyond) = (Self::EMPTY, None);
        for index in 0..length {
            let word = from.u32()?;
            match bitmap.0.get_mut(index) {
                Some(kept) => *kept = word,
                None if word != 0 => beyond = beyond.or(Some(index as u32 * 32 + word.trailing_zeros())),
                None => {}
            }
        }
        Ok((bitmap, beyond))
    }

    /// Numbers in the set, ascending.
    pub fn numbers(&self) -> Numbers {
        Numbers { left: self.0 }
    }

    /// Those of the set whose numbers `keep` accepts.
    #[must_use]
    pub(super) fn filtered(&self, keep: impl Fn(u32) -> bool) -> Self {
        let mut kept = Self::EMPTY;
        for number in self.numbers().filter(|number| keep(*number)) {
            kept.0[(number / 32) as usize] |= 1 << (number % 32);
        }
        kept
    }
}

/// The numbers in a set, ascending.
#[derive(Debug, Clone)]
pub struct Numbers {
    left: [u32; WORDS],
}

impl Iterator for Numbers {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (index, word) = self.left.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
        let bit = word.trailing_zeros();
        *word &= *word - 1;
        Some(index as u32 * 32 + bit)
    }
}

impl BitAnd for Bitmap {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }
}

impl BitOr for Bitmap {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }
}

impl Decode for Bitmap {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        Self::decode_with_rest(from).map(|(bitmap, _)| bitmap)
    }
}

impl Encode for Bitmap {
    fn encode(&self, to: &mut Encoder) {
        match self.0 {
            [0, 0, 0] => to.u32(0),
            [first, 0, 0] => to.words([1, first]),
            [first, second, 0] => to.words([2, first, second]),
            [first, second, third] => to.words([3, first, second, third]),
        }
    }
}
