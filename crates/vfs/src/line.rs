//! Whose requests a thread works on.
//!
//! Requests that wait for a disk stand in a line for each who sends them, and the lines take turns: who sends
//! hundreds waits for them, and not everybody else. What is one sender is for whoever serves to say; a
//! connection is.

use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// Says that what this thread does from now on is for `line`, until it says otherwise. A thread that has
/// never said so works for line 0.
pub fn work_for(line: u64) {
    CURRENT.set(line);
}

/// Whom this thread works for.
#[cfg(target_os = "linux")]
pub(crate) fn current() -> u64 {
    CURRENT.get()
}
