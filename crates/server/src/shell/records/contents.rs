//! A copy in memory of what the store must hold. A store that was lost, damaged or replaced is written again
//! from it.

use std::time::{SystemTime, UNIX_EPOCH};

use redb::{Database, ReadableTable, TableDefinition, WriteTransaction};

use super::change::Change;
use super::clients::Clients;
use super::hosts::Hosts;
use super::sessions::Sessions;

/// Under 0: the [`Start`] of the last server that has started on this store.
const STARTS: TableDefinition<'_, u8, (u64, u64)> = TableDefinition::new("starts");

/// Names a start of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Start {
    /// Milliseconds since 1970, or more: it grows with every start, on a store that was made anew as well.
    pub(super) number: u64,
    /// Tells two servers apart that started on copies of one store.
    pub(super) instance: u64,
}

impl Start {
    /// Counts a start.
    pub(super) fn begin(database: &Database) -> Result<Self, redb::Error> {
        let transaction = database.begin_write()?;
        let before = Self::read(&transaction)?.unwrap_or_default();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let number = (before.number + 1).max(since_1970.as_millis() as u64);
        let start = Self { number, instance: rand::random() };
        start.write(&transaction)?;
        transaction.commit()?;
        Ok(start)
    }

    /// The last start that the store knows of; `None` for a new store.
    pub(super) fn read(transaction: &WriteTransaction) -> Result<Option<Self>, redb::Error> {
        let starts = transaction.open_table(STARTS)?;
        let start = starts.get(0)?.map(|start| start.value());
        Ok(start.map(|(number, instance)| Self { number, instance }))
    }

    pub(super) fn write(self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        transaction.open_table(STARTS)?.insert(0, (self.number, self.instance))?;
        Ok(())
    }
}

/// See the module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    clients: Clients,
    hosts: Hosts,
    sessions: Sessions,
}

impl Contents {
    pub(super) fn read(transaction: &WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            clients: Clients::read(transaction)?,
            hosts: Hosts::read(transaction)?,
            sessions: Sessions::read(transaction)?,
        })
    }

    /// Replaces all that the store holds.
    pub(super) fn write(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        self.clients.write(transaction)?;
        self.hosts.write(transaction)?;
        self.sessions.write(transaction)
    }

    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::Add(client, owner, lost) => self.clients.add(*client, owner, lost),
            Change::Remove(client, owner) | Change::Forget(client, owner) => {
                self.clients.remove(*client, owner);
            }
            Change::EndGrace => {
                self.clients.end_grace();
                self.hosts.end_grace();
            }
            Change::AddHost(host) => self.hosts.add(host),
            Change::RemoveHost(name) => self.hosts.remove(name),
            Change::HostTold(name) => self.hosts.told(name),
            Change::AddSession(id, record) => self.sessions.add(*id, record),
            Change::SetSlot(session, slot, record) | Change::SetSlotSoon(session, slot, record) => {
                self.sessions.set_slot(*session, *slot, record);
            }
            Change::RemoveSession(id) => self.sessions.remove(*id),
        }
    }
}
