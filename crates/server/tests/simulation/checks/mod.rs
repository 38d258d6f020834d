//! The rules that a run must have kept. Each looks at the history alone.

mod conflict;
mod counters;
mod denials;
mod expected;
mod holders;
mod left;
mod names;
mod once;
mod recalls;
mod script;
mod tests;

use std::collections::BTreeSet;

use crate::action::{Life, Outcome, Request};
use crate::history::{Entry, History, Violation, What};

pub fn all(history: &History) -> Result<(), Violation> {
    expected::check(history)?;
    once::check(history)?;
    counters::check(history)?;
    holders::check(history)?;
    recalls::check(history)?;
    names::check(history)?;
    left::check(history)?;
    denials::check(history)
}

/// A request that was carried out, at the time when it was.
pub struct Executed<'a> {
    pub tag: u64,
    pub life: Life,
    pub request: &'a Request,
    pub outcome: &'a Outcome,
}

/// Tells first answers from others.
#[derive(Debug, Default)]
pub struct Executions(BTreeSet<u64>);

impl Executions {
    /// What was carried out at an entry of the history: the first answer to a request that got past SEQUENCE.
    pub fn at<'a>(&mut self, history: &'a History, entry: &'a Entry) -> Option<Executed<'a>> {
        let What::Answered { tag, outcome, .. } = &entry.what else { return None };
        let (life, request) = &history.requests[tag];
        let first = !matches!(outcome, Outcome::Refused(_)) && self.0.insert(*tag);
        first.then_some(Executed { tag: *tag, life: *life, request, outcome })
    }
}
