//! Data of a file of which each byte is there once, as it was written last.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;

use super::chunk::Chunk;

/// A chunk, through which open file it was written, and which of the calls its oldest byte may come from. A
/// byte that has taken the place of another is as old as that one: who waits for the other waits for what is
/// there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) since: u64,
    pub(super) writer: u64,
    pub(super) chunk: Chunk,
}

impl Taken {
    /// Other data of the same call.
    pub(super) fn with(&self, chunk: Chunk) -> Self {
        Self { chunk, ..*self }
    }
}

/// Chunks by their place, none of which overlap.
#[derive(Debug, Default)]
pub(super) struct Extents {
    chunks: BTreeMap<u64, Taken>,
    /// The same by age: `since` and offset.
    by_age: BTreeSet<(u64, u64)>,
    bytes: usize,
}

impl Extents {
    /// Takes data over what is there. What follows on other data of the writer goes into one chunk with it,
    /// up to `length_max`.
    pub(super) fn write(&mut self, since: u64, writer: u64, offset: u64, mut data: Bytes, length_max: u32) {
        let range = offset..offset + data.len() as u64;
        let since = self.oldest_in(&range).unwrap_or(since);
        self.remove(&range);
        let mut at = offset;
        while !data.is_empty() {
            let room = self.room_before(at, writer, length_max);
            let piece = match room {
                0 => data.split_to(data.len().min(length_max as usize)),
                _ => data.split_to(data.len().min(room as usize)),
            };
            let length = piece.len() as u64;
            let grown = if room > 0 { self.ending_at(at) } else { None };
            match grown {
                Some(mut before) => {
                    before.chunk.append(piece);
                    before.since = before.since.min(since);
                    self.insert(before);
                }
                None => self.insert(Taken { since, writer, chunk: Chunk::new(at, piece) }),
            }
            at += length;
        }
        self.join(at, length_max);
    }

    /// Puts a chunk back, where nothing newer has been written meanwhile. Returns how many bytes of it that
    /// leaves out.
    pub(super) fn restore(&mut self, taken: &Taken) -> usize {
        let range = taken.chunk.range();
        let mut lost = taken.chunk.length as usize;
        let (gaps, newer) = (self.gaps(&range), self.offsets_touching(&range));
        for offset in newer {
            if let Some(mut newer) = self.take(offset) {
                newer.since = newer.since.min(taken.since);
                self.insert(newer);
            }
        }
        for gap in gaps {
            if let Some(part) = taken.chunk.part(&gap) {
                lost -= part.length as usize;
                self.insert(taken.with(part));
            }
        }
        lost
    }

