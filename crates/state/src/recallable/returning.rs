//! The return of recallable state by its holder, and what is counted of it.

use std::sync::atomic::Ordering;

use proto::nfs4::{ClientId, StateId, StateOther, Status};

use super::Class;
use super::grant::{Grant, SEQUENCE};
use crate::client::{Client, StateKind, check_sequence};
use crate::file::FileState;
use crate::files::{Files, Shard};
use crate::{FileId, State};

impl State {
    /// Ends a grant of `class` that its holder returns. Returns its file, for which held operations may go
    /// on.
    ///
    /// # Errors
    /// BAD_STATEID, also for state of another class; OLD_STATEID; the status of a revoked stateid.
    pub fn return_grant(&self, client: &Client, id: &StateId, class: Class) -> Result<FileId, Status> {
        let (file, kind) = client.find(id)?;
        if kind != StateKind::Grant(class) {
            return Err(Status::BadStateId);
        }
        check_sequence(id.sequence, SEQUENCE)?;
        client.remove_state(&id.other);
        self.files.with(file, |state, shard| self.files.drop_grant(state, shard, &id.other));
        Ok(file)
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
    /// Ends a grant, however that comes about.
    pub(crate) fn drop_grant(&self, state: &mut FileState, shard: &Shard, other: &StateOther) {
        if state.grants.get(other).is_some_and(Grant::is_write_delegation) {
            self.write_delegations_ended.fetch_add(1, Ordering::SeqCst);
        }
        if state.grants.remove(other).is_some() {
            shard.granted.fetch_sub(1, Ordering::SeqCst);
            self.grants.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
