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

    /// The chunk without its first `count` bytes.
    fn without_first(mut self, count: u32) -> Self {
        let mut left = count as usize;
        self.pieces.retain_mut(|piece| {
            let cut = left.min(piece.len());
            left -= cut;
            *piece = piece.slice(cut..);
            !piece.is_empty()
        });
        Self { offset: self.offset + u64::from(count), length: self.length - count, pieces: self.pieces }
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
    /// Written unstably, with the verifier that the server gave.
    uncommitted: VecDeque<Chunk>,
    verifier: Option<Verifier>,
    /// How many of the first of `uncommitted` a COMMIT under way covers.
    committing: Option<usize>,
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
            uncommitted: VecDeque::new(),
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
        if count < chunk.length {
            self.dirty.push_front(chunk.clone().without_first(count));
        }
        if committed {
            self.bytes -= count as usize;
        } else if count > 0 {
            let mut taken = chunk;
            truncate(&mut taken, count);
            self.uncommitted.push_back(taken);
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
        self.committing = Some(self.uncommitted.len());
        true
    }

    /// The COMMIT was answered.
    pub(crate) fn committed(&mut self, verifier: Verifier) {
        let Some(count) = self.committing.take() else { return };
        if self.verifier != Some(verifier) {
            self.verifier = Some(verifier);
            self.rewrite_uncommitted();
            return;
        }
        for chunk in self.uncommitted.drain(..count.min(self.uncommitted.len())) {
            self.bytes -= chunk.length as usize;
        }
    }

    /// The COMMIT failed for good.
    pub(crate) fn commit_failed(&mut self, error: Error) {
        if let Some(count) = self.committing.take() {
            for chunk in self.uncommitted.drain(..count.min(self.uncommitted.len())) {
                self.bytes -= chunk.length as usize;
            }
        }
        self.error.get_or_insert(error);
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

    /// Bytes that wait for a COMMIT.
    pub(crate) fn uncommitted_bytes(&self) -> usize {
        self.uncommitted.iter().map(|chunk| chunk.length as usize).sum()
    }

    /// The end of the data that are not at the server yet.
    pub(crate) fn unwritten_end(&self) -> Option<u64> {
        self.dirty.iter().chain(self.in_flight.values()).map(Chunk::end).max()
    }

    /// The server may have lost what it did not commit: it is sent again, in the order of before, ahead of what is new.
    fn rewrite_uncommitted(&mut self) {
        self.committing = None;
        while let Some(chunk) = self.uncommitted.pop_back() {
            self.dirty.push_front(chunk);
        }
    }
}

fn truncate(chunk: &mut Chunk, length: u32) {
    let mut left = length as usize;
    chunk.pieces.retain_mut(|piece| {
        let kept = left.min(piece.len());
        left -= kept;
        piece.truncate(kept);
        kept > 0
    });
    chunk.length = length;
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
