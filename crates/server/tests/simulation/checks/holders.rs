//! Nobody is given what somebody else holds: neither what a client with a lease has been told it has, nor, before that client
//! has lost it, what a client without one has. And what was given to somebody else is worth nothing to who had it before.
//!
//! A holding begins when its client learns of it, and ends when the client begins to give it up, dies, or learns that it is
//! gone. A lease lasts from the arrival of a request of the client's session; it outlasts a restart of a server that remembers
//! its clients, for these may reclaim.

use std::collections::BTreeMap;

use proto::nfs4::{ClientId, SessionId, StateId, Status, share};

use crate::action::{Action, CELL_BYTES, Life, Outcome, Request};
use crate::checks::{Executed, Executions};
use crate::history::{Entry, History, Holding, Violation, What};
use crate::host::LIMITS;

const LEASE_MS: u64 = LIMITS.lease_seconds as u64 * 1000;

#[derive(Debug)]
struct Held<'a> {
    life: Life,
    client: ClientId,
    state_id: StateId,
    holding: &'a Holding,
    /// Somebody else was given it, or the server that knew it is gone: the stateid must not work any more.
    void: bool,
}

#[derive(Default)]
struct Checker<'a> {
    held: BTreeMap<u64, Held<'a>>,
    clients: BTreeMap<SessionId, ClientId>,
    renewed: BTreeMap<ClientId, u64>,
    /// When requests arrived, on the server's clock.
    arrived: BTreeMap<u64, u64>,
}

pub fn check(history: &History) -> Result<(), Violation> {
    let mut checker = Checker::default();
    let mut executions = Executions::default();
    for entry in &history.entries {
        let executed = executions.at(history, entry);
        let step = checker.step(entry).and_then(|()| match executed {
            Some(executed) => checker.executed(&executed, entry.server_ms),
            None => Ok(()),
        });
        step.map_err(|what| Violation(format!("at {} ms: {what}", entry.at_ms)))?;
    }
    Ok(())
}

impl<'a> Checker<'a> {
    fn step(&mut self, entry: &'a Entry) -> Result<(), String> {
        match &entry.what {
            What::Boot { remembers } => {
                self.arrived.clear();
                self.held.values_mut().for_each(|held| held.void = true);
                if !remembers {
                    // Leases are void as well.
                    self.renewed.clear();
                }
            }
            What::Arrived { tag } => {
                self.arrived.entry(*tag).or_insert(entry.server_ms);
            }
            What::Held { life, client, hold, state_id, holding } => {
                let held = Held { life: *life, client: *client, state_id: *state_id, holding, void: false };
                if self.has_lease(*client, entry.server_ms) {
                    self.given(*life, holding, "has", entry.server_ms)?;
                }
                self.held.insert(*hold, held);
            }
            What::Released { hold } => {
                self.held.remove(hold);
            }
            _ => {}
        }
        Ok(())
    }

    fn has_lease(&self, client: ClientId, server_ms: u64) -> bool {
        self.renewed.get(&client).is_some_and(|renewed| server_ms - renewed <= LEASE_MS)
    }

    /// What was carried out renews a lease, may give something, and may have used what is void.
    fn executed(&mut self, executed: &Executed<'_>, server_ms: u64) -> Result<(), String> {
        let arrived = self.arrived.get(&executed.tag).copied().unwrap_or(server_ms);
        match (executed.request, executed.outcome) {
            (Request::CreateSession { client, .. }, Outcome::Done(done)) => {
                self.renewed.insert(*client, arrived);
                self.clients.extend(done.session.map(|session| (session, *client)));
            }
            (Request::InSession { place, action, .. }, outcome) => {
                if let Some(client) = self.clients.get(&place.session) {
                    let renewed = self.renewed.entry(*client).or_insert(arrived);
                    *renewed = arrived.max(*renewed);
                }
                if let Outcome::Done(_) = outcome {
                    self.used(action)?;
                }
                if let (Outcome::Done(_), Some(holding)) = (outcome, wanted(action)) {
                    self.given(executed.life, &holding, "is given", server_ms)?;
                }
                if *outcome == Outcome::Failed(Status::BadStateId) {
                    self.lost(action, server_ms)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Somebody gets something: whoever has what excludes it must have no lease, and loses it.
    fn given(&mut self, life: Life, given: &Holding, how: &str, server_ms: u64) -> Result<(), String> {
        let renewed = &self.renewed;
        for held in self.held.values_mut() {
            if !conflict((life, given), (held.life, held.holding)) {
                continue;
            }
            if renewed.get(&held.client).is_some_and(|at| server_ms - at <= LEASE_MS) {
                return Err(format!("{life:?} {how} {given:?}, which excludes {held:?}"));
            }
            held.void = true;
        }
        Ok(())
    }

    fn used(&self, action: &Action) -> Result<(), String> {
        let Some(id) = state_id(action) else { return Ok(()) };
        match self.held.values().find(|held| held.void && held.state_id.other == id.other) {
            Some(held) => Err(format!("{action:?} succeeds with what is void: {held:?}")),
            None => Ok(()),
        }
    }

    /// A client with a lease is told that it does not have what it has.
    fn lost(&self, action: &Action, server_ms: u64) -> Result<(), String> {
        let Some(id) = state_id(action) else { return Ok(()) };
        let is_it = |held: &&Held<'_>| held.state_id.other == id.other && !held.void;
        match self.held.values().find(is_it) {
            Some(held) if self.has_lease(held.client, server_ms) => {
                Err(format!("{action:?} fails, though there is {held:?}"))
            }
            _ => Ok(()),
        }
    }
}

/// The stateid that a request relies on.
fn state_id(action: &Action) -> Option<StateId> {
    match action {
        Action::Close { state_id, .. }
        | Action::Unlock { state_id, .. }
        | Action::Read { state_id, .. }
        | Action::Write { state_id, .. } => Some(*state_id),
        Action::Lock { open, .. } => Some(*open),
        _ => None,
    }
}

/// What a request gives when it succeeds.
fn wanted(action: &Action) -> Option<Holding> {
    match action {
        Action::Open { file, owner, access, deny, .. }
        | Action::ReclaimOpen { file, owner, access, deny, .. } => {
            let (file, access) = (file.clone(), access & share::BOTH);
            Some(Holding::Share { file, owner: *owner, access, deny: *deny })
        }
        Action::Lock { file, owner, offset, .. } => {
            Some(Holding::Lock { file: file.clone(), owner: *owner, offset: *offset, length: CELL_BYTES })
        }
        _ => None,
    }
}

/// RFC 8881 §9.7 and §9.1: what two different owners cannot have together.
fn conflict((a_life, a): (Life, &Holding), (b_life, b): (Life, &Holding)) -> bool {
    match (a, b) {
        (
            Holding::Share { file: a_file, owner: a_owner, access: a_access, deny: a_deny },
            Holding::Share { file: b_file, owner: b_owner, access: b_access, deny: b_deny },
        ) => {
            a_file == b_file
                && (a_life.machine, a_owner) != (b_life.machine, b_owner)
                && (a_access & b_deny != 0 || b_access & a_deny != 0)
        }
        (
            Holding::Lock { file: a_file, owner: a_owner, offset: a_start, length: a_length },
            Holding::Lock { file: b_file, owner: b_owner, offset: b_start, length: b_length },
        ) => {
            a_file == b_file
                && (a_life.machine, a_owner) != (b_life.machine, b_owner)
                && *a_start < b_start + b_length
                && *b_start < a_start + a_length
        }
        _ => false,
    }
}
