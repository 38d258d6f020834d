//! The rules that a run must have kept. Each looks at the history alone.

mod counters;

use crate::history::{History, Violation};

pub fn all(history: &History) -> Result<(), Violation> {
    counters::check(history)
}
