//! The numbers in files are explained by somebody who counts alone: every WRITE that was carried out wrote the number after
//! the last. So no two clients were ever at it at once, and none was carried out twice with another between.

use std::collections::BTreeMap;

use crate::action::{Action, Cell, Outcome, Request};
use crate::checks::{Executed, Executions};
use crate::history::{History, Violation};

pub fn check(history: &History) -> Result<(), Violation> {
    let mut last: BTreeMap<&Cell, (u64, u64)> = BTreeMap::new();
    let mut executions = Executions::default();
    for done in history.entries.iter().filter_map(|entry| executions.at(history, entry)) {
        let Executed {
            tag, request: Request::InSession { action, .. }, outcome: Outcome::Done(done), ..
        } = &done
        else {
            continue;
        };
        match action {
            Action::Write { cell, value, job, .. } => {
                let before = last.get(cell).copied().unwrap_or_default();
                // A client that has lost its session, but not its lock, cannot know whether it has written.
                if *value != before.0 + 1 && before != (*value, *job) {
                    return Err(Violation(format!(
                        "#{tag}: {cell:?} is {value} after {} (job {} after {job})",
                        before.0, before.1
                    )));
                }
                last.insert(cell, (*value, *job));
            }
            Action::Read { cell, .. } => {
                let now = last.get(cell).map_or(0, |before| before.0);
                if done.value != now {
                    return Err(Violation(format!(
                        "#{tag}: {cell:?} is read as {}, and is {now}",
                        done.value
                    )));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
