//! The store of the records, opened again whenever it fails.
//!
//! ```text
//!   open ──a write fails, or the file was removed──▶ closed ──opened, compared with the copy in memory──▶ open
//! ```
//! redb refuses everything after its first error of I/O, so each failure closes the store. It is tried
//! again at once, and then after pauses that double up to [`PAUSE_MAX`]; until then changes fail with the
//! fault that is known.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redb::Database;

use super::change::Change;
use super::contents::Contents;
use super::epoch::Epoch;
use super::fault::{Fault, Health};
use super::medium::Medium;

/// The first pause after a failure.
const PAUSE_MIN: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 250 });
/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_millis(if cfg!(test) { 4 } else { 4000 });
/// How often an idle store is checked.
const LOOK: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 2000 });

/// See the module.
#[derive(Debug)]
pub(super) struct Store<M> {
    medium: M,
    /// `None` after a failure.
    database: Option<Database>,
    epoch: Epoch,
    contents: Contents,
    health: Arc<Health>,
    /// Why it is closed, and when to try again.
    failed: Option<(Fault, Instant)>,
    pause: Duration,
}

impl<M: Medium> Store<M> {
    /// Takes over a store that was just opened.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub(super) fn new(medium: M, database: Database, health: Arc<Health>) -> Result<Self, redb::Error> {
        let epoch = Epoch::begin(&database)?;
        let transaction = database.begin_write()?;
        let contents = Contents::read(&transaction)?;
        transaction.abort()?;
        let (database, failed, pause) = (Some(database), None, PAUSE_MIN);
        Ok(Self { medium, database, epoch, contents, health, failed, pause })
    }

    /// How long to wait for a change before [`Store::look`] is due.
    pub(super) fn patience(&self) -> Duration {
        match &self.failed {
            Some((_, next_try)) => next_try.saturating_duration_since(Instant::now()),
            None => LOOK,
        }
    }

    /// Writes changes: all of them or, but for those that are owed, none.
    ///
    /// # Errors
    /// Why they are not on stable storage.
    pub(super) fn write(&mut self, changes: &[&Change]) -> Result<(), Fault> {
        if let Some((fault, next_try)) = &self.failed
            && Instant::now() < *next_try
        {
            let fault = fault.clone();
            self.owe(changes);
            return Err(fault);
        }
        let was_open = self.database.is_some();
        let mut written = self.try_write(changes);
        if written.is_err() && was_open {
            // The cause may be the state of the handle, or the removal of the file.
            written = self.try_write(changes);
        }
        match written {
            Ok(()) => {
                for change in changes {
                    self.contents.apply(change);
                }
                self.failed = None;
                self.pause = PAUSE_MIN;
                self.health.clear();
                Ok(())
            }
            Err(fault) => {
                self.owe(changes);
                self.health.set_fault(&fault);
                self.failed = Some((fault.clone(), Instant::now() + self.pause));
                self.pause = (self.pause * 2).min(PAUSE_MAX);
                Err(fault)
            }
        }
    }

    /// Looks after the store when there is nothing to write: whether it is still there, and whether it can
    /// be opened again.
    pub(super) fn look(&mut self) {
        if self.database.is_some() && self.medium.check().is_ok() {
            return;
        }
        self.database = None;
        // The fault is noted.
        let _ = self.write(&[]);
    }

    /// Changes that have happened although they are not written: the next store that is opened gets them.
    fn owe(&mut self, changes: &[&Change]) {
        for change in changes.iter().filter(|change| change.is_owed()) {
            self.contents.apply(change);
        }
    }

    fn try_write(&mut self, changes: &[&Change]) -> Result<(), Fault> {
        let database = match self.database.take() {
            Some(database) => database,
            None => self.open()?,
        };
        if !changes.is_empty() {
            commit(&database, self.epoch, changes)?;
            // Data in a removed file are not on stable storage.
            self.medium.check()?;
        }
        self.database = Some(database);
        Ok(())
    }

    /// Opens the store and makes it hold what it must.
    fn open(&mut self) -> Result<Database, Fault> {
        let database = match self.medium.open() {
            Err(fault) if fault.is_damaged => {
                tracing::error!(%fault, "the records in the state directory are damaged, and are written \
                                         anew");
                self.medium.set_aside()?;
                self.medium.open()?
            }
            opened => opened?,
        };
        let transaction = database.begin_write().map_err(redb::Error::from)?;
        let is_own = self.epoch.check(&transaction)?;
        if !is_own || Contents::read(&transaction)? != self.contents {
            self.epoch.write(&transaction)?;
            self.contents.write(&transaction)?;
            transaction.commit().map_err(redb::Error::from)?;
        } else {
            transaction.abort().map_err(redb::Error::from)?;
        }
        Ok(database)
    }
}

fn commit(database: &Database, epoch: Epoch, changes: &[&Change]) -> Result<(), Fault> {
    let transaction = database.begin_write().map_err(redb::Error::from)?;
    if !epoch.check(&transaction)? {
        return Err(Fault::new("the records were replaced by older ones", "leave them to the server"));
    }
    for change in changes {
        change.write(&transaction)?;
    }
    transaction.commit().map_err(redb::Error::from)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::super::fault::Fault;
    use super::super::medium::builder;
    use super::*;

    fn owners(database: &Database) -> usize {
        let transaction = database.begin_write().unwrap();
        Contents::read(&transaction).unwrap().clients_count()
    }

    #[test]
    fn commit_of_an_earlier_epoch_is_refused_and_changes_nothing() {
        let database = builder().create_with_backend(InMemoryBackend::new()).unwrap();
        let add = Change::Add(proto::nfs4::ClientId(1), "a".into(), state::Lost::default());
        let first = Epoch::begin(&database).unwrap();
        commit(&database, first, &[&add]).unwrap();
        let second = Epoch::begin(&database).unwrap();
        let late = Change::Add(proto::nfs4::ClientId(2), "b".into(), state::Lost::default());
        let refused: Fault = commit(&database, first, &[&late]).unwrap_err();
        assert!(refused.to_string().contains("another server has started"), "{refused}");
        assert_eq!(owners(&database), 1);
        commit(&database, second, &[&late]).unwrap();
        assert_eq!(owners(&database), 2);
    }
}
