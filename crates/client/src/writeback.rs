//! Data that an open file has taken and the server does not have on stable storage yet. Pure: it says what to send next
//! and is told what came of it.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use bytes::Bytes;

use crate::error::Error;

/// Data at an offset, in the pieces in which the writer gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) length: u32,
}

impl Chunk {
    fn new(offset: u64, data: Bytes) -> Self {
        Self { offset, length: data.len() as u32, pieces: vec![data] }
    }

    /// Where it belongs.
    pub(crate) fn range(&self) -> Range<u64> {
        self.offset..self.end()
    }

    fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }

    fn overlaps(&self, range: &Range<u64>) -> bool {
        self.offset < range.end && range.start < self.end()
    }

    /// The part of it that is in `range`; `None` when there is none.
    fn part(&self, range: &Range<u64>) -> Option<Self> {
        let (start, end) = (self.offset.max(range.start), self.end().min(range.end));
        if start >= end {
            return None;
        }
        let mut at = self.offset;
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            let (from, to) = (start.max(at), end.min(at + piece.len() as u64));
            if from < to {
                pieces.push(piece.slice((from - at) as usize..(to - at) as usize));
            }
            at += piece.len() as u64;
        }
        Some(Self { offset: start, length: (end - start) as u32, pieces })
    }

    /// What of it is not in `range`.
    fn outside(&self, range: &Range<u64>) -> impl Iterator<Item = Self> + use<> {
        [self.part(&(0..range.start)), self.part(&(range.end..u64::MAX))].into_iter().flatten()
    }
}

/// A WRITE to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) id: u64,
    pub(crate) chunk: Chunk,
    /// It must be on stable storage when it is answered: nothing else is pending, and a COMMIT would cost one more request.
    pub(crate) stable: bool,
}

/// The write verifier of the server: it changes when unstable data may have been lost.
pub(crate) type Verifier = [u8; 8];

/// The pending data of one open file.
#[derive(Debug)]
pub(crate) struct Writeback {
    write_bytes_max: u32,
    in_flight_max: usize,
    /// Not sent, in the order in which it must arrive where it overlaps.
    dirty: VecDeque<Chunk>,
    in_flight: BTreeMap<u64, Chunk>,
    next_id: u64,
    /// Written unstably, with the verifier that the server gave. It overlaps neither itself nor what is in flight: the
    /// server must not be sent again what has been written over since.
    uncommitted: BTreeMap<u64, Chunk>,
    verifier: Option<Verifier>,
    /// What a COMMIT under way covers; as `uncommitted`.
    committing: Option<BTreeMap<u64, Chunk>>,
    /// Bytes of all of the above.
    bytes: usize,
    error: Option<Error>,
}

impl Writeback {
    pub(crate) fn new(write_bytes_max: u32, in_flight_max: usize) -> Self {
        Self {
            write_bytes_max: write_bytes_max.max(1),
            in_flight_max: in_flight_max.max(1),
            dirty: VecDeque::new(),
            in_flight: BTreeMap::new(),
            next_id: 0,
            uncommitted: BTreeMap::new(),
            verifier: None,
            committing: None,
            bytes: 0,
            error: None,
        }
    }

    /// Takes data. What follows on the data taken last goes out in one WRITE with it.
    pub(crate) fn push(&mut self, mut offset: u64, mut data: Bytes) {
        self.bytes += data.len();
        while !data.is_empty() {
            let last = self.dirty.back_mut().filter(|last| last.end() == offset);
            let room = last.as_ref().map_or(0, |last| (self.write_bytes_max - last.length) as usize);
            let taken = match last {
                Some(last) if room > 0 => {
                    let piece = data.split_to(room.min(data.len()));
                    last.length += piece.len() as u32;
                    last.pieces.push(piece.clone());
                    piece.len()
                }
                _ => {
                    let piece = data.split_to(data.len().min(self.write_bytes_max as usize));
                    self.dirty.push_back(Chunk::new(offset, piece.clone()));
                    piece.len()
                }
            };
            offset += taken as u64;
        }
    }

    /// The next WRITE. Unless `all` is to go out, the last chunk waits for what may follow it.
    pub(crate) fn next_write(&mut self, all: bool) -> Option<Write> {
        let first = self.dirty.front()?;
        let complete = all || self.dirty.len() > 1 || first.length == self.write_bytes_max;
        let range = first.range();
        if !complete
            || self.in_flight.len() >= self.in_flight_max
            || self.in_flight.values().any(|other| other.overlaps(&range))
        {
            return None;
        }
        let chunk = self.dirty.pop_front()?;
        let stable = all && self.dirty.is_empty() && self.in_flight.is_empty() && self.uncommitted.is_empty();
        let id = self.next_id;
        self.next_id += 1;
        self.forget_uncommitted(&chunk.range());
        self.in_flight.insert(id, chunk.clone());
        Some(Write { id, chunk, stable })
    }

