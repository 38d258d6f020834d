//! TEST_STATEID and FREE_STATEID (RFC 8881 §18.38, §18.48).

use proto::nfs4::{StateId, Status};

use crate::client::{Client, StateKind, check_sequence};
use crate::recallable::SEQUENCE;
use crate::{FileId, State};

impl State {
    /// Returns the status that a use of a stateid would have.
    pub fn test_state_id(&self, client: &Client, id: &StateId) -> Status {
        let checked = client.find(id).and_then(|(file, kind)| {
            let current = self.files.with(file, |state, _| match kind {
                StateKind::Open => state.opens.get(&id.other).map(|open| open.sequence),
                StateKind::Lock => state.locks.get(&id.other).map(|lock| lock.sequence),
                StateKind::Grant(_) => Some(SEQUENCE),
            });
            check_sequence(id.sequence, current.ok_or(Status::BadStateId)?)
        });
        checked.err().unwrap_or(Status::Ok)
    }

    /// Checks that a stateid is one of `file`.
    ///
    /// # Errors
    /// BAD_STATEID and its kin.
    pub fn check_file(&self, client: &Client, file: FileId, id: &StateId) -> Result<(), Status> {
        let (found, _) = client.find(id)?;
        if found == file { Ok(()) } else { Err(Status::BadStateId) }
    }

    /// Forgets a lock stateid without locks, or a revoked one.
    ///
    /// # Errors
    /// LOCKS_HELD for state that is in use; BAD_STATEID and its kin.
    pub fn free_state_id(&self, client: &Client, id: &StateId) -> Result<(), Status> {
        if client.free_revoked(&id.other) {
            return Ok(());
        }
        let (file, kind) = client.find(id)?;
        if kind != StateKind::Lock {
            return Err(Status::LocksHeld);
        }
        self.files.with(file, |state, _| {
            let lock = state.locks.get(&id.other).ok_or(Status::BadStateId)?;
            check_sequence(id.sequence, lock.sequence)?;
            if state.locks.has_ranges(&id.other) {
                return Err(Status::LocksHeld);
            }
            state.locks.remove_some(&id.other);
            client.remove_state(&id.other);
            Ok(())
        })
    }
}
