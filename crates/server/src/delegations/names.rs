//! Names that an operation is about to remove or replace.
//!
//! REMOVE and RENAME first look up the object of the name, because other clients may hold state of it. Until
//! the change is made no other operation may take the name: another object could get it, and its holders
//! would not be recalled.

use std::collections::BTreeSet;
use std::sync::Arc;

use event_listener::Event;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use proto::nfs4::{ClientId, Status};
use state::{Changing, FileId, NameChange, Now};

use super::{Delegations, HOLD};

/// A directory and a name in it, shared by the table and the operation.
type Entry = (FileId, Arc<[u8]>);

/// The names that operations have taken.
#[derive(Debug, Default)]
pub(super) struct NamesTaken {
    taken: Mutex<BTreeSet<Entry>>,
    freed: Event,
}

/// Keeps other operations from taking these names until it is dropped.
#[derive(Debug, Default)]
pub struct TakenNames {
    taken: Option<(Arc<NamesTaken>, Vec<Entry>)>,
    /// The time when the operation began to wait for them, if it did.
    since: Option<Now>,
}

impl NamesTaken {
    /// Takes all of these names or none, so that waiters cannot deadlock.
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

impl Delegations {
    /// Takes names, once no other operation has one of them.
    ///
    /// # Errors
    /// DELAY when that takes longer than an operation is held for a delegation.
    pub(crate) async fn take_names(
        &self,
        entries: impl IntoIterator<Item = (FileId, impl AsRef<[u8]>)>,
    ) -> Result<TakenNames, Status> {
        let names = Arc::clone(&self.names);
        let entries: Vec<Entry> =
            entries.into_iter().map(|(directory, name)| (directory, Arc::from(name.as_ref()))).collect();
        let (mut deadline, mut since) = (None, None);
        // Mostly they are free, and no listener is needed.
        while !names.take(&entries) {
            let freed = names.freed.listen();
            // They may have been freed before that.
            if names.take(&entries) {
                break;
            }
            since = since.or_else(|| Some(self.core.now()));
            let late = deadline.take().unwrap_or_else(|| self.core.world().sleep(HOLD));
            match select(freed, late).await {
                Either::Left(((), late)) => deadline = Some(late),
                Either::Right(_) => return Err(Status::Delay),
            }
        }
        Ok(TakenNames { taken: Some((names, entries)), since })
    }

    /// Begins a change of names that are taken, once no state is in conflict with it. The wait is as long as
    /// is left after the wait for the names.
    pub(crate) async fn begin_name_change(
        self: &Arc<Self>,
        names: &TakenNames,
        change: &NameChange,
        client: Option<ClientId>,
    ) -> Result<Vec<Changing<'_>>, Status> {
        self.hold_since(names.since, || self.core.state().begin_name_change(change, client, self.core.now()))
            .await
    }
}
