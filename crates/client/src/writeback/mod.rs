//! Data of a file that were taken and the server does not have on stable storage yet, through whichever open
//! file they were written. Pure: it says what to send next and is told what came of it.

mod chunk;
mod extents;

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

pub(crate) use self::chunk::Chunk;
use self::extents::{Extents, Taken};
use crate::error::Error;

/// How many of the oldest chunks are looked at for one that may be sent: those before it wait for WRITEs of
/// the same bytes.
const CANDIDATES_MAX: usize = 64;
/// Held data go out when there are so many times the largest WRITE of them.
const HELD_WRITES_MAX: usize = 4;

/// A WRITE to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) id: u64,
    /// The open file that it is sent by, and whose error it is when it fails.
    pub(crate) writer: u64,
    pub(crate) chunk: Chunk,
    /// It must be on stable storage when it is answered: nothing else is pending, and a COMMIT would cost one
    /// more request.
    pub(crate) stable: bool,
}

/// A COMMIT to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) id: u64,
    /// Where the data are that it makes stable.
    pub(crate) range: Range<u64>,
}

/// Which data may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urge {
    /// Large WRITEs alone: nobody else can see the file, and small data may be written again.
    Held,
    /// All but what may still grow into a larger WRITE.
    Settled,
    /// Everything: somebody waits for it.
    All,
}

/// The write verifier of the server: it changes when unstable data may have been lost.
pub(crate) type Verifier = [u8; 8];

/// A chunk under way.
#[derive(Debug)]
struct InFlight {
    taken: Taken,
    /// As [`Taken::since`], of the bytes that are not stable yet and whose place at the server it takes as
    /// well.
    unstable_since: u64,
}

/// The pending data of one file.
#[derive(Debug)]
pub(crate) struct Writeback {
    write_bytes_max: u32,
    in_flight_max: usize,
    /// Not sent.
    dirty: Extents,
    /// How often data were taken.
    taken: u64,
    /// Where the data end that were taken last.
    last_end: u64,
    in_flight: BTreeMap<u64, InFlight>,
    /// Written unstably, with the verifier that the server gave. It overlaps nothing that is in flight: the
    /// server must not be sent again what has been written over since.
    uncommitted: Extents,
    /// Somebody waits until what was taken before this is stable: what is taken later must not put that off
    /// for ever.
    awaited: u64,
    verifier: Option<Verifier>,
    /// The same, each part under a COMMIT that is under way.
    committing: BTreeMap<u64, Extents>,
    next_id: u64,
    /// Bytes of all of the above.
    bytes: usize,
    /// Why data were lost, by the open file that they were written through.
    errors: BTreeMap<u64, Error>,
}

impl Writeback {
    pub(crate) fn new(write_bytes_max: u32, in_flight_max: usize) -> Self {
        Self {
            write_bytes_max: write_bytes_max.max(1),
            in_flight_max: in_flight_max.max(1),
            dirty: Extents::default(),
            taken: 0,
            last_end: 0,
            in_flight: BTreeMap::new(),
            uncommitted: Extents::default(),
            awaited: 0,
            verifier: None,
            committing: BTreeMap::new(),
            next_id: 0,
            bytes: 0,
            errors: BTreeMap::new(),
        }
    }

    /// Takes data that were written through that open file, in the place of what waits for the same bytes.
    pub(crate) fn push(&mut self, writer: u64, offset: u64, data: Bytes) {
        let before = self.dirty.bytes();
        self.last_end = offset + data.len() as u64;
        self.dirty.write(self.taken, writer, offset, data, self.write_bytes_max);
        self.taken += 1;
        self.bytes = self.bytes + self.dirty.bytes() - before;
    }

    /// The next WRITE.
    pub(crate) fn next_write(&mut self, urge: Urge) -> Option<Write> {
        if self.in_flight.len() >= self.in_flight_max {
            return None;
        }
        let offset = self
            .dirty
            .oldest_first()
            .take(CANDIDATES_MAX)
            .find(|taken| self.may_go(taken, urge))?
            .chunk
            .offset;
        let taken = self.dirty.take(offset)?;
        let stable = urge == Urge::All && !self.has_unwritten() && !self.has_uncommitted();
        let id = self.new_id();
        let (writer, chunk) = (taken.writer, taken.chunk.clone());
        let unstable_since = self.forget_uncommitted(&chunk.range()).unwrap_or(u64::MAX).min(taken.since);
        self.in_flight.insert(id, InFlight { taken, unstable_since });
        Some(Write { id, writer, chunk, stable })
    }

