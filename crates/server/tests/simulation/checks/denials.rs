//! Nobody is denied what nobody else has: behind every denial is something that was given and not given up,
//! by a client that has not come back to life since.

use std::collections::{BTreeMap, BTreeSet};

use proto::nfs4::{StateOther, Status};

use super::Executions;
use super::conflict::{conflict, ended, excludes_own, gained};
use crate::action::{Done, Life, Outcome, Request};
use crate::history::{History, Holding, Violation, What};

pub fn check(history: &History) -> Result<(), Violation> {
    let mut executions = Executions::default();
    let mut given: BTreeMap<StateOther, (Life, Holding)> = BTreeMap::new();
    // Requests whose effect may be there before their answer.
    let mut under_way: BTreeSet<u64> = BTreeSet::new();
    // Of these, the ones that wait for a lock.
    let mut blocked: BTreeSet<u64> = BTreeSet::new();
    let mut lives: BTreeMap<usize, Life> = BTreeMap::new();
    // A denial is decided at some time between the arrival of its request and the answer: what was given up
    // meanwhile counts.
    let mut arrived_at: BTreeMap<u64, usize> = BTreeMap::new();
    let mut ended_at: Vec<(usize, (Life, Holding))> = Vec::new();
    for (position, entry) in history.entries.iter().enumerate() {
        match &entry.what {
            What::Boot { .. } => {
                given.clear();
                under_way.clear();
                arrived_at.clear();
            }
            What::Arrived { tag } => {
                under_way.insert(*tag);
                arrived_at.entry(*tag).or_insert(position);
            }
            // It is the retry that came too soon.
            What::Answered { outcome: Outcome::Refused(Status::Delay), .. } => {}
            // The server takes the lock when it is free, and calls.
            What::Answered { outcome: Outcome::Failed(Status::Locked), tag, .. } => {
                blocked.insert(*tag);
            }
            What::Answered { tag, .. } => {
                under_way.remove(tag);
            }
            _ => {}
        }
        let Some(executed) = executions.at(history, entry) else { continue };
        let life = executed.life;
        match (executed.request, executed.outcome) {
            // A session for a new life ends what the life before had (RFC 8881 §18.36.4).
            (Request::CreateSession { .. }, Outcome::Done(_)) => {
                given.retain(|_, (other, _)| other.machine != life.machine || other.life >= life.life);
                lives.insert(life.machine, life);
            }
            (Request::InSession { action, .. }, Outcome::Done(done)) => {
                if let Some(id) = ended(action) {
                    // The host waits no more.
                    for tag in blocked.extract_if(.., |tag| history.requests[tag].0.machine == life.machine) {
                        under_way.remove(&tag);
                        ended_at.extend(wants(history, tag).into_iter().map(|wanted| (position, wanted)));
                    }
                    ended_at.extend(given.remove(&id.other).map(|ended| (position, ended)));
                }
                for (id, holding) in gained(action, done) {
                    let before = given.remove(&id.other);
                    given.insert(id.other, (life, both(before.map(|before| before.1), holding)));
                }
            }
            (
                Request::InSession { action, .. },
                Outcome::Failed(status @ (Status::Denied | Status::ShareDenied)),
            ) => {
                let wanted = gained(action, &granted());
                let is_denied = |(_, wanted): &(_, Holding)| {
                    let stands = |(other, has): &(Life, Holding)| {
                        conflict((life, wanted), (*other, has)) || excludes_own((life, wanted), (*other, has))
                    };
                    let mut others = under_way.iter().filter(|tag| **tag != executed.tag);
                    let arrived = arrived_at.get(&executed.tag).copied().unwrap_or(position);
                    let mut ended = ended_at.iter().rev().take_while(|(end, _)| *end > arrived);
                    given.values().any(stands)
                        || ended.any(|(_, ended)| stands(ended))
                        || others.any(|tag| wants(history, *tag).iter().any(stands))
                };
                // What is left over of a life before may meet what the same machine has now.
                let is_alive = lives.get(&life.machine) == Some(&life);
                if is_alive && !wanted.iter().any(is_denied) {
                    return Err(Violation(format!(
                        "at {} ms: #{}: {status} for {action:?}, and nobody has it: {given:?}",
                        entry.at_ms, executed.tag
                    )));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What a request will have been given when it succeeds.
fn wants(history: &History, tag: u64) -> Vec<(Life, Holding)> {
    let (life, Request::InSession { action, .. }) = &history.requests[&tag] else { return Vec::new() };
    gained(action, &granted()).into_iter().map(|(_, holding)| (*life, holding)).collect()
}

/// A success, to see what a request would have given.
fn granted() -> Done {
    Done { state_id: Some(proto::nfs4::StateId::INVALID), ..Done::default() }
}

/// An owner's opens of a file are one (RFC 8881 §9.7).
fn both(before: Option<Holding>, now: Holding) -> Holding {
    match (before, now) {
        (
            Some(Holding::Share { access: more_access, deny: more_deny, .. }),
            Holding::Share { file, owner, access, deny },
        ) => Holding::Share { file, owner, access: access | more_access, deny: deny | more_deny },
        (_, now) => now,
    }
}
