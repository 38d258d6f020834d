//! Stable storage in memory whose writes succeed, fail or stall as a test plans.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use proto::nfs4::{ClientId, SessionId, SlotId};
use rpc::BoxFuture;
use server::stable::{StableRecords, StoredSession};

/// The kinds of changes whose outcomes can be planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Adding a client.
    AddClient,
    /// Removing a client.
    RemoveClient,
    /// Setting the record of a slot.
    SetSlot,
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// It is on stable storage, and the server learns of it.
    #[default]
    Written,
    /// It has no effect, and its future never ends: the server dies before it.
    Lost,
    /// It is on stable storage, and its future never ends: the server dies behind it.
    Unanswered,
    /// It has no effect, and its future fails.
    Failed,
}

#[derive(Debug, Default)]
struct Plan {
    /// The outcomes of the next changes, the last first.
    next: Vec<Outcome>,
    /// The outcome of those behind.
    then: Outcome,
    written: usize,
}

#[derive(Debug, Default)]
struct Session {
    restarts: u32,
    record: Bytes,
    slots: BTreeMap<SlotId, Bytes>,
}

#[derive(Debug, Default)]
struct Inner {
    plans: BTreeMap<Change, Plan>,
    owners: BTreeMap<Bytes, ClientId>,
    sessions: BTreeMap<SessionId, Session>,
}

/// The storage. Clones share it, so that a server can be started on what an earlier one has written.
#[derive(Debug, Clone)]
pub struct MemoryRecords {
    inner: Arc<Mutex<Inner>>,
    keeps_sessions: bool,
}

impl MemoryRecords {
    /// Returns empty storage that keeps clients and no sessions.
    #[must_use]
    #[allow(clippy::new_without_default)] // Two constructors: a test says which it means.
    pub fn new() -> Self {
        Self { inner: Arc::default(), keeps_sessions: false }
    }

    /// Returns empty storage that keeps clients and sessions.
    #[must_use]
    pub fn with_sessions() -> Self {
        Self { keeps_sessions: true, ..Self::new() }
    }

    /// Plans the outcomes of the next changes of a kind, in place of an earlier plan.
    pub fn plan(&self, change: Change, next: &[Outcome]) {
        self.inner.lock().plans.entry(change).or_default().next = next.iter().rev().copied().collect();
    }

    /// Sets the outcome of all changes of a kind that have no other plan.
    pub fn set_outcome(&self, change: Change, outcome: Outcome) {
        self.inner.lock().plans.entry(change).or_default().then = outcome;
    }

    /// The number of changes of a kind that are on stable storage.
    #[must_use]
    pub fn written(&self, change: Change) -> usize {
        self.inner.lock().plans.get(&change).map_or(0, |plan| plan.written)
    }

    /// The number of clients with a record.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.inner.lock().owners.len()
    }

    /// The number of sessions with a record.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.inner.lock().sessions.len()
    }

    /// Returns what a server finds when it starts: the owners that may reclaim, whose records end with this,
    /// and the sessions.
    #[must_use]
    pub fn restart(&self) -> (Vec<Bytes>, Vec<StoredSession>) {
        let mut inner = self.inner.lock();
        let owners = std::mem::take(&mut inner.owners).into_keys().collect();
        let sessions = inner.sessions.iter_mut().map(|(id, session)| {
            session.restarts += 1;
            let slots = session.slots.iter().map(|(slot, record)| (*slot, record.clone())).collect();
            StoredSession { id: *id, restarts: session.restarts, record: session.record.clone(), slots }
        });
        (owners, sessions.collect())
    }

    fn change(&self, change: Change, apply: impl FnOnce(&mut Inner)) -> BoxFuture<io::Result<()>> {
        let inner = &mut *self.inner.lock();
        let plan = inner.plans.entry(change).or_default();
        let outcome = plan.next.pop().unwrap_or(plan.then);
        if matches!(outcome, Outcome::Written | Outcome::Unanswered) {
            plan.written += 1;
            apply(inner);
        }
        match outcome {
            Outcome::Written => done(),
            Outcome::Lost | Outcome::Unanswered => Box::pin(std::future::pending()),
            Outcome::Failed => Box::pin(std::future::ready(Err(io::Error::other("the disk is broken")))),
        }
    }
}

