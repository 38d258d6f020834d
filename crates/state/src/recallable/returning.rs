//! The return of recallable state by its holder, and what is counted of it.

use std::sync::atomic::Ordering;

use proto::nfs4::{ClientId, StateId, StateOther, Status};

use super::Class;
use super::grant::{Grant, SEQUENCE};
use crate::client::{Client, StateKind, check_sequence};
use crate::file::FileState;
use crate::files::{Files, Shard};
use crate::{FileId, Now, State};

/// A grant that its holder has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Returned {
    /// The file, for which held operations may go on.
    pub file: FileId,
    /// The time of its recall; `None` when it was not recalled.
    pub recalled: Option<Now>,
}

impl State {
    /// Ends a grant of `class` that its holder returns.
    ///
    /// # Errors
    /// BAD_STATEID, also for state of another class; OLD_STATEID; the status of a revoked stateid.
    pub fn return_grant(&self, client: &Client, id: &StateId, class: Class) -> Result<Returned, Status> {
        let (file, kind) = client.find(id)?;
        if kind != StateKind::Grant(class) {
            return Err(Status::BadStateId);
        }
        check_sequence(id.sequence, SEQUENCE)?;
        client.remove_state(&id.other);
        let ended = self.files.with(file, |state, shard| self.files.drop_grant(state, shard, &id.other));
        let recall = ended.and_then(|ended| ended.recall);
        Ok(Returned { file, recalled: recall.map(|recall| recall.since) })
    }

    /// True while the grant of `file` with this `other` is held.
    pub fn is_granted(&self, file: FileId, other: &StateOther) -> bool {
        let shard = self.files.shard(file);
        shard.granted.load(Ordering::SeqCst) > 0
            && shard.files.lock().get(&file).is_some_and(|state| state.grants.get(other).is_some())
    }

    /// The number of grants of each client that holds any.
    pub fn grants_by_client(&self) -> Vec<(ClientId, usize)> {
        let table = self.clients.table.lock();
        let counted = table.records.iter().map(|(id, record)| (*id, record.client.grant_count()));
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// The number of grants of all clients.
    pub fn grant_count(&self) -> usize {
        self.files.grants.load(Ordering::SeqCst)
    }
}

impl Files {
    /// Removes a grant from its file. A write delegation counts as ended before it is removed.
    pub(crate) fn drop_grant(
        &self,
        state: &mut FileState,
        shard: &Shard,
        other: &StateOther,
    ) -> Option<Box<Grant>> {
        if state.grants.get(other).is_some_and(Grant::is_write_delegation) {
            self.write_delegations_ended.fetch_add(1, Ordering::SeqCst);
        }
        let ended = state.grants.remove(other)?;
        shard.granted.fetch_sub(1, Ordering::SeqCst);
        self.grants.fetch_sub(1, Ordering::SeqCst);
        Some(ended)
    }
}
