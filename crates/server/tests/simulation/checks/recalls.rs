//! A delegation that was recalled ends: returned in time, or revoked (RFC 8881 §10.4.6, §20.2.4).

use std::collections::BTreeMap;

use proto::nfs4::Status;

use super::Executions;
use crate::action::{Action, Outcome, Request};
use crate::history::{History, Violation, What};
use crate::host::LIMITS;
use crate::plan::Fault;

/// The server looks every second, when its disk does not keep it from doing so.
const LATE_MS: u64 = 4000;

pub fn check(history: &History) -> Result<(), Violation> {
    let mut executions = Executions::default();
    let mut held = BTreeMap::new();
    let mut recalled: BTreeMap<[u8; 12], u64> = BTreeMap::new();
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
            What::Held { hold, state_id, .. } => {
                held.insert(*hold, state_id.other);
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
        let used = match (action, executed.outcome) {
            (Action::Return { state_id, .. } | Action::Read { state_id, .. }, Outcome::Done(_)) => state_id,
            (Action::Test { state_id }, Outcome::Done(done)) if done.tested == Some(Status::Ok) => state_id,
            _ => continue,
        };
        let Some(at) = recalled.get(&used.other) else { continue };
        let good_until = (at + LIMITS.recall_ms).max(looked_from) + LATE_MS;
        if arrived.get(&executed.tag).is_some_and(|arrived| *arrived > good_until) {
            return Err(Violation(format!(
                "#{}: at {} ms: a delegation is still good that was recalled at {at} ms: {action:?}",
                executed.tag, entry.server_ms
            )));
        }
    }
    Ok(())
}
