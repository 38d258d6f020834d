//! Data at an offset.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// Smaller pieces are copied together, so that what is counted is what is kept, in bytes.
const PIECE_BYTES_MIN: usize = 4096;

/// Data at an offset, in the pieces in which the writer gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) length: u32,
}

impl Chunk {
    pub(super) fn new(offset: u64, data: Bytes) -> Self {
        Self { offset, length: data.len() as u32, pieces: vec![data] }
    }

    /// Where it belongs.
    pub(crate) fn range(&self) -> Range<u64> {
        self.offset..self.end()
    }

    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }

    pub(super) fn overlaps(&self, range: &Range<u64>) -> bool {
        self.offset < range.end && range.start < self.end()
    }

    /// Adds what follows on it.
    pub(super) fn append(&mut self, data: Bytes) {
        self.length += data.len() as u32;
        match self.pieces.last_mut() {
            Some(last) if last.len() < PIECE_BYTES_MIN && data.len() < PIECE_BYTES_MIN => {
                let mut joined = BytesMut::with_capacity(last.len() + data.len());
                joined.extend_from_slice(last);
                joined.extend_from_slice(&data);
                *last = joined.freeze();
            }
            _ => self.pieces.push(data),
        }
    }

    /// The part of it that is in `range`; `None` when there is none.
    pub(super) fn part(&self, range: &Range<u64>) -> Option<Self> {
        let (start, end) = (self.offset.max(range.start), self.end().min(range.end));
        if start >= end {
            return None;
        }
        let mut at = self.offset;
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            let piece_end = at + piece.len() as u64;
            let (from, to) = (start.max(at), end.min(piece_end));
            if from < to {
                pieces.push(piece.slice((from - at) as usize..(to - at) as usize));
            }
            at = piece_end;
        }
        Some(Self { offset: start, length: (end - start) as u32, pieces })
    }

    /// Copies what it has of `range` into `to`, which begins where the range does.
    pub(super) fn copy(&self, range: &Range<u64>, to: &mut [u8]) {
        let Some(part) = self.part(range) else { return };
        let mut at = (part.offset - range.start) as usize;
        for piece in &part.pieces {
            to[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
    }

    /// As [`Chunk::part`], by its first byte and count.
    pub(crate) fn first(&self, count: u32) -> Option<Self> {
        self.part(&(self.offset..self.offset + u64::from(count)))
    }

    /// What is behind the first `count` bytes.
    pub(super) fn behind(&self, count: u32) -> Option<Self> {
        self.part(&(self.offset + u64::from(count)..u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_bytes_of_its_range_whatever_the_pieces() {
        let mut chunk = Chunk::new(10, Bytes::from_static(b"abcd"));
        chunk.pieces.push(Bytes::from_static(b"efgh"));
        chunk.length += 4;
        let part = chunk.part(&(12..16)).unwrap();
        assert_eq!((part.offset, part.length, part.pieces.concat()), (12, 4, b"cdef".to_vec()));
        assert_eq!(chunk.first(4).unwrap().pieces.len(), 1);
        assert_eq!(chunk.behind(4).unwrap().pieces.concat(), b"efgh");
        assert_eq!((chunk.part(&(0..10)), chunk.behind(8)), (None, None));
    }

    #[test]
    fn many_small_pieces_become_few() {
        let mut chunk = Chunk::new(0, Bytes::from_static(b"x"));
        for _ in 0..2 * PIECE_BYTES_MIN {
            chunk.append(Bytes::from_static(b"y"));
        }
        assert!(chunk.pieces.len() <= 3, "{}", chunk.pieces.len());
        assert_eq!(chunk.pieces.concat().len(), chunk.length as usize);
    }
}
