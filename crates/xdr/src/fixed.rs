//! Types whose encoding has one length: they are written in one piece, with one check for room in the buffer.

/// A type whose encoding has always the same number of four-byte words.
///
/// Enumerations have it by `#[derive(Xdr)]`, structs by `#[xdr(fixed)]` beside it.
pub trait Fixed {
    /// Number of words.
    const WORDS: usize;

    /// Writes the encoding.
    ///
    /// # Panics
    /// When `words` are not as many as [`Fixed::WORDS`].
    fn fill(&self, words: &mut [[u8; 4]]);
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Fixed for $type {
            const WORDS: usize = size_of::<Self>() / 4;

            #[inline(always)]
            fn fill(&self, words: &mut [[u8; 4]]) {
                words.as_flattened_mut().copy_from_slice(&self.to_be_bytes());
            }
        }
    )*};
}

integer!(u32, i32, u64, i64);

impl Fixed for bool {
    const WORDS: usize = 1;

    #[inline(always)]
    fn fill(&self, words: &mut [[u8; 4]]) {
        u32::from(*self).fill(words);
    }
}

impl<const N: usize> Fixed for [u8; N] {
    const WORDS: usize = {
        assert!(N.is_multiple_of(4), "fixed opaque data without padding");
        N / 4
    };

    #[inline(always)]
    fn fill(&self, words: &mut [[u8; 4]]) {
        words.as_flattened_mut().copy_from_slice(self);
    }
}