    /// A WRITE was answered: `count` bytes were taken, on stable storage if `committed`.
    pub(crate) fn written(&mut self, id: u64, count: u32, committed: bool, verifier: Verifier) {
        let Some(chunk) = self.in_flight.remove(&id) else { return };
        let count = count.min(chunk.length);
        if self.verifier.is_some_and(|known| known != verifier) {
            self.rewrite_uncommitted();
        }
        self.verifier = Some(verifier);
        let end = chunk.offset + u64::from(count);
        if let Some(rest) = chunk.part(&(end..u64::MAX)) {
            self.dirty.push_front(rest);
        }
        if committed {
            self.bytes -= count as usize;
        } else if let Some(written) = chunk.part(&(0..end)) {
            self.uncommitted.insert(written.offset, written);
        }
    }

    /// A WRITE failed for good: its data are lost, and the next sync says so.
    pub(crate) fn failed(&mut self, id: u64, error: Error) {
        if let Some(chunk) = self.in_flight.remove(&id) {
            self.bytes -= chunk.length as usize;
        }
        self.error.get_or_insert(error);
    }

    /// Begins a COMMIT of everything that is written and not committed. False when there is nothing, or one is under way.
    pub(crate) fn begin_commit(&mut self) -> bool {
        if self.committing.is_some() || self.uncommitted.is_empty() {
            return false;
        }
        self.committing = Some(std::mem::take(&mut self.uncommitted));
        true
    }

    /// The COMMIT was answered.
    pub(crate) fn committed(&mut self, verifier: Verifier) {
        if self.committing.is_none() {
            return;
        }
        if self.verifier != Some(verifier) {
            self.verifier = Some(verifier);
            self.rewrite_uncommitted();
            return;
        }
        self.end_commit();
    }

    /// The COMMIT failed for good.
    pub(crate) fn commit_failed(&mut self, error: Error) {
        self.end_commit();
        self.error.get_or_insert(error);
    }

    /// The data of `range` are about to be written by somebody else, after all that was taken here: what is not under way is
    /// not sent any more. True when there was anything.
    pub(crate) fn supersede(&mut self, range: &Range<u64>) -> bool {
        let before = self.bytes;
        let (kept, bytes) = (VecDeque::with_capacity(self.dirty.len()), &mut self.bytes);
        for chunk in std::mem::replace(&mut self.dirty, kept) {
            match chunk.overlaps(range) {
                true => {
                    *bytes -= chunk.part(range).map_or(0, |part| part.length as usize);
                    self.dirty.extend(chunk.outside(range));
                }
                false => self.dirty.push_back(chunk),
            }
        }
        self.forget_uncommitted(range);
        self.bytes < before
    }

    /// True when data of `range` are under way.
    pub(crate) fn is_in_flight(&self, range: &Range<u64>) -> bool {
        self.in_flight.values().any(|chunk| chunk.overlaps(range))
    }

    /// Why data were lost since the last time it was asked.
    pub(crate) fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// True when there is an error to tell.
    pub(crate) fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// True when data of `range` are not at the server yet.
    pub(crate) fn is_pending(&self, range: &Range<u64>) -> bool {
        self.dirty.iter().chain(self.in_flight.values()).any(|chunk| chunk.overlaps(range))
    }

    /// True when there are data that wait or are under way.
    pub(crate) fn has_unwritten(&self) -> bool {
        !self.dirty.is_empty() || !self.in_flight.is_empty()
    }

    /// True when everything is on stable storage.
    pub(crate) fn is_clean(&self) -> bool {
        !self.has_unwritten() && self.uncommitted.is_empty() && self.committing.is_none()
    }

    /// Bytes of data held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that wait for a COMMIT, one under way included.
    pub(crate) fn uncommitted_bytes(&self) -> usize {
        let uncommitted = self.uncommitted.values().chain(self.committing.iter().flat_map(BTreeMap::values));
        uncommitted.map(|chunk| chunk.length as usize).sum()
    }

    /// The end of the data that are not at the server yet.
    pub(crate) fn unwritten_end(&self) -> Option<u64> {
        self.dirty.iter().chain(self.in_flight.values()).map(Chunk::end).max()
    }

    /// The server may have lost what it did not commit: it is sent again, ahead of what is new.
    fn rewrite_uncommitted(&mut self) {
        for chunks in [self.committing.take().unwrap_or_default(), std::mem::take(&mut self.uncommitted)] {
            chunks.into_values().rev().for_each(|chunk| self.dirty.push_front(chunk));
        }
    }