    fn may_go(&self, taken: &Taken, urge: Urge) -> bool {
        let chunk = &taken.chunk;
        let full = chunk.length == self.write_bytes_max;
        let wanted = match urge {
            Urge::Held => full || self.dirty.bytes() >= HELD_WRITES_MAX * self.write_bytes_max as usize,
            Urge::Settled => full || chunk.end() != self.last_end,
            Urge::All => true,
        };
        let range = chunk.range();
        let keeps_waiting = taken.since >= self.awaited
            && self.unstable().any(|extents| extents.oldest_in(&range).is_some_and(|it| it < self.awaited));
        // What is written twice must arrive in that order.
        wanted && !keeps_waiting && !self.is_in_flight(&range)
    }

    /// Everything that is written and not known to be stable.
    fn unstable(&self) -> impl Iterator<Item = &Extents> {
        self.committing.values().chain([&self.uncommitted])
    }

    /// Whether somebody waits until what was taken before `mark` is stable; 0 for nobody.
    pub(crate) fn set_awaited(&mut self, mark: u64) {
        self.awaited = mark;
    }

    /// See [`Writeback::set_awaited`].
    pub(crate) fn awaited(&self) -> u64 {
        self.awaited
    }

    /// A WRITE was answered: `count` bytes were taken, on stable storage if `committed`.
    pub(crate) fn written(&mut self, id: u64, count: u32, committed: bool, verifier: Verifier) {
        let Some(InFlight { taken, unstable_since }) = self.in_flight.remove(&id) else { return };
        self.meet(verifier);
        let taken = Taken { since: unstable_since, ..taken };
        if let Some(rest) = taken.chunk.behind(count) {
            self.restore(&taken.with(rest));
        }
        let Some(done) = taken.chunk.first(count) else { return };
        if committed {
            self.bytes -= done.length as usize;
        } else {
            self.uncommitted.insert(taken.with(done));
        }
    }

    /// A WRITE failed for good: its data are lost, and the next sync says so.
    pub(crate) fn failed(&mut self, id: u64, error: Error) {
        if let Some(InFlight { taken, .. }) = self.in_flight.remove(&id) {
            self.bytes -= taken.chunk.length as usize;
            self.errors.entry(taken.writer).or_insert(error);
        }
    }

    /// Begins a COMMIT of what is written and under no other. `None` when there is nothing.
    pub(crate) fn begin_commit(&mut self) -> Option<Commit> {
        let range = self.uncommitted.span()?;
        let id = self.new_id();
        self.committing.insert(id, std::mem::take(&mut self.uncommitted));
        Some(Commit { id, range })
    }

    /// As [`Writeback::begin_commit`], when there is anything among it that was taken before `mark`.
    pub(crate) fn begin_commit_to(&mut self, mark: u64) -> Option<Commit> {
        let wanted = self.is_written_to(mark) && is_older(&self.uncommitted, mark);
        if wanted { self.begin_commit() } else { None }
    }

    /// A COMMIT was answered.
    pub(crate) fn committed(&mut self, id: u64, verifier: Verifier) {
        if !self.committing.contains_key(&id) {
            // The server has restarted meanwhile, and all of it is sent again.
            return;
        }
        self.meet(verifier);
        self.end_commit(id);
    }

    /// A COMMIT failed for good.
    pub(crate) fn commit_failed(&mut self, id: u64, error: &Error) {
        for writer in self.committing.get(&id).into_iter().flat_map(Extents::writers) {
            self.errors.entry(writer).or_insert_with(|| error.clone());
        }
        self.end_commit(id);
    }

    fn is_in_flight(&self, range: &Range<u64>) -> bool {
        self.in_flight.values().any(|under_way| under_way.taken.chunk.overlaps(range))
    }

    /// Why data of that open file were lost since the last time it was asked.
    pub(crate) fn take_error(&mut self, writer: u64) -> Option<Error> {
        self.errors.remove(&writer)
    }

