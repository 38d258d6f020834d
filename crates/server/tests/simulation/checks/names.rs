//! The names in the directory are explained by somebody who works alone: what is made, renamed and removed
//! was there or not there as the answers say. Requests that were under way at the same time may have come in
//! either order, and what a crash interrupts may have happened: what is known of their names starts anew.

use std::collections::{BTreeMap, BTreeSet};

use proto::nfs4::Status;

use super::Executions;
use crate::action::{Action, Create, Outcome, Request};
use crate::history::{History, Violation, What};

/// What is known of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Absent,
    /// With the verifier of an exclusive create.
    Present(Option<u64>),
    Unknown,
}

#[derive(Default)]
struct Checker<'a> {
    names: BTreeMap<&'a str, Name>,
    /// Requests under way, by the names that they touch.
    under_way: BTreeMap<&'a str, BTreeSet<u64>>,
    /// Requests that were not alone.
    overlapping: BTreeSet<u64>,
    /// Requests that were under way when a server ended.
    interrupted: BTreeSet<u64>,
    answered: BTreeSet<u64>,
}

pub fn check(history: &History) -> Result<(), Violation> {
    let mut checker = Checker::default();
    let mut executions = Executions::default();
    for entry in &history.entries {
        match &entry.what {
            What::Boot { .. } => {
                for (name, tags) in std::mem::take(&mut checker.under_way) {
                    checker.names.insert(name, Name::Unknown);
                    // Of a persistent session they may have been carried out then, and are answered now.
                    checker.interrupted.extend(tags);
                }
            }
            What::Arrived { tag } => checker.arrived(*tag, &history.requests[tag].1),
            What::Answered { tag, outcome: Outcome::Refused(_), .. } => {
                // Another copy of it may still be under way.
                checker.overlapping.insert(*tag);
            }
            _ => {}
        }
        let Some(executed) = executions.at(history, entry) else { continue };
        let Request::InSession { action, .. } = executed.request else { continue };
        checker
            .executed(executed.tag, action, executed.outcome)
            .map_err(|what| Violation(format!("at {} ms: #{}: {what}", entry.at_ms, executed.tag)))?;
    }
    Ok(())
}

/// The names that a request makes or removes.
fn touched(action: &Action) -> Vec<&str> {
    match action {
        Action::Open { file, .. } | Action::Remove { name: file } => vec![file],
        Action::Rename { from, to } => vec![from, to],
        _ => Vec::new(),
    }
}

impl<'a> Checker<'a> {
    fn arrived(&mut self, tag: u64, request: &'a Request) {
        let Request::InSession { action, .. } = request else { return };
        if self.answered.contains(&tag) {
            return;
        }
        if let Action::Write { job, .. } = action {
            // The times that hold the verifier change with the data (RFC 8881 §18.16.3).
            for name in self.names.values_mut().filter(|name| **name == Name::Present(Some(*job))) {
                *name = Name::Unknown;
            }
        }
        for name in touched(action) {
            let under_way = self.under_way.entry(name).or_default();
            under_way.insert(tag);
            if under_way.len() > 1 {
                self.overlapping.extend(under_way.iter());
            }
        }
    }

    fn executed(&mut self, tag: u64, action: &'a Action, outcome: &Outcome) -> Result<(), String> {
        let names = touched(action);
        self.answered.insert(tag);
        for name in &names {
            self.under_way.entry(name).or_default().remove(&tag);
        }
        if self.overlapping.contains(&tag) || self.interrupted.contains(&tag) {
            names.into_iter().for_each(|name| self.set(name, Name::Unknown));
            return Ok(());
        }
        let wrong =
            |name: &str, before: Name| Err(format!("{name} was {before:?}, and {action:?}: {outcome:?}"));
        match (action, outcome) {
            (Action::Open { file, create, .. }, Outcome::Done(_)) => {
                let after = match create {
                    // Whoever made it, it is there.
                    Create::Unchecked => Name::Unknown,
                    Create::Guarded => Name::Present(None),
                    Create::Exclusive(verifier) => Name::Present(Some(*verifier)),
                };
                let before = self.get(file);
                let again = matches!(create, Create::Exclusive(_)) && before == after;
                if matches!(before, Name::Present(_)) && !again && after != Name::Unknown {
                    return wrong(file, before);
                }
                self.set(file, after);
            }
            (Action::Open { file, create, .. }, Outcome::Failed(Status::Exists)) => {
                let before = self.get(file);
                let own =
                    matches!(create, Create::Exclusive(verifier) if before == Name::Present(Some(*verifier)));
                if before == Name::Absent || own {
                    return wrong(file, before);
                }
            }
            (Action::Rename { from, to }, Outcome::Done(_)) => {
                let before = self.get(from);
                if before == Name::Absent {
                    return wrong(from, before);
                }
                self.set(from, Name::Absent);
                self.set(to, before);
            }
            (Action::Remove { name }, Outcome::Done(_)) => {
                if self.get(name) == Name::Absent {
                    return wrong(name, Name::Absent);
                }
                self.set(name, Name::Absent);
            }
            (
                Action::Rename { from: name, .. } | Action::Remove { name },
                Outcome::Failed(Status::NoEntry),
            ) => {
                let before = self.get(name);
                if matches!(before, Name::Present(_)) {
                    return wrong(name, before);
                }
                self.set(name, Name::Absent);
            }
            _ => {}
        }
        Ok(())
    }

    fn get(&self, name: &str) -> Name {
        self.names.get(name).copied().unwrap_or(Name::Absent)
    }

    fn set(&mut self, name: &'a str, to: Name) {
        self.names.insert(name, to);
    }
}
