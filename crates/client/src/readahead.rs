//! Decides what to fetch ahead of a reader. Pure: it sees offsets, and whether the reader had to wait.

use std::ops::Range;

/// The stream of reads of one open file.
///
/// Nothing is fetched ahead until two reads follow on each other, so that readers of random places cause no
/// waste. From then on the window doubles whenever the reader had to wait, up to a bound: as large as the
/// path needs and no larger.
#[derive(Debug)]
pub(crate) struct Readahead {
    /// Where the next read starts if the reader is sequential.
    next: u64,
    /// How many reads have followed on each other.
    streak: u32,
    /// How far ahead of the reader data are fetched; 0 before a stream is recognised.
    window: u64,
    /// Where the data that were asked for end.
    fetched_to: u64,
    window_max: u64,
    /// Fetches end at multiples of this.
    alignment: u64,
}

/// The first window, in reads of the size that the reader makes; a piece at least, or each piece would be
/// asked for when the one before it has come.
const FIRST_WINDOW_READS: u64 = 4;

impl Readahead {
    /// For fetches of `piece_bytes` each, at most `window_bytes_max` ahead; 0 never fetches ahead.
    pub(crate) fn new(piece_bytes: u32, window_bytes_max: usize) -> Self {
        Self {
            next: 0,
            streak: 0,
            window: 0,
            fetched_to: 0,
            window_max: window_bytes_max as u64,
            alignment: u64::from(piece_bytes.max(1)),
        }
    }

    /// The reader reads `range` of a file of `size` bytes. Returns what to fetch ahead of it, if anything.
    pub(crate) fn advance(&mut self, range: &Range<u64>, size: u64) -> Option<Range<u64>> {
        if self.window_max == 0 || range.is_empty() {
            return None;
        }
        if !self.follows(range) {
            *self = Self { window: 0, fetched_to: 0, streak: 0, ..*self };
            self.next = range.end;
            return None;
        }
        self.next = self.next.max(range.end);
        self.streak = self.streak.saturating_add(1);
        if self.streak < 2 {
            return None;
        }
        let read_bytes = range.end - range.start;
        if self.window == 0 {
            self.window = (read_bytes * FIRST_WINDOW_READS).max(self.alignment).min(self.window_max);
        }
        let from = self.fetched_to.max(self.next);
        // Half a window is fetched at a time: few large fetches instead of one for each read.
        if from.saturating_sub(self.next) > self.window / 2 || from >= size {
            return None;
        }
        let to = (self.next + self.window).next_multiple_of(self.alignment).min(size);
        if to <= from {
            return None;
        }
        self.fetched_to = to;
        Some(from..to)
    }

    /// The reader had to wait for data that a stream should have had ready.
    pub(crate) fn reader_waited(&mut self) {
        if self.window > 0 {
            self.window = (self.window * 2).min(self.window_max);
        }
    }

    /// Readers that share an open file come a little out of order; in a stream that is allowed within the
    /// window.
    fn follows(&self, range: &Range<u64>) -> bool {
        range.start == self.next
            || (self.window > 0
                && range.start <= self.next + self.window / 2
                && range.end + self.window / 2 >= self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;
    const SIZE: u64 = 1 << 40;

    fn readahead() -> Readahead {
        Readahead::new(64 * KIB as u32, 1 << 20)
    }

    fn read(readahead: &mut Readahead, offset_kib: u64, length_kib: u64) -> Option<Range<u64>> {
        readahead.advance(&(offset_kib * KIB..(offset_kib + length_kib) * KIB), SIZE)
    }

    #[test]
    fn readers_of_random_places_fetch_nothing_ahead() {
        let mut readahead = readahead();
        for offset in [0, 500, 100, 104, 900, 4, 300] {
            assert_eq!(read(&mut readahead, offset, 4), None);
            readahead.reader_waited();
        }
    }

    #[test]
    fn the_second_read_that_follows_starts_a_stream() {
        let mut readahead = readahead();
        assert_eq!(read(&mut readahead, 0, 32), None);
        assert_eq!(read(&mut readahead, 32, 32), Some(64 * KIB..192 * KIB));
        assert_eq!(read(&mut readahead, 64, 32), None, "more than half of the window is still ahead");
        assert_eq!(read(&mut readahead, 96, 32), Some(192 * KIB..256 * KIB));
    }

    #[test]
    fn the_window_doubles_while_the_reader_waits_and_never_beyond_its_bound() {
        let mut readahead = readahead();
        read(&mut readahead, 0, 64);
        let mut ahead = Vec::new();
        for offset in (64..8192).step_by(64) {
            if let Some(range) = read(&mut readahead, offset, 64) {
                ahead.push(range.end - (offset + 64) * KIB);
            }
            readahead.reader_waited();
        }
        assert!(ahead.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!(*ahead.last().unwrap(), 1 << 20);
    }

    #[test]
    fn a_reader_of_little_at_a_time_has_a_piece_ahead_and_then_two() {
        let mut readahead = readahead();
        read(&mut readahead, 0, 4);
        assert_eq!(read(&mut readahead, 4, 4), Some(8 * KIB..128 * KIB));
        readahead.reader_waited();
        let next = (8..128).step_by(4).find_map(|offset| read(&mut readahead, offset, 4));
        assert_eq!(next, Some(128 * KIB..192 * KIB), "half of the first piece is read");
    }

    #[test]
    fn every_byte_is_fetched_once_and_none_behind_the_end() {
        let mut readahead = readahead();
        let (mut at, size) = (128 * KIB, 1000 * KIB + 5);
        let mut offset = 0;
        while offset < size {
            let end = (offset + 64 * KIB).min(size);
            if let Some(range) = readahead.advance(&(offset..end), size) {
                assert_eq!(range.start, at);
                at = range.end;
            }
            offset = end;
        }
        assert_eq!(at, size);
    }

    #[test]
    fn a_jump_ends_the_stream() {
        let mut readahead = readahead();
        read(&mut readahead, 0, 64);
        assert!(read(&mut readahead, 64, 64).is_some());
        assert_eq!(read(&mut readahead, 100_000, 64), None);
        assert_eq!(read(&mut readahead, 100_064, 64), None, "it must be recognised anew");
        assert!(read(&mut readahead, 100_128, 64).is_some());
    }

    #[test]
    fn without_a_window_nothing_is_fetched() {
        let mut readahead = Readahead::new(65536, 0);
        for offset in 0..10 {
            assert_eq!(read(&mut readahead, offset * 64, 64), None);
        }
    }
}
