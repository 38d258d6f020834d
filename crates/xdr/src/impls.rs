//! The traits for the types of the language.

use bytes::Bytes;

use crate::{Decode, DecodeBounded, Decoder, Encode, Encoder, ErrorKind, Result};

/// Elements are decoded into memory that grows with the data that is present, from at most this many up
/// front.
const UP_FRONT_MAX: usize = 64;

impl Decode for () {
    fn decode(_: &mut Decoder) -> Result<Self> {
        Ok(())
    }
}

impl Encode for () {
    fn encode(&self, _: &mut Encoder) {}
}

macro_rules! integer {
    ($($type:ty => $method:ident as $wire:ty),* $(,)?) => {$(
        impl Decode for $type {
            #[inline]
            fn decode(from: &mut Decoder) -> Result<Self> {
                Ok(from.$method()? as $type)
            }
        }

        impl Encode for $type {
            #[inline]
            fn encode(&self, to: &mut Encoder) {
                to.$method(*self as $wire);
            }
        }
    )*};
}

integer!(u32 => u32 as u32, i32 => u32 as u32, u64 => u64 as u64, i64 => u64 as u64);

impl Decode for bool {
    #[inline]
    fn decode(from: &mut Decoder) -> Result<Self> {
        from.bool()
    }
}

impl Encode for bool {
    #[inline]
    fn encode(&self, to: &mut Encoder) {
        to.bool(*self);
    }
}

impl<const N: usize> Decode for [u8; N] {
    #[inline]
    fn decode(from: &mut Decoder) -> Result<Self> {
        from.fixed()
    }
}

impl<const N: usize> Encode for [u8; N] {
    #[inline]
    fn encode(&self, to: &mut Encoder) {
        to.fixed(self);
    }
}

impl DecodeBounded for Bytes {
    #[inline]
    fn decode_bounded(from: &mut Decoder, max: u32) -> Result<Self> {
        from.opaque(max)
    }
}

impl Encode for Bytes {
    #[inline]
    fn encode(&self, to: &mut Encoder) {
        to.opaque(self);
    }
}

impl DecodeBounded for String {
    fn decode_bounded(from: &mut Decoder, max: u32) -> Result<Self> {
        let start = from.offset();
        let bytes = from.opaque(max)?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => {
                let length = from.offset() - start;
                Err(from.error_before(length, ErrorKind::Invalid("text is not UTF-8")))
            }
        }
    }
}

impl Encode for String {
    fn encode(&self, to: &mut Encoder) {
        to.opaque(self.as_bytes());
    }
}

impl Encode for str {
    fn encode(&self, to: &mut Encoder) {
        to.opaque(self.as_bytes());
    }
}

impl<T: Decode> DecodeBounded for Vec<T> {
    fn decode_bounded(from: &mut Decoder, max: u32) -> Result<Self> {
        let length = from.length(max)?;
        let mut items = Vec::with_capacity(length.min(UP_FRONT_MAX));
        for _ in 0..length {
            let before = from.offset();
            items.push(T::decode(from)?);
            // An element of no size would let a count alone cost memory.
            if from.offset() == before {
                return Err(from.error(ErrorKind::Invalid("elements without size")));
            }
        }
        Ok(items)
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self, to: &mut Encoder) {
        self.as_slice().encode(to);
    }
}

impl<T: Encode> Encode for [T] {
    fn encode(&self, to: &mut Encoder) {
        to.length(self.len());
        for item in self {
            item.encode(to);
        }
    }
}

impl<T: Decode> Decode for Option<T> {
    #[inline]
    fn decode(from: &mut Decoder) -> Result<Self> {
        if from.bool()? { Ok(Some(T::decode(from)?)) } else { Ok(None) }
    }
}

impl<T: Encode> Encode for Option<T> {
    #[inline]
    fn encode(&self, to: &mut Encoder) {
        to.bool(self.is_some());
        if let Some(item) = self {
            item.encode(to);
        }
    }
}

impl<T: Decode> Decode for Box<T> {
    fn decode(from: &mut Decoder) -> Result<Self> {
        T::decode(from).map(Box::new)
    }
}

impl<T: Encode + ?Sized> Encode for Box<T> {
    fn encode(&self, to: &mut Encoder) {
        (**self).encode(to);
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn encode(&self, to: &mut Encoder) {
        (**self).encode(to);
    }
}

impl<A: Decode, B: Decode> Decode for (A, B) {
    fn decode(from: &mut Decoder) -> Result<Self> {
        Ok((A::decode(from)?, B::decode(from)?))
    }
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn encode(&self, to: &mut Encoder) {
        self.0.encode(to);
        self.1.encode(to);
    }
}
