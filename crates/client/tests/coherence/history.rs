//! What was written when, and so what a reader may see.
//!
//! A file is a row of cells. Each change of a cell has three times: when it was begun, when its writer was told that the data
//! are taken, and when others are promised to see it: the close or unlock. A reader is promised everything that
//! was so ended before it opened or locked the file, and everything that a program beside it, on the same client,
//! was told is taken before it reads. It must not see what one of these changes has replaced.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

pub const CELLS: usize = 16;
/// The events of a cell that a complaint shows.
const SHOWN_MAX: usize = 12;
const NEVER: u64 = u64::MAX;

#[derive(Debug, Clone, Copy)]
struct Event {
    client: usize,
    value: u64,
    begun: u64,
    taken: u64,
    ended: u64,
}

impl Event {
    /// Everybody knows that the other came later.
    fn is_before(&self, other: &Self) -> bool {
        self.ended < other.begun || (self.client == other.client && self.taken < other.begun)
    }
}

/// A change under way.
#[derive(Debug, Clone)]
pub struct Change {
    file: usize,
    cells: Range<usize>,
    pub begun: u64,
}

/// Who reads, and since when what others have ended must be seen.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    pub client: usize,
    pub since: u64,
    pub begun: u64,
}

impl Reader {
    fn must_know(&self, event: &Event) -> bool {
        event.ended < self.since || (event.client == self.client && event.taken < self.begun)
    }
}

/// All changes of all files.
#[derive(Debug)]
pub struct History {
    clock: AtomicU64,
    files: Vec<Mutex<Vec<Vec<Event>>>>,
}

impl History {
    /// Files full of zeros.
    pub fn new(files: usize) -> Self {
        let empty = Event { client: usize::MAX, value: 0, begun: 0, taken: 0, ended: 0 };
        let cells = || Mutex::new(vec![vec![empty]; CELLS]);
        Self { clock: AtomicU64::new(1), files: (0..files).map(|_| cells()).collect() }
    }

    pub fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// A change begins. `zero` for cells that are cut off; otherwise the value is the time of its beginning.
    pub fn begin(&self, client: usize, file: usize, cells: Range<usize>, zero: bool) -> Change {
        let mut rows = self.files[file].lock();
        let begun = self.now();
        let value = if zero { 0 } else { begun };
        for cell in cells.clone() {
            rows[cell].push(Event { client, value, begun, taken: NEVER, ended: NEVER });
        }
        Change { file, cells, begun }
    }

    pub fn taken(&self, change: &Change) {
        self.update(change, |event, now| event.taken = now);
    }

    pub fn ended(&self, change: &Change) {
        self.update(change, |event, now| event.ended = now);
    }

    /// Complains when the reader was not allowed to see this.
    pub fn check(&self, file: usize, cell: usize, value: u64, reader: Reader) -> Result<(), String> {
        let rows = self.files[file].lock();
        let events = &rows[cell];
        let known: Vec<_> = events.iter().filter(|event| reader.must_know(event)).collect();
        let replaced = |event: &Event| known.iter().any(|later| event.is_before(later));
        match events.iter().any(|event| event.value == value && !replaced(event)) {
            true => Ok(()),
            false => Err(complaint(file, cell, value, reader, events)),
        }
    }

    fn update(&self, change: &Change, set: impl Fn(&mut Event, u64)) {
        let mut rows = self.files[change.file].lock();
        let now = self.now();
        for cell in change.cells.clone() {
            rows[cell]
                .iter_mut()
                .filter(|event| event.begun == change.begun)
                .for_each(|event| set(event, now));
        }
    }
}

fn complaint(file: usize, cell: usize, value: u64, reader: Reader, events: &[Event]) -> String {
    let mut text = format!("cell {cell} of file {file}: {reader:?} has read {value}, after\n");
    for event in &events[events.len().saturating_sub(SHOWN_MAX)..] {
        let _ = writeln!(text, "  {event:?}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> (History, u64) {
        let history = History::new(1);
        let change = history.begin(0, 0, 3..5, false);
        history.taken(&change);
        history.ended(&change);
        (history, change.begun)
    }

    fn reads(history: &History, client: usize, since: u64, value: u64) -> bool {
        history.check(0, 3, value, Reader { client, since, begun: history.now() }).is_ok()
    }

    #[test]
    fn who_opened_before_a_change_ended_may_see_either_and_who_opens_after_it_the_new_one() {
        let (history, first) = history();
        assert!(reads(&history, 1, first, 0) && reads(&history, 1, first, first));
        let now = history.now();
        assert!(!reads(&history, 1, now, 0), "that is stale");
        assert!(reads(&history, 1, now, first));
        assert!(!reads(&history, 1, now, 12345), "that was never written");
    }

    #[test]
    fn changes_at_the_same_time_may_be_seen_in_either_order() {
        let history = History::new(1);
        let one = history.begin(0, 0, 0..9, false);
        let two = history.begin(1, 0, 3..4, false);
        history.ended(&one);
        history.ended(&two);
        let now = history.now();
        assert!(reads(&history, 2, now, one.begun) && reads(&history, 2, now, two.begun));
        assert!(!reads(&history, 2, now, 0));
    }

    #[test]
    fn a_program_sees_what_another_on_its_client_has_written_and_not_closed() {
        let (history, first) = history();
        let second = history.begin(0, 0, 3..4, false);
        assert!(reads(&history, 0, history.now(), first), "it is under way");
        history.taken(&second);
        assert!(!reads(&history, 0, 0, first));
        assert!(reads(&history, 0, 0, second.begun));
        assert!(reads(&history, 1, history.now(), first), "others are not promised it yet");
    }

    #[test]
    fn cutting_off_is_a_change_to_zeros() {
        let (history, first) = history();
        let cut = history.begin(1, 0, 2..CELLS, true);
        history.taken(&cut);
        history.ended(&cut);
        let now = history.now();
        assert!(reads(&history, 2, now, 0) && !reads(&history, 2, now, first));
    }
}
