//! How files stand in a history: each has two rows, what is in its cells, and which of them there are.

use std::ops::Range;

use crate::history::{History, Part};
use crate::random::Random;

pub const FILES: usize = 3;
pub const CELLS: usize = 16;
/// That a cell is before the end of its file, in the row for that.
const PRESENT: u64 = 1;

/// Of files that are empty.
pub fn history() -> History {
    History::new(2 * FILES, CELLS)
}

/// The row that tells which cells of a file there are.
pub fn presence(index: usize) -> usize {
    FILES + index
}

/// What a write changes; what it writes is its number.
pub fn written(index: usize, cells: &Range<usize>) -> Vec<Part> {
    vec![
        Part { row: index, cells: cells.clone(), value: None },
        Part { row: presence(index), cells: 0..cells.end, value: Some(PRESENT) },
    ]
}

/// What changes when a file is given a length of so many cells.
pub fn cut(index: usize, left: usize) -> Vec<Part> {
    vec![
        Part { row: index, cells: left..CELLS, value: Some(0) },
        Part { row: presence(index), cells: 0..left, value: Some(PRESENT) },
        Part { row: presence(index), cells: left..CELLS, value: Some(0) },
    ]
}

/// At least one.
pub fn some_cells(random: &mut Random) -> Range<usize> {
    let start = random.below(CELLS);
    start..start + 1 + random.below(CELLS - start)
}
