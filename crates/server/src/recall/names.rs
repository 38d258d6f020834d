//! Names that somebody is about to take away.
//!
//! Whoever removes or renames looks first at what the name is of, for others may hold something of that
//! object. Between that and the change nobody else may take the name away: there could be another object
//! under it by then, and nobody would have been asked about that.

use std::collections::BTreeSet;
use std::sync::Arc;

use event_listener::Event;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use proto::nfs4::{ClientId, Status};
use state::{Changing, FileId, NameChange, Now};

use super::{HOLD, Recaller};

/// A directory and a name in it, which is in the table and with who takes it.
type Entry = (FileId, Arc<[u8]>);

/// The names that are being taken away.
#[derive(Debug, Default)]
pub(super) struct NamesTaken {
    taken: Mutex<BTreeSet<Entry>>,
    freed: Event,
}

/// As long as it lives nobody else takes these names away.
#[derive(Debug, Default)]
pub struct TakenNames {
    taken: Option<(Arc<NamesTaken>, Vec<Entry>)>,
    /// When the operation began to wait for them, if it did.
    since: Option<Now>,
}

impl NamesTaken {
    /// Takes all of these names or none: so nobody waits for who waits.
    fn take(&self, entries: &[Entry]) -> bool {
        let mut taken = self.taken.lock();
        let is_free = !entries.iter().any(|entry| taken.contains(entry));
        if is_free {
            taken.extend(entries.iter().cloned());
        }
        is_free
    }
}

impl Drop for TakenNames {
    fn drop(&mut self) {
        let Some((names, entries)) = self.taken.take() else { return };
        let mut taken = names.taken.lock();
        for entry in &entries {
            taken.remove(entry);
        }
        drop(taken);
        names.freed.notify(usize::MAX);
    }
}

impl Recaller {
    /// Waits until nobody else is about to take one of these names away.
    ///
    /// # Errors
    /// DELAY when that takes longer than an operation is held for a delegation.
    pub(crate) async fn take_names(
        &self,
        entries: impl IntoIterator<Item = (FileId, impl AsRef<[u8]>)>,
    ) -> Result<TakenNames, Status> {
        let names = Arc::clone(&self.inner.names);
        let entries: Vec<Entry> =
            entries.into_iter().map(|(directory, name)| (directory, Arc::from(name.as_ref()))).collect();
        let (mut deadline, mut since) = (None, None);
        // Mostly nobody else wants them, and nothing is to be listened for.
        while !names.take(&entries) {
            let freed = names.freed.listen();
            // They may have been freed before that.
            if names.take(&entries) {
                break;
            }
            since = since.or_else(|| Some(self.now()));
            let late = deadline.take().unwrap_or_else(|| self.world().sleep(HOLD));
            match select(freed, late).await {
                Either::Left(((), late)) => deadline = Some(late),
                Either::Right(_) => return Err(Status::Delay),
            }
        }
        Ok(TakenNames { taken: Some((names, entries)), since })
    }

    /// Begins a change of names that are taken, when nothing is in its way any more: one wait for
    /// everything, as long as is left after the wait for the names.
    pub(crate) async fn begin_name_change(
        &self,
        names: &TakenNames,
        change: &NameChange,
        client: Option<ClientId>,
    ) -> Result<Vec<Changing<'_>>, Status> {
        self.hold_since(names.since, || self.state().begin_name_change(change, client, self.now())).await
    }
}
