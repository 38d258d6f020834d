//! The epoch of a store: which start of which server owns it.
//!
//! Each commit names the epoch of its server, and a store refuses those of an earlier one. So a server that
//! another has taken over from can acknowledge nothing any more.

use std::time::{SystemTime, UNIX_EPOCH};

use redb::{Database, ReadableTable, TableDefinition, WriteTransaction};

use super::fault::Fault;

/// Under 0: the epoch that owns the store.
const EPOCHS: TableDefinition<'_, u8, (u64, u64)> = TableDefinition::new("starts");

/// A start of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Epoch {
    /// Milliseconds since 1970, or more: it grows with every start, on a store that was made anew as well.
    number: u64,
    /// Tells two servers apart that started on copies of one store.
    instance: u64,
}

impl Epoch {
    /// Begins the next epoch: the store belongs to it when this returns.
    pub(super) fn begin(database: &Database) -> Result<Self, redb::Error> {
        let transaction = database.begin_write()?;
        let before = Self::read(&transaction)?.unwrap_or_default();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let number = (before.number + 1).max(since_1970.as_millis() as u64);
        let epoch = Self { number, instance: rand::random() };
        epoch.write(&transaction)?;
        transaction.commit()?;
        Ok(epoch)
    }

    /// Checks that no later epoch owns the store, nor another one of the same time. Returns whether this one
    /// does: a store that was made anew, or brought back from a copy, is of an earlier one or of none.
    ///
    /// # Errors
    /// The fault that another server owns it.
    pub(super) fn check(self, transaction: &WriteTransaction) -> Result<bool, Fault> {
        match Self::read(transaction)? {
            Some(owner) if owner == self => Ok(true),
            Some(owner) if owner.number >= self.number => {
                Err(Fault::new("another server has started with this state directory", "restart this server"))
            }
            _ => Ok(false),
        }
    }

    /// The epoch that owns the store; `None` for a new store.
    fn read(transaction: &WriteTransaction) -> Result<Option<Self>, redb::Error> {
        let epochs = transaction.open_table(EPOCHS)?;
        let epoch = epochs.get(0)?.map(|epoch| epoch.value());
        Ok(epoch.map(|(number, instance)| Self { number, instance }))
    }

    pub(super) fn write(self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        transaction.open_table(EPOCHS)?.insert(0, (self.number, self.instance))?;
        Ok(())
    }
}