fn done() -> BoxFuture<io::Result<()>> {
    Box::pin(std::future::ready(Ok(())))
}

impl StableRecords for MemoryRecords {
    fn add(&self, client: ClientId, owner: Bytes, _: state::Lost) -> BoxFuture<io::Result<()>> {
        self.change(Change::AddClient, |inner| {
            inner.owners.insert(owner, client);
        })
    }

    fn remove(&self, client: ClientId, owner: Bytes) -> BoxFuture<io::Result<()>> {
        let is_kept = |name: &Bytes, id: &mut ClientId| *name != owner || *id != client;
        self.change(Change::RemoveClient, |inner| inner.owners.retain(is_kept))
    }

    fn end_grace(&self) -> BoxFuture<io::Result<()>> {
        done()
    }

    fn keeps_sessions(&self) -> bool {
        self.keeps_sessions
    }

    fn add_session(&self, id: SessionId, record: Bytes) -> BoxFuture<io::Result<()>> {
        self.inner.lock().sessions.insert(id, Session { record, ..Session::default() });
        done()
    }

    fn set_slot(&self, session: SessionId, slot: SlotId, record: Bytes) -> BoxFuture<io::Result<()>> {
        self.change(Change::SetSlot, |inner| {
            if let Some(session) = inner.sessions.get_mut(&session) {
                session.slots.insert(slot, record);
            }
        })
    }

    fn remove_session(&self, id: SessionId) -> BoxFuture<io::Result<()>> {
        self.inner.lock().sessions.remove(&id);
        done()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const SESSION: SessionId = SessionId([1; 16]);

    fn set_slot(records: &MemoryRecords, record: &'static str) -> Option<bool> {
        let change = records.set_slot(SESSION, SlotId(0), Bytes::from_static(record.as_bytes()));
        change.now_or_never().map(|result| result.is_ok())
    }

    #[test]
    fn planned_outcomes_decide_what_a_restart_finds() {
        let records = MemoryRecords::with_sessions();
        assert!(records.add_session(SESSION, Bytes::new()).now_or_never().is_some());
        records
            .plan(Change::SetSlot, &[Outcome::Written, Outcome::Lost, Outcome::Failed, Outcome::Unanswered]);
        let found = || records.restart().1.remove(0).slots.remove(0).1;
        assert_eq!((set_slot(&records, "written"), found()), (Some(true), "written".into()));
        assert_eq!((set_slot(&records, "lost"), found()), (None, "written".into()));
        assert_eq!((set_slot(&records, "failed"), found()), (Some(false), "written".into()));
        assert_eq!((set_slot(&records, "unanswered"), found()), (None, "unanswered".into()));
        assert_eq!((set_slot(&records, "later"), found()), (Some(true), "later".into()));
        assert_eq!(records.written(Change::SetSlot), 3);
        assert_eq!(records.restart().1[0].restarts, 6);
    }

    #[test]
    fn outcome_holds_until_it_is_set_again() {
        let records = MemoryRecords::new();
        let add = |id| records.add(ClientId(id), "owner".into(), state::Lost::default()).now_or_never();
        let remove = |id| records.remove(ClientId(id), "owner".into()).now_or_never().unwrap().is_ok();
        assert!(add(1).is_some() && add(2).is_some());
        records.set_outcome(Change::RemoveClient, Outcome::Failed);
        assert!(!remove(2) && !remove(2));
        records.set_outcome(Change::RemoveClient, Outcome::Written);
        assert!(remove(1), "of an earlier client with the owner's name");
        assert_eq!(records.clients(), 1);
        assert!(remove(2));
        assert_eq!((records.clients(), records.sessions(), records.keeps_sessions()), (0, 0, false));
    }
}
