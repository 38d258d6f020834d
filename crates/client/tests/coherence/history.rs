//! What was changed when, and so what a reader may see.
//!
//! The world is rows of cells: the data of a file, which of its cells there are, or the names of a tree. Each
//! change of a cell has three times: when it was begun, when its maker was told that it is taken, and when
//! others are promised to see it: the close or unlock. A reader is promised everything that was so ended
//! since when it may rely on that (it opened or locked the file, or has a delegation), and everything that a
//! program beside it, on the same client, was told is taken before it reads. It must not see what one of
//! these changes has replaced.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// The events of a cell that a complaint shows.
const SHOWN_MAX: usize = 12;
const NEVER: u64 = u64::MAX;

#[derive(Debug, Clone, Copy)]
struct Event {
    /// The change that it is of.
    change: u64,
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

/// Cells of a row that are changed together.
#[derive(Debug, Clone)]
pub struct Part {
    pub row: usize,
    pub cells: Range<usize>,
    /// `None` for the number of the change, which no other change has.
    pub value: Option<u64>,
}

/// A change under way.
#[derive(Debug, Clone)]
pub struct Change {
    parts: Vec<Part>,
    /// Unique, and never 0.
    pub number: u64,
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

type Row = Mutex<Vec<Vec<Event>>>;

/// All changes.
#[derive(Debug)]
pub struct History {
    clock: AtomicU64,
    rows: Vec<Row>,
}

impl History {
    /// Cells full of zeros.
    pub fn new(rows: usize, cells: usize) -> Self {
        let empty = Event { change: 0, client: usize::MAX, value: 0, begun: 0, taken: 0, ended: 0 };
        let row = || Mutex::new(vec![vec![empty]; cells]);
        Self { clock: AtomicU64::new(1), rows: (0..rows).map(|_| row()).collect() }
    }

    pub fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    pub fn begin(&self, client: usize, parts: Vec<Part>) -> Change {
        let begun = self.now();
        for part in &parts {
            let value = part.value.unwrap_or(begun);
            let event = Event { change: begun, client, value, begun, taken: NEVER, ended: NEVER };
            self.rows[part.row].lock()[part.cells.clone()].iter_mut().for_each(|cell| cell.push(event));
        }
        Change { parts, number: begun }
    }

    pub fn taken(&self, change: &Change) {
        self.update(change, |event, now| event.taken = now);
    }

    pub fn ended(&self, change: &Change) {
        self.update(change, |event, now| {
            event.taken = event.taken.min(now);
            event.ended = now;
        });
    }

    /// As [`History::ended`], of a change that is known to have come after all that have ended.
    pub fn ended_last(&self, change: &Change) {
        self.update(change, |event, now| event.begun = now);
        self.ended(change);
    }

    /// Complains when the reader was not allowed to see this.
    pub fn check(&self, row: usize, cell: usize, value: u64, reader: Reader) -> Result<(), String> {
        match self.permits(row, cell, |allowed| allowed == value, reader) {
            true => Ok(()),
            false => Err(self.complaint(row, cell, value, reader)),
        }
    }

    /// True when the reader may see a value with the property.
    pub fn permits(&self, row: usize, cell: usize, is: impl Fn(u64) -> bool, reader: Reader) -> bool {
        let events = &self.rows[row].lock()[cell];
        let known: Vec<_> = events.iter().filter(|event| reader.must_know(event)).collect();
        let replaced = |event: &Event| known.iter().any(|later| event.is_before(later));
        events.iter().any(|event| is(event.value) && !replaced(event))
    }

    /// True when nothing of this cell was under way at that time or later.
    pub fn is_quiet(&self, row: usize, cell: usize, since: u64) -> bool {
        self.rows[row].lock()[cell].iter().all(|event| event.ended < since)
    }

