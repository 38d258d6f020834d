//! Types whose encoding has one length: they are written in one piece, with one check for room in the buffer.

/// A type whose encoding has always the same number of four-byte words.
///
/// Enumerations have it by `#[derive(Xdr)]`, structs by `#[xdr(fixed)]` beside it.
pub trait Fixed {
    /// Number of words.
    const WORDS: usize;

    /// Writes the encoding as words.
    ///
    /// # Panics
    /// When `words` are not as many as [`Fixed::WORDS`].
    fn fill(&self, words: &mut [u32]);
}

macro_rules! one_word {
    ($($type:ty),*) => {$(
        impl Fixed for $type {
            const WORDS: usize = 1;

            #[inline]
            fn fill(&self, words: &mut [u32]) {
                words[0] = *self as u32;
            }
        }
    )*};
}

one_word!(u32, i32);

impl Fixed for bool {
    const WORDS: usize = 1;

    #[inline]
    fn fill(&self, words: &mut [u32]) {
        words[0] = u32::from(*self);
    }
}

macro_rules! two_words {
    ($($type:ty),*) => {$(
        impl Fixed for $type {
            const WORDS: usize = 2;

            #[inline]
            fn fill(&self, words: &mut [u32]) {
                words.copy_from_slice(&[(*self >> 32) as u32, *self as u32]);
            }
        }
    )*};
}

two_words!(u64, i64);

impl<const N: usize> Fixed for [u8; N] {
    const WORDS: usize = {
        assert!(N.is_multiple_of(4), "fixed opaque data without padding");
        N / 4
    };

    #[inline]
    fn fill(&self, words: &mut [u32]) {
        let (chunks, _) = self.as_chunks::<4>();
        for (word, bytes) in words.iter_mut().zip(chunks) {
            *word = u32::from_be_bytes(*bytes);
        }
    }
}
