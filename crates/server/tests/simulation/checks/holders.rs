//! Nobody is given what somebody else holds: neither what a client with a lease has been told it has nor,
//! before that client has lost it, what a client without one has. And what was given to somebody else is
//! worth nothing to who had it before.
//!
//! A holding begins when its client learns of it, and ends when the client begins to give it up, dies, or
//! learns that it is gone. A lease lasts from the arrival of a request of the client's session; it outlasts a
//! restart of a server that remembers its clients, for these may reclaim; but not for who had not said
//! RECLAIM_COMPLETE: when the grace period before ended without it, it may not know what it has lost, and
//! reclaims nothing (RFC 8881 §8.4.3). A delegation also ends when somebody else has wanted the file for long
//! enough.

use std::collections::{BTreeMap, BTreeSet};

use proto::nfs4::{ClientId, SessionId, StateId, StateOther, Status};

use super::conflict::{conflict, ended, excludes_own, gained, reclaims, state_id, uses, wants};
use super::{Executed, Executions};
use crate::action::{Action, Cell, Done, Life, Outcome, Request};
use crate::history::{Entry, History, Holding, Violation, What};
use crate::host::LIMITS;
use crate::plan::Fault;
use crate::stranger::NOBODY;

const LEASE_MS: u64 = LIMITS.lease_seconds as u64 * 1000;
/// Longer than an OPEN is held: it may have arrived before the delegation was granted that it recalls.
const HELD_MS: u64 = 15_000;

/// A time on the server's clock, and on one that does not jump.
type Times = (u64, u64);

/// What a client believes to have.
#[derive(Debug)]
struct Held<'a> {
    life: Life,
    client: ClientId,
    state_id: StateId,
    holding: &'a Holding,
    /// The position in the history.
    from: usize,
}

/// What the server has given.
#[derive(Debug)]
struct Given {
    life: Life,
    holding: Holding,
    at_ms: Times,
    /// Since when somebody else has it, or the server that knew it is gone: for requests that arrive later,
    /// the stateid must not work any more.
    void_from: Option<usize>,
    /// Somebody else has it.
    lost: bool,
}

#[derive(Default)]
struct Checker<'a> {
    held: BTreeMap<u64, Held<'a>>,
    given: BTreeMap<StateOther, Given>,
    clients: BTreeMap<SessionId, ClientId>,
    renewed: BTreeMap<ClientId, u64>,
    /// Who has said that it has reclaimed everything.
    complete: BTreeSet<ClientId>,
    /// Requests that arrived before a server ended: what is answered of them later was done then.
    interrupted: BTreeSet<u64>,
    /// When requests arrived first since the server's start. All times are those of the server's clock.
    arrived: BTreeMap<u64, u64>,
    /// The same as positions in the history.
    arrived_at: BTreeMap<u64, usize>,
    /// The position of the last jump of the server's clock.
    jumped_at: usize,
    /// The position in the history, and its time.
    position: usize,
    at_ms: u64,
    /// When machines wanted to open files.
    wanted: BTreeMap<&'a str, Vec<(Times, usize)>>,
    numbers: BTreeMap<&'a Cell, u64>,
}

pub fn check(history: &History) -> Result<(), Violation> {
    let mut checker = Checker::default();
    let mut executions = Executions::default();
    for (position, entry) in history.entries.iter().enumerate() {
        (checker.position, checker.at_ms) = (position, entry.at_ms);
        let now = entry.server_ms;
        let executed = executions.at(history, entry);
        let step = checker.step(history, entry, now).and_then(|()| match executed {
            Some(executed) => checker.executed(&executed, now),
            None => Ok(()),
        });
        step.map_err(|what| Violation(format!("at {} ms: {what}", entry.at_ms)))?;
    }
    Ok(())
}

