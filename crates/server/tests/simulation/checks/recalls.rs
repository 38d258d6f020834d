//! A delegation that was recalled ends: returned in time, or revoked (RFC 8881 §10.4.6, §20.2.4). A holder
//! that uses it or flushes gets the time again, but only so often (§10.2).

use std::collections::BTreeMap;

use proto::nfs4::{StateId, StateOther, Status};

use super::Executions;
use crate::action::{Action, Outcome, Request};
use crate::history::{History, Holding, Violation, What};
use crate::host::LIMITS;
use crate::plan::Fault;

/// The server looks every second, when its disk does not keep it from doing so.
const LATE_MS: u64 = 4000;
/// Recall times that a holder can have, however much it flushes.
const RECALL_TIMES_MAX: u64 = 4;

/// A delegation, as its holder knows it.
struct Delegated<'a> {
    machine: usize,
    file: &'a str,
    /// When a use of it, or a change of the file by its holder, was last under way.
    used_ms: u64,
}

/// True for what the holder does with its delegation, or for its file before it gives it back.
fn is_use(action: &Action, other: &StateOther, file: &str) -> bool {
    match action {
        Action::Read { state_id, .. } => state_id.other == *other,
        Action::Write { cell, .. } => cell.file == file,
        Action::Lock { file: locked, .. } => locked == file,
        _ => false,
    }
}

pub fn check(history: &History) -> Result<(), Violation> {
    let mut executions = Executions::default();
    let mut held = BTreeMap::new();
    let mut delegated: BTreeMap<StateOther, Delegated<'_>> = BTreeMap::new();
    let mut recalled: BTreeMap<StateOther, u64> = BTreeMap::new();
    let mut arrived: BTreeMap<u64, u64> = BTreeMap::new();
    let mut looked_from = 0;
    for entry in &history.entries {
        match &entry.what {
            // After that the server must have had the time to look.
            What::Fault(Fault::Jump { .. }) => looked_from = looked_from.max(entry.server_ms),
            What::Fault(Fault::BreakDisk { for_ms, .. }) => {
                looked_from = looked_from.max(entry.server_ms + for_ms);
            }
            What::Arrived { tag } => {
                arrived.insert(*tag, entry.server_ms);
            }
            What::Held { life, hold, state_id, holding, .. } => {
                held.insert(*hold, state_id.other);
                if let Holding::Delegation { file, .. } = holding {
                    let new = Delegated { machine: life.machine, file, used_ms: 0 };
                    delegated.insert(state_id.other, new);
                }
            }
            What::Recalled { hold } => {
                if let Some(other) = held.get(hold) {
                    recalled.entry(*other).or_insert(entry.server_ms);
                }
            }
            _ => {}
        }
        let Some(executed) = executions.at(history, entry) else { continue };
        let Request::InSession { action, .. } = executed.request else { continue };
        let extended = |other: &StateOther, at: u64| {
            let used_ms = delegated.get(other).map_or(0, |delegated| delegated.used_ms);
            (at.max(used_ms) + LIMITS.recall_ms).min(at + RECALL_TIMES_MAX * LIMITS.recall_ms)
        };
        let used = match (action, executed.outcome) {
            (Action::Return { state_id, .. } | Action::Read { state_id, .. }, Outcome::Done(_)) => state_id,
            (Action::Test { state_id }, Outcome::Done(done)) if done.tested == Some(Status::Ok) => state_id,
            _ => &StateId::INVALID,
        };
        if let Some(at) = recalled.get(&used.other) {
            let good_until = extended(&used.other, *at).max(looked_from) + LATE_MS;
            if arrived.get(&executed.tag).is_some_and(|arrived| *arrived > good_until) {
                return Err(Violation(format!(
                    "#{}: at {} ms: a delegation is still good that was recalled at {at} ms: {action:?}",
                    executed.tag, entry.server_ms
                )));
            }
        }
        for (other, delegated) in &mut delegated {
            if delegated.machine == executed.life.machine && is_use(action, other, delegated.file) {
                delegated.used_ms = entry.server_ms;
            }
        }
    }
    Ok(())
}