    /// As [`Writeback::take_error`], of any open file.
    pub(crate) fn take_any_error(&mut self) -> Option<Error> {
        std::mem::take(&mut self.errors).into_values().next()
    }

    /// True when there is an error to tell to that open file.
    pub(crate) fn has_error(&self, writer: u64) -> bool {
        self.errors.contains_key(&writer)
    }

    /// The data of `range`, when all of it waits or is under way.
    pub(crate) fn read(&self, range: &Range<u64>) -> Option<Bytes> {
        if range.is_empty() {
            return None;
        }
        let mut under_way: Vec<_> = self
            .in_flight
            .values()
            .map(|under_way| &under_way.taken.chunk)
            .filter(|chunk| chunk.overlaps(range))
            .collect();
        under_way.sort_unstable_by_key(|chunk| chunk.offset);
        for gap in self.dirty.gaps(range) {
            let mut at = gap.start;
            for chunk in under_way.iter().filter(|chunk| chunk.overlaps(&gap)) {
                if chunk.offset > at {
                    return None;
                }
                at = chunk.end();
            }
            if at < gap.end {
                return None;
            }
        }
        let mut data = BytesMut::zeroed((range.end - range.start) as usize);
        // What waits is newer.
        under_way.iter().for_each(|chunk| chunk.copy(range, &mut data));
        self.dirty.copy(range, &mut data);
        Some(data.freeze())
    }

    /// What was not sent yet is not sent any more; sync and close tell.
    pub(crate) fn lose_unsent(&mut self, error: &Error) {
        let lost = std::mem::take(&mut self.dirty);
        self.bytes -= lost.bytes();
        for writer in lost.writers() {
            self.errors.entry(writer).or_insert_with(|| error.clone());
        }
    }

    /// True when data of `range` are not at the server yet.
    pub(crate) fn is_pending(&self, range: &Range<u64>) -> bool {
        self.dirty.overlaps(range) || self.is_in_flight(range)
    }

    /// True when there are data that wait or are under way.
    pub(crate) fn has_unwritten(&self) -> bool {
        !self.dirty.is_empty() || !self.in_flight.is_empty()
    }

    /// True when everything is on stable storage.
    pub(crate) fn is_clean(&self) -> bool {
        !self.has_unwritten() && !self.has_uncommitted()
    }

    /// True when data are under way to stable storage.
    pub(crate) fn is_moving(&self) -> bool {
        !self.in_flight.is_empty() || self.has_uncommitted()
    }

    /// Bytes of data held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that are written and under no COMMIT.
    pub(crate) fn uncommitted_bytes(&self) -> usize {
        self.uncommitted.bytes()
    }

    /// COMMITs under way.
    pub(crate) fn commits(&self) -> usize {
        self.committing.len()
    }

    /// The end of the data that are not at the server yet.
    pub(crate) fn unwritten_end(&self) -> Option<u64> {
        let in_flight = self.in_flight.values().map(|under_way| under_way.taken.chunk.end()).max();
        self.dirty.end().max(in_flight)
    }

    /// What was taken so far, for [`Writeback::is_stable_to`].
    pub(crate) fn mark(&self) -> u64 {
        self.taken
    }

    /// True when everything is on stable storage that was taken before `mark`.
    pub(crate) fn is_stable_to(&self, mark: u64) -> bool {
        self.is_written_to(mark)
            && self.in_flight.values().all(|under_way| under_way.unstable_since >= mark)
            && !self.unstable().any(|extents| is_older(extents, mark))
    }

    /// True when everything is at the server that was taken before `mark`.
    pub(crate) fn is_written_to(&self, mark: u64) -> bool {
        !is_older(&self.dirty, mark) && self.in_flight.values().all(|under_way| under_way.taken.since >= mark)
    }