impl<'a> Checker<'a> {
    fn step(&mut self, history: &'a History, entry: &'a Entry, now: u64) -> Result<(), String> {
        match &entry.what {
            What::Boot { remembers } => {
                self.interrupted.extend(self.arrived.keys());
                self.arrived.clear();
                self.arrived_at.clear();
                // What was being written may have been written.
                self.numbers.clear();
                let position = self.position;
                for given in self.given.values_mut() {
                    given.void_from.get_or_insert(position);
                }
                // Nobody reclaims what was had through NLM.
                self.held.retain(|_, held| held.client != NOBODY);
                let complete = &self.complete;
                self.renewed.retain(|client, _| complete.contains(client));
                if !remembers {
                    // Leases are void as well.
                    self.renewed.clear();
                }
            }
            What::Fault(Fault::Jump { .. }) => self.jumped_at = self.position,
            What::Arrived { tag } => {
                self.arrived.entry(*tag).or_insert(now);
                self.arrived_at.entry(*tag).or_insert(self.position);
                let (life, request) = &history.requests[tag];
                if let Request::InSession { action, .. } = request
                    && let Some(file) = wants(action)
                {
                    self.wanted.entry(file).or_default().push(((now, entry.at_ms), life.machine));
                }
            }
            What::Held { life, client, hold, state_id, holding } => {
                let void = self.given.get(&state_id.other).is_none_or(|given| given.void_from.is_some());
                if !void && self.has_lease(*client, now) {
                    self.exclude((*life, holding), "has", (self.position, now))?;
                }
                // GRANTED has told of it, and no reply.
                if *client == NOBODY && !self.given.contains_key(&state_id.other) {
                    self.exclude((*life, holding), "is granted", (self.position, now))?;
                    let (holding, at_ms) = (holding.clone(), (now, self.at_ms));
                    let given = Given { life: *life, holding, at_ms, void_from: None, lost: false };
                    self.given.insert(state_id.other, given);
                }
                let held =
                    Held { life: *life, client: *client, state_id: *state_id, holding, from: self.position };
                self.held.insert(*hold, held);
            }
            What::Released { hold } => {
                self.held.remove(hold);
            }
            What::ReadMemory { hold, cell, value } => self.check_memory(*hold, cell, *value, now)?,
            _ => {}
        }
        Ok(())
    }

    fn has_lease(&self, client: ClientId, now: u64) -> bool {
        client == NOBODY || self.renewed.get(&client).is_some_and(|renewed| now - renewed <= LEASE_MS)
    }

