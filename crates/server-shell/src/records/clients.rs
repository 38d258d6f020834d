//! Clients: those that hold state now, and those that held some before the restart and may still reclaim.

use std::collections::BTreeMap;

use bytes::Bytes;
use proto::nfs4::ClientId;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use state::Lost;

/// Clients that hold state, by their owners' names: of each owner only the last, and whether it has lost
/// something.
const CURRENT: TableDefinition<'_, &[u8], (u64, bool)> = TableDefinition::new("current");
/// What those have lost, where that is not everything.
const CURRENT_LOST: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("current-lost");
/// Owners that may reclaim, and whether they have lost something.
const RECOVERY: TableDefinition<'_, &[u8], bool> = TableDefinition::new("recovery");
/// What those have lost, where that is not everything.
const RECOVERY_LOST: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("recovery-lost");

/// Moves those who held state to those who may reclaim, and lists these.
pub(super) fn begin(database: &Database) -> Result<Vec<(Bytes, Lost)>, redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut current = transaction.open_table(CURRENT)?;
        let mut current_lost = transaction.open_table(CURRENT_LOST)?;
        let mut recovery = transaction.open_table(RECOVERY)?;
        let mut recovery_lost = transaction.open_table(RECOVERY_LOST)?;
        for entry in current.iter()? {
            let (owner, record) = entry?;
            let owner = owner.value();
            let mut lost = lost(record.value().1, &current_lost, owner)?;
            let before = recovery.get(owner)?.is_some_and(|has_lost| has_lost.value());
            lost.add(&self::lost(before, &recovery_lost, owner)?);
            recovery.insert(owner, !lost.is_nothing())?;
            set_lost(&mut recovery_lost, owner, &lost)?;
        }
        current.retain(|_, _| false)?;
        current_lost.retain(|_, _| false)?;
    }
    transaction.commit()?;
    let transaction = database.begin_read()?;
    let recovery_lost = transaction.open_table(RECOVERY_LOST)?;
    let found = transaction.open_table(RECOVERY)?;
    let found = found.iter()?.map(|entry| {
        let (owner, has_lost) = entry?;
        let lost = lost(has_lost.value(), &recovery_lost, owner.value())?;
        Ok((Bytes::copy_from_slice(owner.value()), lost))
    });
    found.collect()
}

pub(super) fn add(
    transaction: &WriteTransaction,
    client: ClientId,
    owner: &[u8],
    lost: &Lost,
) -> Result<(), redb::Error> {
    transaction.open_table(CURRENT)?.insert(owner, (client.0, !lost.is_nothing()))?;
    set_lost(&mut transaction.open_table(CURRENT_LOST)?, owner, lost)
}

/// Removes a client, if its owner's record is not that of a later one.
pub(super) fn remove(
    transaction: &WriteTransaction,
    client: ClientId,
    owner: &[u8],
) -> Result<(), redb::Error> {
    let mut current = transaction.open_table(CURRENT)?;
    let is_later = current.get(owner)?.is_some_and(|recorded| recorded.value().0 != client.0);
    if !is_later {
        current.remove(owner)?;
        transaction.open_table(CURRENT_LOST)?.remove(owner)?;
    }
    Ok(())
}

pub(super) fn end_grace(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(RECOVERY)?.retain(|_, _| false)?;
    transaction.open_table(RECOVERY_LOST)?.retain(|_, _| false)?;
    Ok(())
}

/// The tables in memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Clients {
    current: BTreeMap<Bytes, (ClientId, Lost)>,
    recovery: BTreeMap<Bytes, Lost>,
}

impl Clients {
    pub(super) fn read(transaction: &WriteTransaction) -> Result<Self, redb::Error> {
        let mut clients = Self::default();
        let current_lost = transaction.open_table(CURRENT_LOST)?;
        for entry in transaction.open_table(CURRENT)?.iter()? {
            let (owner, record) = entry?;
            let (client, has_lost) = record.value();
            let lost = lost(has_lost, &current_lost, owner.value())?;
            clients.current.insert(Bytes::copy_from_slice(owner.value()), (ClientId(client), lost));
        }
        let recovery_lost = transaction.open_table(RECOVERY_LOST)?;
        for entry in transaction.open_table(RECOVERY)?.iter()? {
            let (owner, has_lost) = entry?;
            let lost = lost(has_lost.value(), &recovery_lost, owner.value())?;
            clients.recovery.insert(Bytes::copy_from_slice(owner.value()), lost);
        }
        Ok(clients)
    }

    pub(super) fn write(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        end_grace(transaction)?;
        transaction.open_table(CURRENT)?.retain(|_, _| false)?;
        transaction.open_table(CURRENT_LOST)?.retain(|_, _| false)?;
        for (owner, (client, lost)) in &self.current {
            add(transaction, *client, owner, lost)?;
        }
        let mut recovery = transaction.open_table(RECOVERY)?;
        let mut recovery_lost = transaction.open_table(RECOVERY_LOST)?;
        for (owner, lost) in &self.recovery {
            recovery.insert(&owner[..], !lost.is_nothing())?;
            set_lost(&mut recovery_lost, owner, lost)?;
        }
        Ok(())
    }

    pub(super) fn add(&mut self, client: ClientId, owner: &Bytes, lost: &Lost) {
        self.current.insert(owner.clone(), (client, lost.clone()));
    }

    pub(super) fn remove(&mut self, client: ClientId, owner: &Bytes) {
        if self.current.get(owner).is_some_and(|(recorded, _)| *recorded == client) {
            self.current.remove(owner);
        }
    }

    pub(super) fn end_grace(&mut self) {
        self.recovery.clear();
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.current.len()
    }
}

/// What an owner has lost who has lost something: everything, where nothing else is said.
fn lost(
    has_lost: bool,
    files: &impl ReadableTable<&'static [u8], &'static [u8]>,
    owner: &[u8],
) -> Result<Lost, redb::Error> {
    if !has_lost {
        return Ok(Lost::default());
    }
    Ok(files.get(owner)?.map_or_else(Lost::everything, |files| Lost::from_bytes(files.value())))
}

fn set_lost(
    files: &mut redb::Table<'_, &'static [u8], &'static [u8]>,
    owner: &[u8],
    lost: &Lost,
) -> Result<(), redb::Error> {
    if lost.is_nothing() || lost.is_everything() {
        files.remove(owner)?;
    } else {
        files.insert(owner, &lost.to_bytes()[..])?;
    }
    Ok(())
}

/// As versions before wrote it that did not name the files.
#[cfg(test)]
pub(super) fn add_without_files(state_directory: &std::path::Path, owner: &[u8]) {
    let database = Database::create(state_directory.join(super::medium::FILE)).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(CURRENT).unwrap().insert(owner, (1, true)).unwrap();
    transaction.commit().unwrap();
}