    fn has_uncommitted(&self) -> bool {
        !self.uncommitted.is_empty() || !self.committing.is_empty()
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// When the verifier is another than before, the server may have lost what it did not commit: it is sent
    /// again.
    fn meet(&mut self, verifier: Verifier) {
        if self.verifier.replace(verifier).is_none_or(|known| known == verifier) {
            return;
        }
        let uncommitted = std::mem::take(&mut self.uncommitted);
        for extents in std::mem::take(&mut self.committing).into_values().chain([uncommitted]) {
            extents.into_chunks().for_each(|taken| self.restore(&taken));
        }
    }

    /// Data are to be sent again, but for bytes that were taken anew meanwhile.
    fn restore(&mut self, taken: &Taken) {
        self.bytes -= self.dirty.restore(taken);
    }

    fn end_commit(&mut self, id: u64) {
        self.bytes -= self.committing.remove(&id).unwrap_or_default().bytes();
    }

    /// What was written of `range` before need not be committed any more: it is being written over. Returns
    /// how old it was.
    fn forget_uncommitted(&mut self, range: &Range<u64>) -> Option<u64> {
        let oldest = self.unstable().filter_map(|extents| extents.oldest_in(range)).min();
        for extents in self.committing.values_mut().chain([&mut self.uncommitted]) {
            self.bytes -= extents.remove(range);
        }
        oldest
    }
}

/// True when there are data that were taken before `mark`.
fn is_older(extents: &Extents, mark: u64) -> bool {
    extents.oldest_since().is_some_and(|since| since < mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Open files.
    const A: u64 = 1;
    const B: u64 = 2;
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
            writeback.push(A, index * 4, data(4));
        }
        let first = writeback.next_write(Urge::Settled).unwrap();
        let second = writeback.next_write(Urge::Settled).unwrap();
        assert_eq!((first.chunk.offset, first.chunk.length, first.stable), (0, 10, false));
        assert_eq!(content(&first.chunk), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]);
        assert_eq!((second.chunk.offset, second.chunk.length), (10, 10));
        assert_eq!(writeback.next_write(Urge::Settled), None, "the last one may still grow");
        assert_eq!(writeback.next_write(Urge::All).unwrap().chunk.length, 4);
        assert_eq!(writeback.bytes(), 24);
    }

    #[test]
    fn a_single_chunk_at_the_end_is_written_stably_and_needs_no_commit() {
        let mut writeback = Writeback::new(100, 8);
        writeback.push(A, 0, data(50));
        let write = writeback.next_write(Urge::All).unwrap();
        assert!(write.stable);
        writeback.written(write.id, 50, true, V1);
        assert!(writeback.is_clean() && writeback.begin_commit().is_none());
        assert_eq!(writeback.bytes(), 0);
    }

    #[test]
    fn overlapping_writes_are_never_under_way_together() {
        let mut writeback = Writeback::new(100, 8);
        writeback.push(A, 0, data(50));
        let first = writeback.next_write(Urge::All).unwrap();
        writeback.push(A, 40, data(50));
        writeback.push(A, 200, data(1));
        let other = writeback.next_write(Urge::All).unwrap();
        assert_eq!(other.chunk.offset, 200, "who has nothing in its way does not wait");
        assert_eq!(writeback.next_write(Urge::All), None);
        writeback.written(first.id, 50, false, V1);
        assert_eq!(writeback.next_write(Urge::All).unwrap().chunk.offset, 40);
    }

    #[test]
    fn a_bound_holds_for_writes_under_way() {
        let mut writeback = Writeback::new(1, 2);
        writeback.push(A, 0, data(5));
        assert!(writeback.next_write(Urge::All).is_some() && writeback.next_write(Urge::All).is_some());
        assert_eq!(writeback.next_write(Urge::All), None);
    }

    #[test]
    fn rest_of_a_short_write_is_sent_next() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(A, 0, data(4));
        writeback.push(A, 4, data(6));
        let write = writeback.next_write(Urge::All).unwrap();
        writeback.written(write.id, 5, false, V1);
        let rest = writeback.next_write(Urge::All).unwrap();
        assert_eq!((rest.chunk.offset, content(&rest.chunk)), (5, vec![1, 2, 3, 4, 5]));
        assert_eq!(writeback.uncommitted_bytes(), 5);
    }

    #[test]
    fn a_changed_verifier_at_commit_sends_everything_again() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(A, 0, data(20));
        while let Some(write) = writeback.next_write(Urge::All) {
            writeback.written(write.id, 10, false, V1);
        }
        let commit = writeback.begin_commit().unwrap();
        assert_eq!((commit.range.clone(), writeback.begin_commit()), (0..20, None));
        writeback.committed(commit.id, V2);
        assert!(!writeback.is_clean());
        let again = writeback.next_write(Urge::All).unwrap();
        assert_eq!((again.chunk.offset, again.chunk.length), (0, 10));
        writeback.written(again.id, 10, false, V2);
        let again = writeback.next_write(Urge::All).unwrap();
        writeback.written(again.id, 10, false, V2);
        let commit = writeback.begin_commit().unwrap();
        writeback.committed(commit.id, V2);
        assert!(writeback.is_clean());
        assert_eq!(writeback.bytes(), 0);
    }

    #[test]
    fn a_changed_verifier_at_a_write_sends_what_was_not_committed_again() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(A, 0, data(20));
        let (first, second) =
            (writeback.next_write(Urge::All).unwrap(), writeback.next_write(Urge::All).unwrap());
        writeback.written(first.id, 10, false, V1);
        writeback.written(second.id, 10, false, V2);
        assert_eq!(writeback.next_write(Urge::All).unwrap().chunk.offset, 0);
    }

    #[test]
    fn overwritten_data_are_never_resent() {
        // The answer that tells of the new verifier is that of the newer data themselves, or of others.
        for newer_tells in [true, false] {
            let mut writeback = Writeback::new(100, 8);
            writeback.push(A, 0, Bytes::from_static(&[b'a'; 30]));
            let old = writeback.next_write(Urge::All).unwrap();
            writeback.written(old.id, 30, false, V1);
            writeback.push(A, 10, Bytes::from_static(&[b'b'; 10]));
            writeback.push(A, 50, data(5));
            let (newer, other) =
                (writeback.next_write(Urge::All).unwrap(), writeback.next_write(Urge::All).unwrap());
            let answers = if newer_tells { [&newer, &other] } else { [&other, &newer] };
            for write in answers {
                writeback.written(write.id, write.chunk.length, false, V2);
            }
            let again = [writeback.next_write(Urge::All).unwrap(), writeback.next_write(Urge::All).unwrap()];
            assert_eq!(writeback.next_write(Urge::All), None);
            assert_eq!(again.clone().map(|write| write.chunk.range()), [0..10, 20..30]);
            assert!(again.iter().all(|write| content(&write.chunk) == [b'a'; 10]));
            assert_eq!(writeback.bytes(), 35, "each byte counts once");
        }
    }

    #[test]
    fn data_overwritten_during_their_commit_are_not_resent() {
        let mut writeback = Writeback::new(100, 8);
        writeback.push(A, 0, data(30));
        let old = writeback.next_write(Urge::All).unwrap();
        writeback.written(old.id, 30, false, V1);
        let commit = writeback.begin_commit().unwrap();
        writeback.push(A, 0, data(20));
        let newer = writeback.next_write(Urge::All).unwrap();
        writeback.committed(commit.id, V2);
        assert_eq!(writeback.next_write(Urge::All).unwrap().chunk.range(), 20..30);
        writeback.written(newer.id, 20, false, V2);
        assert_eq!(writeback.bytes(), 30);
    }

    #[test]
    fn overwrite_through_another_open_file_keeps_owners_apart() {
        let mut writeback = Writeback::new(100, 8);
        writeback.push(A, 0, data(30));
        writeback.push(B, 10, Bytes::from_static(&[b'b'; 10]));
        let mut writes = Vec::new();
        while let Some(write) = writeback.next_write(Urge::All) {
            writes.push(write);
        }
        let told: Vec<_> = writes.iter().map(|write| (write.writer, write.chunk.range())).collect();
        assert_eq!(told, [(A, 0..10), (B, 10..20), (A, 20..30)]);
        writeback.written(writes[0].id, 10, false, V1);
        writeback.written(writes[2].id, 10, false, V1);
        writeback.failed(writes[1].id, Error::Revoked);
        assert!(writeback.has_error(B) && !writeback.has_error(A) && writeback.take_error(A).is_none());
        let commit = writeback.begin_commit().unwrap();
        writeback.commit_failed(commit.id, &Error::Locked);
        assert!(matches!(writeback.take_error(A), Some(Error::Locked)));
        assert!(matches!(writeback.take_error(B), Some(Error::Revoked)));
        assert_eq!((writeback.is_clean(), writeback.bytes()), (true, 0));
    }

    #[test]
    fn waiting_for_overwritten_data_is_waiting_for_what_replaced_them() {
        let mut writeback = Writeback::new(100, 8);
        writeback.push(A, 0, data(30));
        let mark = writeback.mark();
        writeback.push(B, 0, data(30));
        assert!(!writeback.is_written_to(mark), "the server has neither");
        let first = writeback.next_write(Urge::All).unwrap();
        writeback.push(A, 0, data(30));
        writeback.written(first.id, 30, false, V1);
        assert!(writeback.is_written_to(mark) && !writeback.is_stable_to(mark));
        let second = writeback.next_write(Urge::All).unwrap();
        assert!(writeback.is_written_to(mark), "the server has what was there at the mark");
        assert!(writeback.begin_commit().is_none(), "and nobody has it made stable");
        assert!(!writeback.is_stable_to(mark));
        writeback.written(second.id, 30, false, V1);
        let commit = writeback.begin_commit().unwrap();
        assert!(!writeback.is_stable_to(mark));
        writeback.committed(commit.id, V1);
        assert!(writeback.is_stable_to(mark));
    }

    #[test]
    fn awaited_data_become_stable_before_an_overwrite() {
        let mut writeback = Writeback::new(100, 8);
        writeback.push(A, 0, data(30));
        let first = writeback.next_write(Urge::All).unwrap();
        writeback.written(first.id, 30, false, V1);
        writeback.set_awaited(writeback.mark());
        writeback.push(A, 20, data(30));
        writeback.push(A, 200, data(1));
        assert_eq!(writeback.next_write(Urge::All).unwrap().chunk.offset, 200, "nothing of it is awaited");
        assert_eq!(writeback.next_write(Urge::All), None);
        let commit = writeback.begin_commit_to(writeback.awaited()).unwrap();
        assert_eq!(writeback.next_write(Urge::All), None);
        writeback.committed(commit.id, V1);
        assert_eq!(writeback.next_write(Urge::All).unwrap().chunk.offset, 20);
    }

    #[test]
    fn data_written_during_a_commit_stay_uncommitted() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(A, 0, data(10));
        let write = writeback.next_write(Urge::Settled).unwrap();
        writeback.written(write.id, 10, false, V1);
        let commit = writeback.begin_commit().unwrap();
        writeback.push(A, 10, data(10));
        let write = writeback.next_write(Urge::Settled).unwrap();
        writeback.written(write.id, 10, false, V1);
        writeback.committed(commit.id, V1);
        assert_eq!((writeback.uncommitted_bytes(), writeback.bytes()), (10, 10));
    }

    #[test]
    fn commits_under_way_together_cover_each_its_own_part() {
        let mut writeback = Writeback::new(10, 8);
        let mut commits = Vec::new();
        for part in 0..3 {
            writeback.push(A, part * 10, data(10));
            let write = writeback.next_write(Urge::Settled).unwrap();
            writeback.written(write.id, 10, false, V1);
            commits.push(writeback.begin_commit().unwrap());
        }
        assert_eq!((commits[1].range.clone(), writeback.commits()), (10..20, 3));
        writeback.committed(commits[1].id, V1);
        assert_eq!(writeback.bytes(), 20);
        writeback.committed(commits[2].id, V2);
        assert_eq!(
            (writeback.commits(), writeback.bytes()),
            (0, 20),
            "the first and the last are sent again"
        );
        writeback.committed(commits[0].id, V1);
        assert_eq!(writeback.next_write(Urge::All).unwrap().chunk.offset, 0);
        assert_eq!(writeback.next_write(Urge::All).unwrap().chunk.offset, 20);
    }

    #[test]
    fn resent_data_never_overwrite_newer_data() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(A, 0, data(10));
        let old = writeback.next_write(Urge::All).unwrap();
        writeback.written(old.id, 10, false, V1);
        writeback.push(A, 2, Bytes::from_static(b"NN"));
        let newer = writeback.next_write(Urge::All).unwrap();
        writeback.push(A, 8, Bytes::from_static(b"MM"));
        writeback.written(newer.id, 2, false, V2);
        let mut sent = Vec::new();
        while let Some(write) = writeback.next_write(Urge::All) {
            sent.push((write.chunk.offset, content(&write.chunk)));
        }
        sent.sort();
        assert_eq!(sent, [(0, vec![0, 1]), (4, vec![4, 5, 6, 7]), (8, b"MM".to_vec())]);
        assert_eq!(writeback.bytes(), 10);
    }

    #[test]
    fn held_data_go_out_in_large_writes_or_when_there_are_many() {
        let mut writeback = Writeback::new(10, 8);
        for _ in 0..3 {
            writeback.push(A, 5, data(4));
            writeback.push(A, 50, data(4));
        }
        assert_eq!((writeback.next_write(Urge::Held), writeback.bytes()), (None, 8));
        writeback.push(A, 100, data(10));
        assert_eq!(writeback.next_write(Urge::Held).unwrap().chunk.offset, 100);
        for place in 10..18 {
            writeback.push(A, place * 100, data(4));
        }
        assert_eq!(writeback.next_write(Urge::Held).unwrap().chunk.offset, 5, "the oldest first");
        assert_eq!(writeback.next_write(Urge::Held), None);
    }

    #[test]
    fn mark_is_passed_when_everything_before_it_is_stable() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(A, 0, data(10));
        let mark = writeback.mark();
        writeback.push(A, 10, data(10));
        let (first, _) = (writeback.next_write(Urge::All).unwrap(), writeback.next_write(Urge::All).unwrap());
        assert!(!writeback.is_written_to(mark));
        writeback.written(first.id, 10, false, V1);
        assert!(writeback.is_written_to(mark) && !writeback.is_stable_to(mark));
        let commit = writeback.begin_commit().unwrap();
        assert!(!writeback.is_stable_to(mark));
        writeback.committed(commit.id, V1);
        assert!(writeback.is_stable_to(mark) && !writeback.is_clean());
    }

    #[test]
    fn an_error_is_told_once_and_its_data_are_gone() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(A, 0, data(10));
        let write = writeback.next_write(Urge::All).unwrap();
        writeback.failed(write.id, Error::Revoked);
        assert!(matches!(writeback.take_error(A), Some(Error::Revoked)));
        assert!(writeback.take_error(A).is_none());
        assert!(writeback.is_clean());
        assert_eq!(writeback.bytes(), 0);
    }

    #[test]
    fn dirty_data_serve_reads_that_they_cover() {
        let mut writeback = Writeback::new(8, 8);
        writeback.push(A, 0, Bytes::from_static(b"aaaaaaaabbbb"));
        assert_eq!(writeback.next_write(Urge::All).unwrap().chunk.range(), 0..8);
        writeback.push(B, 6, Bytes::from_static(b"CC"));
        writeback.push(A, 20, Bytes::from_static(b"z"));
        assert_eq!(writeback.read(&(0..12)).unwrap(), "aaaaaaCCbbbb");
        assert_eq!(writeback.read(&(5..9)).unwrap(), "aCCb");
        assert_eq!(writeback.read(&(20..21)).unwrap(), "z");
        for hole in [12..20, 11..13, 0..13, 19..21, 20..22, 4..4] {
            assert_eq!(writeback.read(&hole), None);
        }
    }

    #[test]
    fn lost_data_are_reported_to_their_writers() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(A, 0, data(10));
        let sent = writeback.next_write(Urge::All).unwrap();
        writeback.push(B, 20, data(5));
        writeback.lose_unsent(&Error::Revoked);
        assert!(writeback.has_error(B) && !writeback.has_error(A));
        assert_eq!((writeback.next_write(Urge::All), writeback.bytes()), (None, 10));
        writeback.written(sent.id, 10, true, V1);
        assert!(writeback.is_clean());
    }

    #[test]
    fn pending_ranges_and_their_end_are_known() {
        let mut writeback = Writeback::new(10, 8);
        writeback.push(A, 100, data(15));
        assert!(writeback.is_pending(&(114..120)) && !writeback.is_pending(&(115..120)));
        assert_eq!(writeback.unwritten_end(), Some(115));
    }
}
