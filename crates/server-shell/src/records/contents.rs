//! A copy in memory of what the store must hold. A store that was lost, damaged or replaced is written again
//! from it.

use redb::WriteTransaction;

use super::change::Change;
use super::clients::Clients;
use super::hosts::Hosts;
use super::sessions::Sessions;

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

    #[cfg(test)]
    pub(super) fn clients_count(&self) -> usize {
        self.clients.count()
    }
}