    fn end_commit(&mut self) {
        for chunk in self.committing.take().unwrap_or_default().into_values() {
            self.bytes -= chunk.length as usize;
        }
    }

    /// What was written of `range` before need not be committed any more: it is being written over.
    fn forget_uncommitted(&mut self, range: &Range<u64>) {
        for chunks in [Some(&mut self.uncommitted), self.committing.as_mut()].into_iter().flatten() {
            self.bytes -= cut(chunks, range);
        }
    }
}

/// Removes what is in `range` from chunks that do not overlap. Returns how many bytes that were.
fn cut(chunks: &mut BTreeMap<u64, Chunk>, range: &Range<u64>) -> usize {
    let before = chunks.range(..range.start).next_back().map(|(offset, _)| *offset);
    let within = chunks.range(range.start..range.end.max(range.start)).map(|(offset, _)| *offset);
    let offsets: Vec<u64> = before.into_iter().chain(within).collect();
    let mut bytes = 0;
    for offset in offsets {
        let Some(part) = chunks.get(&offset).and_then(|chunk| chunk.part(range)) else { continue };
        bytes += part.length as usize;
        let Some(chunk) = chunks.remove(&offset) else { continue };
        chunks.extend(chunk.outside(range).map(|kept| (kept.offset, kept)));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: Verifier = [1; 8];
    const V2: Verifier = [2; 8];

    fn data(length: usize) -> Bytes {
        (0..length).map(|i| i as u8).collect()
    }

    fn content(chunk: &Chunk) -> Vec<u8> {
        chunk.pieces.concat()
    }

    #[test]
    fn small_writes_that_follow_on_each_other_go_out_together() {
        let mut writeback = Writeback::new(10, 8);
        for index in 0..6 {
            writeback.push(index * 4, data(4));
        }
        let first = writeback.next_write(false).unwrap();
        let second = writeback.next_write(false).unwrap();
        assert_eq!((first.chunk.offset, first.chunk.length, first.stable), (0, 10, false));
        assert_eq!(content(&first.chunk), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]);
        assert_eq!((second.chunk.offset, second.chunk.length), (10, 10));
        assert_eq!(writeback.next_write(false), None, "the last one may still grow");
        assert_eq!(writeback.next_write(true).unwrap().chunk.length, 4);
        assert_eq!(writeback.bytes(), 24);
    }

    #[test]
    fn a_single_chunk_at_the_end_is_written_stably_and_needs_no_commit() {
        let mut writeback = Writeback::new(100, 8);
        writeback.push(0, data(50));
        let write = writeback.next_write(true).unwrap();
        assert!(write.stable);
        writeback.written(write.id, 50, true, V1);
        assert!(writeback.is_clean() && !writeback.begin_commit());
        assert_eq!(writeback.bytes(), 0);
    }

    #[test]
    fn overlapping_writes_are_never_under_way_together() {
        let mut writeback = Writeback::new(100, 8);
        writeback.push(0, data(50));
        writeback.push(40, data(50));
        writeback.push(200, data(1));
        let first = writeback.next_write(true).unwrap();
        assert_eq!(writeback.next_write(true), None);
        writeback.written(first.id, 50, false, V1);
        assert_eq!(writeback.next_write(true).unwrap().chunk.offset, 40);
        assert_eq!(writeback.next_write(true).unwrap().chunk.offset, 200);
    }

    #[test]
    fn a_bound_holds_for_writes_under_way() {
        let mut writeback = Writeback::new(1, 2);
        writeback.push(0, data(5));
        assert!(writeback.next_write(true).is_some() && writeback.next_write(true).is_some());
        assert_eq!(writeback.next_write(true), None);
    }

    #[test]
    fn what_a_short_write_left_is_sent_next() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(0, data(4));
        writeback.push(4, data(6));
        let write = writeback.next_write(true).unwrap();
        writeback.written(write.id, 5, false, V1);
        let rest = writeback.next_write(true).unwrap();
        assert_eq!((rest.chunk.offset, content(&rest.chunk)), (5, vec![1, 2, 3, 4, 5]));
        assert_eq!(writeback.uncommitted_bytes(), 5);
    }

    #[test]
    fn a_changed_verifier_at_commit_sends_everything_again() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(0, data(20));
        while let Some(write) = writeback.next_write(true) {
            writeback.written(write.id, 10, false, V1);
        }
        assert!(writeback.begin_commit() && !writeback.begin_commit());
        writeback.committed(V2);
        assert!(!writeback.is_clean());
        let again = writeback.next_write(true).unwrap();
        assert_eq!((again.chunk.offset, again.chunk.length), (0, 10));
        writeback.written(again.id, 10, false, V2);
        let again = writeback.next_write(true).unwrap();
        writeback.written(again.id, 10, false, V2);
        assert!(writeback.begin_commit());
        writeback.committed(V2);
        assert!(writeback.is_clean());
        assert_eq!(writeback.bytes(), 0);
    }

    #[test]
    fn a_changed_verifier_at_a_write_sends_what_was_not_committed_again() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(0, data(20));
        let (first, second) = (writeback.next_write(true).unwrap(), writeback.next_write(true).unwrap());
        writeback.written(first.id, 10, false, V1);
        writeback.written(second.id, 10, false, V2);
        assert_eq!(writeback.next_write(true).unwrap().chunk.offset, 0);
    }

    #[test]
    fn what_was_written_over_is_never_sent_again() {
        // The answer that tells of the new verifier is that of the newer data themselves, or of others.
        for newer_tells in [true, false] {
            let mut writeback = Writeback::new(100, 8);
            writeback.push(0, Bytes::from_static(&[b'a'; 30]));
            let old = writeback.next_write(true).unwrap();
            writeback.written(old.id, 30, false, V1);
            writeback.push(10, Bytes::from_static(&[b'b'; 10]));
            writeback.push(50, data(5));
            let (newer, other) = (writeback.next_write(true).unwrap(), writeback.next_write(true).unwrap());
            let answers = if newer_tells { [&newer, &other] } else { [&other, &newer] };
            for write in answers {
                writeback.written(write.id, write.chunk.length, false, V2);
            }
            let again = [writeback.next_write(true).unwrap(), writeback.next_write(true).unwrap()];
            assert_eq!(writeback.next_write(true), None);
            assert_eq!(again.clone().map(|write| write.chunk.range()), [0..10, 20..30]);
            assert!(again.iter().all(|write| content(&write.chunk) == [b'a'; 10]));
            assert_eq!(writeback.bytes(), 35, "each byte counts once");
        }
    }

    #[test]
    fn what_is_written_over_during_its_commit_is_not_sent_again() {
        let mut writeback = Writeback::new(100, 8);
        writeback.push(0, data(30));
        let old = writeback.next_write(true).unwrap();
        writeback.written(old.id, 30, false, V1);
        assert!(writeback.begin_commit());
        writeback.push(0, data(20));
        let newer = writeback.next_write(true).unwrap();
        writeback.committed(V2);
        assert_eq!(writeback.next_write(true).unwrap().chunk.range(), 20..30);
        writeback.written(newer.id, 20, false, V2);
        assert_eq!(writeback.bytes(), 30);
    }

    #[test]
    fn what_somebody_else_writes_over_is_not_sent_wherever_it_is() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(0, data(10));
        let first = writeback.next_write(true).unwrap();
        writeback.written(first.id, 10, false, V1);
        assert!(writeback.begin_commit());
        writeback.push(20, data(10));
        let second = writeback.next_write(true).unwrap();
        writeback.written(second.id, 10, false, V1);
        writeback.push(40, data(10));
        let third = writeback.next_write(true).unwrap();
        writeback.push(60, data(20));
        assert!(writeback.supersede(&(5..75)) && writeback.is_in_flight(&(5..75)));
        writeback.written(third.id, 10, false, V2);
        assert!(writeback.supersede(&(5..75)) && !writeback.is_in_flight(&(5..75)));
        assert!(!writeback.supersede(&(5..75)), "nothing is left of it");
        let rest = [writeback.next_write(true).unwrap(), writeback.next_write(true).unwrap()];
        assert_eq!(rest.map(|write| write.chunk.range()), [0..5, 75..80]);
        assert_eq!((writeback.next_write(true), writeback.bytes()), (None, 10));
    }

    #[test]
    fn data_written_during_a_commit_stay_uncommitted() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(0, data(10));
        let write = writeback.next_write(false).unwrap();
        writeback.written(write.id, 10, false, V1);
        assert!(writeback.begin_commit());
        writeback.push(10, data(10));
        let write = writeback.next_write(false).unwrap();
        writeback.written(write.id, 10, false, V1);
        writeback.committed(V1);
        assert_eq!((writeback.uncommitted_bytes(), writeback.bytes()), (10, 10));
    }

    #[test]
    fn an_error_is_told_once_and_its_data_are_gone() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(0, data(10));
        let write = writeback.next_write(true).unwrap();
        writeback.failed(write.id, Error::Revoked);
        assert!(matches!(writeback.take_error(), Some(Error::Revoked)));
        assert!(writeback.take_error().is_none());
        assert!(writeback.is_clean());
        assert_eq!(writeback.bytes(), 0);
    }

    #[test]
    fn pending_ranges_and_their_end_are_known() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(100, data(15));
        assert!(writeback.is_pending(&(114..120)) && !writeback.is_pending(&(115..120)));
        assert_eq!(writeback.unwritten_end(), Some(115));
    }
}
