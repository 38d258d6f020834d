//! The tables of persistent sessions: the sessions, and what is kept of each of their slots.
//!
//! A slot has one record, which is replaced, and goes with its session: so there are never more than the
//! sessions have slots.

use std::collections::BTreeMap;

use bytes::Bytes;
use proto::nfs4::{SessionId, SlotId};
use redb::{Database, ReadableTable, TableDefinition, WriteTransaction};
use server::stable::StoredSession;

/// By id: how many servers have started since, and the session's record.
const SESSIONS: TableDefinition<'_, [u8; 16], (u32, &[u8])> = TableDefinition::new("sessions");
/// By session and slot.
const SLOTS: TableDefinition<'_, ([u8; 16], u32), &[u8]> = TableDefinition::new("slots");

/// Reads all sessions, and notes that a server has started.
pub(super) fn begin(database: &Database) -> Result<Vec<StoredSession>, redb::Error> {
    let transaction = database.begin_write()?;
    let mut found = Vec::new();
    {
        let mut sessions = transaction.open_table(SESSIONS)?;
        let slots = transaction.open_table(SLOTS)?;
        for entry in sessions.iter()? {
            let (id, session) = entry?;
            let (restarts, record) = session.value();
            let record = Bytes::copy_from_slice(record);
            let id = SessionId(id.value());
            let slots = of_session(&slots, id)?;
            found.push(StoredSession { id, restarts: restarts.saturating_add(1), record, slots });
        }
        for session in &found {
            sessions.insert(session.id.0, (session.restarts, &session.record[..]))?;
        }
    }
    transaction.commit()?;
    Ok(found)
}

fn of_session(
    slots: &impl ReadableTable<([u8; 16], u32), &'static [u8]>,
    session: SessionId,
) -> Result<Vec<(SlotId, Bytes)>, redb::Error> {
    let all = slots.range((session.0, 0)..=(session.0, u32::MAX))?;
    all.map(|entry| {
        let (key, record) = entry?;
        Ok((SlotId(key.value().1), Bytes::copy_from_slice(record.value())))
    })
    .collect()
}

pub(super) fn add(transaction: &WriteTransaction, id: SessionId, record: &[u8]) -> Result<(), redb::Error> {
    transaction.open_table(SESSIONS)?.insert(id.0, (0, record))?;
    Ok(())
}

pub(super) fn set_slot(
    transaction: &WriteTransaction,
    session: SessionId,
    slot: SlotId,
    record: &[u8],
) -> Result<(), redb::Error> {
    // A request may outlive its session by a moment.
    if transaction.open_table(SESSIONS)?.get(session.0)?.is_some() {
        transaction.open_table(SLOTS)?.insert((session.0, slot.0), record)?;
    }
    Ok(())
}

pub(super) fn remove(transaction: &WriteTransaction, id: SessionId) -> Result<(), redb::Error> {
    transaction.open_table(SESSIONS)?.remove(id.0)?;
    transaction.open_table(SLOTS)?.retain_in((id.0, 0)..=(id.0, u32::MAX), |_, _| false)?;
    Ok(())
}

/// The tables in memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sessions {
    /// By id: how many servers have started since, and the session's record.
    sessions: BTreeMap<[u8; 16], (u32, Bytes)>,
    slots: BTreeMap<([u8; 16], u32), Bytes>,
}

impl Sessions {
    pub(super) fn read(transaction: &WriteTransaction) -> Result<Self, redb::Error> {
        let mut found = Self::default();
        for entry in transaction.open_table(SESSIONS)?.iter()? {
            let (id, session) = entry?;
            let (restarts, record) = session.value();
            found.sessions.insert(id.value(), (restarts, Bytes::copy_from_slice(record)));
        }
        for entry in transaction.open_table(SLOTS)?.iter()? {
            let (slot, record) = entry?;
            found.slots.insert(slot.value(), Bytes::copy_from_slice(record.value()));
        }
        Ok(found)
    }

    pub(super) fn write(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        let mut sessions = transaction.open_table(SESSIONS)?;
        sessions.retain(|_, _| false)?;
        for (id, (restarts, record)) in &self.sessions {
            sessions.insert(id, (*restarts, &record[..]))?;
        }
        let mut slots = transaction.open_table(SLOTS)?;
        slots.retain(|_, _| false)?;
        for (slot, record) in &self.slots {
            slots.insert(slot, &record[..])?;
        }
        Ok(())
    }

    pub(super) fn add(&mut self, id: SessionId, record: &Bytes) {
        self.sessions.insert(id.0, (0, record.clone()));
    }

    pub(super) fn set_slot(&mut self, session: SessionId, slot: SlotId, record: &Bytes) {
        if self.sessions.contains_key(&session.0) {
            self.slots.insert((session.0, slot.0), record.clone());
        }
    }

    pub(super) fn remove(&mut self, id: SessionId) {
        self.sessions.remove(&id.0);
        let slots: Vec<_> = self.slots.range((id.0, 0)..=(id.0, u32::MAX)).map(|(slot, _)| *slot).collect();
        for slot in slots {
            self.slots.remove(&slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Records;
    use super::super::tests::{open as open_records, wait};
    use super::*;
    use server::stable::StableRecords;

    const A: SessionId = SessionId([1; 16]);
    const B: SessionId = SessionId([2; 16]);

    fn open(directory: &Path) -> (Records, Vec<StoredSession>) {
        let (records, found) = open_records(directory, true).unwrap();
        (records, found.sessions)
    }

    fn stored(id: SessionId, restarts: u32, slots: &[(u32, &'static str)]) -> StoredSession {
        let slots = slots.iter().map(|(slot, record)| (SlotId(*slot), Bytes::from(*record))).collect();
        StoredSession { id, restarts, record: "session".into(), slots }
    }

    #[test]
    fn of_each_slot_the_last_record_is_kept_over_restarts() {
        let directory = tempfile::tempdir().unwrap();
        let (records, found) = open(directory.path());
        assert_eq!(found, []);
        wait(records.add_session(A, "session".into()));
        for (slot, record) in [(0, "first"), (300, "other"), (0, "second")] {
            wait(records.set_slot(A, SlotId(slot), record.into()));
        }
        drop(records);
        let (records, found) = open(directory.path());
        assert_eq!(found, [stored(A, 1, &[(0, "second"), (300, "other")])]);
        wait(records.add_session(B, "session".into()));
        drop(records);
        let (_, found) = open(directory.path());
        assert_eq!(found, [stored(A, 2, &[(0, "second"), (300, "other")]), stored(B, 1, &[])]);
    }

    #[test]
    fn slots_go_with_their_session_and_do_not_come_without() {
        let directory = tempfile::tempdir().unwrap();
        let (records, _) = open(directory.path());
        for id in [A, B] {
            wait(records.add_session(id, "session".into()));
            wait(records.set_slot(id, SlotId(7), "kept".into()));
        }
        wait(records.remove_session(A));
        wait(records.set_slot(A, SlotId(8), "late".into()));
        wait(records.add_session(A, "session".into()));
        drop(records);
        let (_, found) = open(directory.path());
        assert_eq!(found, [stored(A, 1, &[]), stored(B, 1, &[(7, "kept")])]);
    }
}
