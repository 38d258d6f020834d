//! Writing XDR items to a buffer.

use crate::Encode;

/// Appends items to one contiguous buffer.
#[derive(Debug, Default)]
pub struct Encoder {
    buffer: Vec<u8>,
}

/// A position that is filled in later, see [`Encoder::reserve_u32`].
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Mark(usize);

impl Encoder {
    /// An empty encoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// An encoder that appends to `buffer`, keeping its capacity.
    pub fn with_buffer(buffer: Vec<u8>) -> Self {
        Self { buffer }
    }

    /// The bytes written.
    pub fn into_inner(self) -> Vec<u8> {
        self.buffer
    }

    /// The bytes written so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.buffer
    }

    /// Number of bytes written so far.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// True before the first byte.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Forgets everything after the first `length` bytes, to replace a reply by an error.
    pub fn truncate(&mut self, length: usize) {
        self.buffer.truncate(length);
    }

    /// Writes one item.
    #[inline]
    pub fn put<T: Encode + ?Sized>(&mut self, item: &T) {
        item.encode(self);
    }

    /// An unsigned integer (RFC 4506 §4.2).
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.buffer.extend_from_slice(&value.to_be_bytes());
    }

    /// An unsigned hyper integer (RFC 4506 §4.5).
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.buffer.extend_from_slice(&value.to_be_bytes());
    }

    /// Unsigned integers of a number that is known: they share one check for room in the buffer.
    #[inline]
    pub fn words<const N: usize>(&mut self, words: [u32; N]) {
        self.buffer.extend_from_slice(words.map(u32::to_be_bytes).as_flattened());
    }

    /// A boolean (RFC 4506 §4.4).
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.u32(u32::from(value));
    }

    /// Fixed-length opaque data with its padding (RFC 4506 §4.9).
    #[inline]
    pub fn fixed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        self.pad(bytes.len());
    }

    /// Variable-length opaque data (RFC 4506 §4.10).
    ///
    /// # Panics
    /// Above 2³²−1 bytes, which no caller has in memory as one item.
    #[inline]
    pub fn opaque(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.fixed(bytes);
    }

    /// The count in front of variable-length data.
    ///
    /// # Panics
    /// Above 2³²−1.
    #[inline]
    pub fn length(&mut self, length: usize) {
        self.u32(u32::try_from(length).expect("XDR data is below 4 GiB"));
    }

    /// Leaves room for an integer that [`Encoder::fill_u32`] writes later.
    pub fn reserve_u32(&mut self) -> Mark {
        let mark = Mark(self.buffer.len());
        self.u32(0);
        mark
    }

    /// Writes the integer that was left open at `mark`.
    ///
    /// # Panics
    /// If the buffer was truncated below `mark`.
    pub fn fill_u32(&mut self, mark: Mark, value: u32) {
        self.buffer[mark.0..mark.0 + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Variable-length opaque data that `fill` appends to the buffer itself: no copy for file data.
    /// Returns what `fill` returns.
    pub fn opaque_with<R>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let mark = self.begin_opaque();
        let result = fill(&mut self.buffer);
        self.end_opaque(mark);
        result
    }

    /// Starts variable-length opaque data that is appended through [`Encoder::buffer_mut`].
    pub fn begin_opaque(&mut self) -> Mark {
        self.reserve_u32()
    }

    /// Ends what [`Encoder::begin_opaque`] started: writes its length and padding.
    ///
    /// # Panics
    /// If the data is above 2³²−1 bytes or was truncated below `mark`.
    pub fn end_opaque(&mut self, mark: Mark) {
        let length = self.buffer.len() - (mark.0 + 4);
        self.fill_u32(mark, u32::try_from(length).expect("XDR data is below 4 GiB"));
        self.pad(length);
    }

    /// The buffer, to append raw bytes to.
    pub fn buffer_mut(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    #[inline]
    fn pad(&mut self, length: usize) {
        // Of lengths that the compiler knows: else it calls memset for a byte or two.
        match length % 4 {
            0 => {}
            1 => self.buffer.extend_from_slice(&[0; 3]),
            2 => self.buffer.extend_from_slice(&[0; 2]),
            _ => self.buffer.push(0),
        }
    }
}