    /// The chunks, the oldest first.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = &Taken> {
        self.by_age.iter().filter_map(|(_, offset)| self.chunks.get(offset))
    }

    /// Takes the chunk at `offset` out.
    pub(super) fn take(&mut self, offset: u64) -> Option<Taken> {
        let taken = self.chunks.remove(&offset)?;
        self.by_age.remove(&(taken.since, offset));
        self.bytes -= taken.chunk.length as usize;
        Some(taken)
    }

    /// Removes what is in `range`, and returns how many bytes that were.
    pub(super) fn remove(&mut self, range: &Range<u64>) -> usize {
        let before = self.bytes;
        for offset in self.offsets_touching(range) {
            let Some(taken) = self.take(offset) else { continue };
            for left in [0..range.start, range.end..u64::MAX] {
                if let Some(chunk) = taken.chunk.part(&left) {
                    self.insert(taken.with(chunk));
                }
            }
        }
        before - self.bytes
    }

    /// Adds a chunk where there is nothing.
    pub(super) fn insert(&mut self, taken: Taken) {
        self.bytes += taken.chunk.length as usize;
        self.by_age.insert((taken.since, taken.chunk.offset));
        self.chunks.insert(taken.chunk.offset, taken);
    }

    /// All chunks, in the order of their places.
    pub(super) fn into_chunks(self) -> impl Iterator<Item = Taken> {
        self.chunks.into_values()
    }

    /// The age of the oldest.
    pub(super) fn oldest_since(&self) -> Option<u64> {
        self.by_age.first().map(|(since, _)| *since)
    }

    /// Copies what is there of `range` into `to`, which begins where the range does.
    pub(super) fn copy(&self, range: &Range<u64>, to: &mut [u8]) {
        for taken in self.touching(range) {
            taken.chunk.copy(range, to);
        }
    }

    /// The age of the oldest that has bytes of `range`.
    pub(super) fn oldest_in(&self, range: &Range<u64>) -> Option<u64> {
        self.touching(range).map(|taken| taken.since).min()
    }

    /// Through which open files it was written; some may be named more than once.
    pub(super) fn writers(&self) -> impl Iterator<Item = u64> + use<'_> {
        self.chunks.values().map(|taken| taken.writer)
    }

    /// From the first byte to behind the last one; `None` when there is nothing.
    pub(super) fn span(&self) -> Option<Range<u64>> {
        Some(*self.chunks.first_key_value()?.0..self.end()?)
    }

    pub(super) fn overlaps(&self, range: &Range<u64>) -> bool {
        self.touching(range).next().is_some()
    }

    /// Where the last of them ends.
    pub(super) fn end(&self) -> Option<u64> {
        self.chunks.last_key_value().map(|(_, taken)| taken.chunk.end())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The chunks that have bytes of `range`.
    fn touching(&self, range: &Range<u64>) -> impl Iterator<Item = &Taken> + use<'_> {
        let before = self.chunks.range(..range.start).next_back();
        let first = before.map_or(range.start, |(offset, _)| *offset);
        let range = range.clone();
        self.chunks
            .range(first..range.end.max(first))
            .map(|(_, taken)| taken)
            .filter(move |taken| taken.chunk.overlaps(&range))
    }

    fn offsets_touching(&self, range: &Range<u64>) -> Vec<u64> {
        self.touching(range).map(|taken| taken.chunk.offset).collect()
    }

    /// The parts of `range` in which there is nothing.
    pub(super) fn gaps(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        for taken in self.touching(range) {
            if taken.chunk.offset > at {
                gaps.push(at..taken.chunk.offset);
            }
            at = taken.chunk.end();
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// How much the chunk of the writer that ends at `at` may grow.
    fn room_before(&self, at: u64, writer: u64, length_max: u32) -> u32 {
        let before = self.chunks.range(..at).next_back().map(|(_, taken)| taken);
        before
            .filter(|taken| taken.writer == writer && taken.chunk.end() == at)
            .map_or(0, |taken| length_max.saturating_sub(taken.chunk.length))
    }

    fn ending_at(&mut self, at: u64) -> Option<Taken> {
        let (offset, taken) = self.chunks.range(..at).next_back()?;
        let (offset, ends_here) = (*offset, taken.chunk.end() == at);
        if ends_here { self.take(offset) } else { None }
    }

    /// Makes one of the chunks before and behind `at`, if they fit.
    fn join(&mut self, at: u64, length_max: u32) {
        let fits = |behind: &Taken| behind.chunk.length <= self.room_before(at, behind.writer, length_max);
        if !self.chunks.get(&at).is_some_and(fits) {
            return;
        }
        if let (Some(behind), Some(mut before)) = (self.take(at), self.ending_at(at)) {
            behind.chunk.pieces.into_iter().for_each(|piece| before.chunk.append(piece));
            before.since = before.since.min(behind.since);
            self.insert(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITER: u64 = 7;

    /// What is there, as pairs of offset and content.
    fn content(dirty: &Extents) -> Vec<(u64, Vec<u8>)> {
        dirty.chunks.values().map(|taken| (taken.chunk.offset, taken.chunk.pieces.concat())).collect()
    }

    fn written(writes: &[(u64, &'static [u8])]) -> Extents {
        let mut dirty = Extents::default();
        for (index, (offset, data)) in writes.iter().enumerate() {
            dirty.write(index as u64, WRITER, *offset, Bytes::from_static(data), 8);
        }
        dirty
    }

    #[test]
    fn the_last_write_of_a_byte_counts_and_takes_no_more_room() {
        let dirty = written(&[(0, b"aaaa"), (1, b"bb"), (1, b"cc"), (1, b"dd")]);
        assert_eq!(content(&dirty), [(0, b"adda".to_vec())]);
        assert_eq!(dirty.bytes(), 4);
    }

    #[test]
    fn neighbours_are_joined_up_to_the_largest_write() {
        assert_eq!(content(&written(&[(4, b"efgh"), (0, b"abcd")])), [(0, b"abcdefgh".to_vec())]);
        assert_eq!(content(&written(&[(0, b"abcd"), (8, b"ij"), (4, b"efgh")])).len(), 2);
        let long = written(&[(0, b"abcdefghijkl")]);
        assert_eq!(content(&long), [(0, b"abcdefgh".to_vec()), (8, b"ijkl".to_vec())]);
    }

    #[test]
    fn returned_extents_fill_gaps_only() {
        let mut dirty = written(&[(2, b"NN"), (6, b"M")]);
        let old = Taken { since: 0, writer: WRITER, chunk: Chunk::new(0, Bytes::from_static(b"abcdefgh")) };
        assert_eq!(dirty.restore(&old), 3);
        let all: Vec<u8> = content(&dirty).into_iter().flat_map(|(_, data)| data).collect();
        assert_eq!((all, dirty.bytes()), (b"abNNefMh".to_vec(), 8));
    }

    #[test]
    fn age_is_that_of_the_oldest_byte() {
        let mut dirty = written(&[(0, b"ab"), (100, b"x"), (2, b"cd")]);
        let ages: Vec<_> = dirty.oldest_first().map(|taken| (taken.since, taken.chunk.offset)).collect();
        assert_eq!(ages, [(0, 0), (1, 100)]);
        assert_eq!(dirty.take(0).unwrap().chunk.length, 4);
        assert_eq!((dirty.end(), dirty.bytes()), (Some(101), 1));
        assert!(dirty.overlaps(&(100..200)) && !dirty.overlaps(&(0..100)));
    }

    #[test]
    fn overwriting_data_keep_the_age_of_the_older() {
        let mut dirty = written(&[(0, b"aaaa"), (100, b"x")]);
        dirty.write(9, WRITER, 2, Bytes::from_static(b"bbbb"), 8);
        assert_eq!((dirty.oldest_in(&(4..6)), dirty.oldest_in(&(100..101))), (Some(0), Some(1)));
        let back = Taken { since: 0, writer: WRITER, chunk: Chunk::new(98, Bytes::from_static(b"ooooo")) };
        assert_eq!((dirty.restore(&back), dirty.oldest_in(&(100..101))), (1, Some(0)));
    }

    #[test]
    fn data_of_two_writers_stay_apart() {
        let mut dirty = Extents::default();
        dirty.write(0, 1, 0, Bytes::from_static(b"abcd"), 8);
        dirty.write(1, 2, 4, Bytes::from_static(b"ef"), 8);
        dirty.write(2, 2, 1, Bytes::from_static(b"X"), 8);
        assert_eq!(
            content(&dirty),
            [(0, b"a".to_vec()), (1, b"X".to_vec()), (2, b"cd".to_vec()), (4, b"ef".to_vec())]
        );
        assert_eq!(dirty.writers().collect::<Vec<_>>(), [1, 2, 1, 2]);
    }

    /// Against a plain array of bytes, for many overlapping writes and returns of older data.
    #[test]
    fn random_writes_leave_what_an_array_would_have() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let (mut dirty, mut array) = (Extents::default(), [None; 96]);
        for since in 0..5_000 {
            let (offset, length) = (random(64), 1 + random(20));
            let data = vec![since as u8; length as usize];
            let range = offset as usize..(offset + length) as usize;
            match random(4) {
                0 => {
                    let taken = Taken { since, writer: random(2), chunk: Chunk::new(offset, data.into()) };
                    let free = array[range.clone()].iter().filter(|byte| byte.is_none()).count();
                    assert_eq!(dirty.restore(&taken), length as usize - free);
                    array[range].iter_mut().for_each(|byte| *byte = byte.or(Some(since as u8)));
                }
                1 => {
                    let first = dirty.oldest_first().next().map(|taken| taken.chunk.offset);
                    if let Some(taken) = first.and_then(|offset| dirty.take(offset)) {
                        let range = taken.chunk.range();
                        array[range.start as usize..range.end as usize].fill(None);
                    }
                }
                _ => {
                    dirty.write(since, random(2), offset, data.into(), 16);
                    array[range].fill(Some(since as u8));
                }
            }
            let mut found = [None; 96];
            for (offset, data) in content(&dirty) {
                assert!(data.len() <= 20);
                for (place, byte) in data.into_iter().enumerate() {
                    assert!(found[offset as usize + place].replace(byte).is_none(), "twice");
                }
            }
            assert_eq!(found, array);
            assert_eq!(dirty.bytes(), array.iter().flatten().count());
            assert_eq!(dirty.by_age.len(), dirty.chunks.len());
        }
    }
}