    /// What was carried out renews a lease, may give something, and may have used what is void.
    fn executed(&mut self, executed: &Executed<'a>, now: u64) -> Result<(), String> {
        if self.interrupted.contains(&executed.tag) && matches!(executed.request, Request::InSession { .. }) {
            return Ok(());
        }
        let arrived = self.arrived.get(&executed.tag).copied().unwrap_or(now);
        match (executed.request, executed.outcome) {
            (Request::CreateSession { client, .. }, Outcome::Done(done)) => {
                self.renewed.insert(*client, arrived);
                self.clients.extend(done.session.map(|session| (session, *client)));
            }
            (Request::InSession { place, action, .. }, outcome) => {
                if let Some(client) = self.clients.get(&place.session) {
                    let renewed = self.renewed.entry(*client).or_insert(arrived);
                    *renewed = arrived.max(*renewed);
                    if matches!((action, outcome), (Action::ReclaimComplete, Outcome::Done(_))) {
                        self.complete.insert(*client);
                    }
                }
                match outcome {
                    Outcome::Done(done) => self.succeeded((executed, action), done, now)?,
                    Outcome::Failed(Status::BadStateId) => self.lost(action, now)?,
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn succeeded(
        &mut self,
        (executed, action): (&Executed<'a>, &'a Action),
        done: &Done,
        now: u64,
    ) -> Result<(), String> {
        let life = executed.life;
        let arrived = self.arrived_at.get(&executed.tag).copied();
        if let Some(given) = state_id(action).and_then(|id| self.given.get(&id.other))
            && given.void_from.is_some_and(|from| arrived.is_some_and(|arrived| arrived > from))
        {
            return Err(format!("{action:?} succeeds with what is void: {given:?}"));
        }
        if let Action::Write { cell, value, .. } = action {
            self.numbers.insert(cell, *value);
        }
        // What begins while it is carried out is not in its way.
        if let Some((used, arrived)) = uses(action).zip(arrived) {
            self.exclude((life, &used), "uses", (arrived, now))?;
        }
        if let Some(id) = ended(action) {
            self.given.remove(&id.other);
        }
        for (id, holding) in gained(action, done) {
            if reclaims(action) && self.has_lost(life, &holding) {
                return Err(format!("{life:?} takes back {holding:?}, which somebody else was given"));
            }
            let is_delegation = matches!(holding, Holding::Delegation { .. });
            let exclude = |from| self.exclude((life, &holding), "is given", (from, now));
            let excluded = exclude(self.position);
            // A delegation that is given before the clock jumps may be revoked before the answer.
            let may_be_revoked = |arrived: &usize| is_delegation && *arrived < self.jumped_at;
            let given_at = arrived.filter(may_be_revoked).filter(|_| excluded.is_err());
            given_at.map_or(excluded, exclude)?;
            let is_revoked = given_at.is_some();
            // Others may have begun to wait for a delegation before the answer that gives it.
            let arrived_ms = self.arrived.get(&executed.tag).copied().filter(|_| is_delegation);
            let at_ms = (arrived_ms.unwrap_or(now), self.at_ms);
            if matches!(action, Action::Open { .. }) {
                self.exclude_own((life, &holding), arrived.unwrap_or(self.position), now)?;
            }
            for given in self.given.values_mut() {
                if !is_revoked && conflict((life, &holding), (given.life, &given.holding)) {
                    given.void_from.get_or_insert(self.position);
                    given.lost = true;
                }
            }
            self.given.insert(
                id.other,
                Given { life, holding, at_ms, void_from: is_revoked.then_some(self.position), lost: false },
            );
        }
        Ok(())
    }

    /// Somebody gets something: whoever, before a position in the history, has what excludes it must have no
    /// right to it any more.
    fn exclude(
        &self,
        gets: (Life, &Holding),
        how: &str,
        (position, now): (usize, u64),
    ) -> Result<(), String> {
        for held in self.held.values().filter(|held| conflict(gets, (held.life, held.holding))) {
            if held.from < position && self.has_lease(held.client, now) && !self.is_revocable(held, now) {
                return Err(format!("{:?} {how} {:?}, which excludes {held:?}", gets.0, gets.1));
            }
        }
        Ok(())
    }

    /// An open-owner opens again: what it has known to have since before the request arrived must not
    /// conflict.
    fn exclude_own(&self, gets: (Life, &Holding), position: usize, now: u64) -> Result<(), String> {
        let is_void = |held: &Held<'_>| {
            self.given.get(&held.state_id.other).is_none_or(|given| given.void_from.is_some())
        };
        let mut mine = self.held.values().filter(|held| excludes_own(gets, (held.life, held.holding)));
        match mine.find(|held| held.from < position && !is_void(held) && self.has_lease(held.client, now)) {
            Some(held) => Err(format!("{:?} is given {:?}, which its own {held:?} excludes", gets.0, gets.1)),
            None => Ok(()),
        }
    }

    /// A client has lost something, and was not told.
    fn has_lost(&self, life: Life, holding: &Holding) -> bool {
        let is_it = |held: &&Held<'_>| held.life == life && held.holding == holding;
        let lost = |held: &Held<'_>| self.given.get(&held.state_id.other).is_some_and(|given| given.lost);
        self.held.values().filter(is_it).any(lost)
    }

    /// A delegation that somebody else has waited for since long.
    fn is_revocable(&self, held: &Held<'_>, now: u64) -> bool {
        let Holding::Delegation { file, .. } = held.holding else { return false };
        let granted = self.given.get(&held.state_id.other).map_or((0, 0), |given| given.at_ms);
        let wanted = self.wanted.get(&file[..]).into_iter().flatten();
        let mut others =
            wanted.filter(|(at, machine)| *machine != held.life.machine && at.1 + HELD_MS >= granted.1);
        others.next().is_some_and(|(at, _)| now >= at.0.max(granted.0) + LIMITS.recall_ms)
    }

    /// A client with a lease is told that it does not have what it has.
    fn lost(&self, action: &Action, now: u64) -> Result<(), String> {
        let Some(id) = state_id(action) else { return Ok(()) };
        let is_void = self.given.get(&id.other).is_none_or(|given| given.void_from.is_some());
        match self.held.values().find(|held| held.state_id.other == id.other) {
            Some(held) if !is_void && self.has_lease(held.client, now) => {
                Err(format!("{action:?} fails, though there is {held:?}"))
            }
            _ => Ok(()),
        }
    }

    /// What is read from memory under a delegation is what the server has.
    fn check_memory(&self, hold: u64, cell: &Cell, value: u64, now_ms: u64) -> Result<(), String> {
        let Some(held) = self.held.get(&hold) else { return Ok(()) };
        let is_void = self.given.get(&held.state_id.other).is_none_or(|given| given.void_from.is_some());
        let Some(now) = self.numbers.get(cell).copied() else { return Ok(()) };
        if is_void || value == now || !self.has_lease(held.client, now_ms) {
            return Ok(());
        }
        Err(format!("{cell:?} is {now}, and {held:?} has it as {value}"))
    }
}
