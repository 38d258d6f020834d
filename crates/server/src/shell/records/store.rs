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
use super::contents::{Contents, Start};
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
    start: Start,
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
        let start = Start::begin(&database)?;
        let transaction = database.begin_write()?;
        let contents = Contents::read(&transaction)?;
        transaction.abort()?;
        let (database, failed, pause) = (Some(database), None, PAUSE_MIN);
        Ok(Self { medium, database, start, contents, health, failed, pause })
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
            commit(&database, changes)?;
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
        let found = Start::read(&transaction)?;
        if found.is_some_and(|found| found.number >= self.start.number && found != self.start) {
            return Err(Fault::new(
                "another server has started with this state directory",
                "restart this server",
            ));
        }
        if found != Some(self.start) || Contents::read(&transaction)? != self.contents {
            self.start.write(&transaction)?;
            self.contents.write(&transaction)?;
            transaction.commit().map_err(redb::Error::from)?;
        } else {
            transaction.abort().map_err(redb::Error::from)?;
        }
        Ok(database)
    }
}

fn commit(database: &Database, changes: &[&Change]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    for change in changes {
        change.write(&transaction)?;
    }
    transaction.commit()?;
    Ok(())
}
