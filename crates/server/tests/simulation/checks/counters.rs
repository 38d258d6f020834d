//! The numbers in files are explained by somebody who counts alone: every WRITE that was carried out wrote the number after
//! the last. So no two clients were ever at it at once, and none was carried out twice with another between.

use std::collections::BTreeMap;

use crate::action::{Action, Cell, Outcome, Request};
use crate::history::{History, Violation, What};
use crate::wire;

pub fn check(history: &History) -> Result<(), Violation> {
    let mut last: BTreeMap<&Cell, (u64, u64)> = BTreeMap::new();
    for (tag, request, outcome) in executed(history) {
        let (Request::InSession { action, .. }, Outcome::Done(done)) = (request, &outcome) else { continue };
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

/// What was carried out, in order: the first answer to each request that got past SEQUENCE.
fn executed(history: &History) -> impl Iterator<Item = (u64, &Request, Outcome)> {
    let mut seen = std::collections::BTreeSet::new();
    history.entries.iter().filter_map(move |entry| {
        let What::Answered { tag, reply } = &entry.what else { return None };
        let (_, request) = &history.requests[tag];
        let outcome = wire::decode(request, reply);
        let carried_out = !matches!(outcome, Outcome::Refused(_)) && seen.insert(*tag);
        carried_out.then_some((*tag, request, outcome))
    })
}