    /// What was seen where, by whom, and the last changes there.
    pub fn complaint(&self, row: usize, cell: usize, seen: u64, reader: Reader) -> String {
        let events = &self.rows[row].lock()[cell];
        let mut text = format!("cell {cell} of row {row}: {reader:?} has seen {seen}, after\n");
        for event in &events[events.len().saturating_sub(SHOWN_MAX)..] {
            let _ = writeln!(text, "  {event:?}");
        }
        text
    }

    fn update(&self, change: &Change, set: impl Fn(&mut Event, u64)) {
        let now = self.now();
        for part in &change.parts {
            let mut row = self.rows[part.row].lock();
            let events = row[part.cells.clone()].iter_mut().flatten();
            events.filter(|event| event.change == change.number).for_each(|event| set(event, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(history: &History, client: usize, cells: Range<usize>) -> Change {
        history.begin(client, vec![Part { row: 0, cells, value: None }])
    }

    fn history() -> (History, u64) {
        let history = History::new(1, 16);
        let change = write(&history, 0, 3..5);
        history.taken(&change);
        history.ended(&change);
        (history, change.number)
    }

    fn reads(history: &History, client: usize, since: u64, value: u64) -> bool {
        history.check(0, 3, value, Reader { client, since, begun: history.now() }).is_ok()
    }

    #[test]
    fn open_during_a_change_sees_either_and_later_opens_the_new_value() {
        let (history, first) = history();
        assert!(reads(&history, 1, first, 0) && reads(&history, 1, first, first));
        let now = history.now();
        assert!(!reads(&history, 1, now, 0), "that is stale");
        assert!(reads(&history, 1, now, first));
        assert!(!reads(&history, 1, now, 12345), "that was never written");
    }

    #[test]
    fn changes_at_the_same_time_may_be_seen_in_either_order() {
        let history = History::new(1, 16);
        let one = write(&history, 0, 0..9);
        let two = write(&history, 1, 3..4);
        history.ended(&one);
        history.ended(&two);
        let now = history.now();
        assert!(reads(&history, 2, now, one.number) && reads(&history, 2, now, two.number));
        assert!(!reads(&history, 2, now, 0));
    }

    #[test]
    fn a_program_sees_what_another_on_its_client_has_written_and_not_closed() {
        let (history, first) = history();
        let second = write(&history, 0, 3..4);
        assert!(reads(&history, 0, history.now(), first), "it is under way");
        history.taken(&second);
        assert!(!reads(&history, 0, 0, first));
        assert!(reads(&history, 0, 0, second.number));
        assert!(reads(&history, 1, history.now(), first), "on another client it may");
    }

    #[test]
    fn truncation_zeroes_the_row_of_values_and_changes_that_of_presence() {
        let history = History::new(2, 16);
        let cells = |row, cells, value| Part { row, cells, value };
        let written = history.begin(0, vec![cells(0, 3..4, None), cells(1, 0..4, Some(1))]);
        history.ended(&written);
        let cut = history
            .begin(0, vec![cells(0, 2..16, Some(0)), cells(1, 0..2, Some(1)), cells(1, 2..16, Some(0))]);
        history.ended(&cut);
        let reader = Reader { client: 1, since: history.now(), begun: history.now() };
        for (row, cell, value) in [(0, 3, 0), (1, 1, 1), (1, 2, 0), (1, 9, 0)] {
            assert!(history.check(row, cell, value, reader).is_ok());
        }
        assert!(history.check(0, 3, written.number, reader).is_err());
        assert!(history.check(1, 3, 1, reader).is_err());
    }

    #[test]
    fn of_two_changes_that_began_together_the_last_replaces_the_first() {
        let history = History::new(1, 4);
        let (one, two) = (write(&history, 0, 3..4), write(&history, 0, 3..4));
        assert!(!history.is_quiet(0, 3, history.now()));
        history.ended(&one);
        history.ended_last(&two);
        let now = history.now();
        assert!(!reads(&history, 1, now, one.number) && reads(&history, 1, now, two.number));
        assert!(history.is_quiet(0, 3, now) && !history.is_quiet(0, 3, two.number));
    }
}
