//! The numbers in files are explained by somebody who counts alone: every WRITE that was carried out wrote
//! the number after the last, and every READ found the last. So no two clients were ever at it at once, and
//! nothing was carried out twice with something else between.
//!
//! A request is carried out at some time between its arrival and its answer. What a crash interrupts, and
//! what is refused while another copy of it may be under way, may have been carried out.

use std::collections::{BTreeMap, BTreeSet};

use proto::nfs4::Status;

use super::{Executed, Executions};
use crate::action::{Action, Cell, Outcome, Request};
use crate::history::{History, Violation, What};

/// A number, and the job that wrote it.
type Written = (u64, u64);

/// What a cell may be.
#[derive(Debug, Default)]
struct Count {
    /// The last number that was surely written, and those that may have been since.
    possible: BTreeSet<Written>,
    /// WRITEs without an answer.
    under_way: BTreeMap<u64, Written>,
}

#[derive(Default)]
struct Checker<'a> {
    counts: BTreeMap<&'a Cell, Count>,
    /// READs without an answer, and what they may find.
    reads: BTreeMap<u64, (&'a Cell, BTreeSet<u64>)>,
    answered: BTreeSet<u64>,
    /// WRITEs since the server's start: how many copies have arrived and were not refused, and the number, if
    /// nothing else has made it possible.
    copies: BTreeMap<u64, (u32, Option<Written>)>,
}

pub fn check(history: &History) -> Result<(), Violation> {
    let mut checker = Checker::default();
    let mut executions = Executions::default();
    for entry in &history.entries {
        match &entry.what {
            What::Arrived { tag } => checker.arrived(*tag, &history.requests[tag].1),
            What::Boot { .. } => {
                checker.reads.clear();
                checker.copies.clear();
                checker.counts.values_mut().for_each(|count| count.under_way.clear());
            }
            What::Answered { tag, outcome: Outcome::Refused(status), .. } => checker.refused(*tag, *status),
            _ => {}
        }
        if let Some(executed) = executions.at(history, entry) {
            checker.executed(&executed).map_err(|what| Violation(format!("#{}: {what}", executed.tag)))?;
        }
    }
    Ok(())
}

impl<'a> Checker<'a> {
    fn count(&mut self, cell: &'a Cell) -> &mut Count {
        let first = || Count { possible: BTreeSet::from([(0, 0)]), under_way: BTreeMap::new() };
        self.counts.entry(cell).or_insert_with(first)
    }

    fn arrived(&mut self, tag: u64, request: &'a Request) {
        let Request::InSession { action, .. } = request else { return };
        if self.answered.contains(&tag) {
            return;
        }
        match action {
            Action::Write { cell, value, job, .. } => {
                let count = self.count(cell);
                count.under_way.insert(tag, (*value, *job));
                let is_new = count.possible.insert((*value, *job));
                let alone = is_new.then_some((*value, *job));
                let copies = self.copies.entry(tag).or_default();
                if copies.0 == 0 {
                    copies.1 = alone;
                }
                copies.0 += 1;
                for (_, found) in self.reads.values_mut().filter(|(read, _)| *read == cell) {
                    found.insert(*value);
                }
            }
            Action::Read { cell, .. } => {
                let now: Vec<u64> = self.count(cell).possible.iter().map(|written| written.0).collect();
                self.reads.entry(tag).or_insert((cell, BTreeSet::new())).1.extend(now);
            }
            _ => {}
        }
    }

    /// Without a session nothing is carried out: when that was said of each copy, the number is no more
    /// possible than before.
    fn refused(&mut self, tag: u64, status: Status) {
        let Some((copies, alone)) = self.copies.get_mut(&tag) else { return };
        if matches!(status, Status::BadSession | Status::DeadSession) {
            *copies = copies.saturating_sub(1);
            if *copies > 0 {
                return;
            }
        }
        let was_not_written = alone.filter(|_| *copies == 0);
        for count in self.counts.values_mut() {
            if count.under_way.remove(&tag).is_some()
                && let Some(written) = was_not_written
            {
                count.possible.remove(&written);
            }
        }
    }

    fn executed(&mut self, executed: &Executed<'a>) -> Result<(), String> {
        let Executed { tag, request: Request::InSession { action, .. }, outcome, .. } = executed else {
            return Ok(());
        };
        self.answered.insert(*tag);
        match (action, outcome) {
            (Action::Write { cell, value, job, .. }, outcome) => {
                let (count, written) = (self.count(cell), (*value, *job));
                count.under_way.remove(tag);
                let others: Vec<&Written> =
                    count.possible.iter().filter(|other| **other != written).collect();
                // A client that has lost its session, but not its lock, cannot know whether it has written.
                let explained = others.iter().any(|other| other.0 + 1 == *value)
                    || count.possible.len() == 1 && others.is_empty();
                match outcome {
                    Outcome::Done(_) if !explained => {
                        return Err(format!("{cell:?} is {value} for job {job} after {others:?}"));
                    }
                    Outcome::Done(_) => {
                        count.possible = count.under_way.values().copied().chain([written]).collect();
                        let same = self.copies.values_mut().filter(|(_, alone)| *alone == Some(written));
                        same.for_each(|(_, alone)| *alone = None);
                    }
                    // An earlier attempt may have done it.
                    _ => {}
                }
            }
            (Action::Read { cell, .. }, Outcome::Done(done)) => {
                let Some((_, possible)) = self.reads.remove(tag) else { return Ok(()) };
                if !possible.contains(&done.value) {
                    return Err(format!("{cell:?} is read as {}, and is one of {possible:?}", done.value));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
