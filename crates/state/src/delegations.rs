//! Delegations: when one is granted, what recalls it, and how it ends (RFC 8881 §10.2–10.4).
//!
//! ```text
//!   granted ──conflict──▶ recalled ──DELEGRETURN──▶ returned
//!                             └────── deadline ────▶ revoked (until FREE_STATEID)
//! ```

use std::sync::atomic::{AtomicUsize, Ordering};

use proto::nfs4::{ClientId, StateId, Status};

use crate::client::{Client, StateKind, check_sequence};
use crate::file::{Delegation, FileState};
use crate::files::Shard;
use crate::{DelegationKind, FileId, Now, State};

/// A delegation in the way of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recall {
    /// Whose.
    pub client: ClientId,
    /// Which.
    pub state_id: StateId,
    /// It was not recalled before: CB_RECALL must be sent.
    pub first: bool,
}

/// A change under way by somebody without an open. As long as it lives, no delegation of the file is granted.
#[derive(Debug)]
pub struct Changing<'a>(&'a AtomicUsize);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl State {
    /// Begins a change of a file (data, attributes or names) by `client`, or by somebody who is none.
    ///
    /// Costs two atomic operations where nothing is delegated.
    ///
    /// # Errors
    /// The delegations that are in the way; to be tried again when they have been returned.
    pub fn begin_change(
        &self,
        file: FileId,
        client: Option<ClientId>,
        now: Now,
    ) -> Result<Changing<'_>, Vec<Recall>> {
        let shard = self.files.shard(file);
        shard.changing.fetch_add(1, Ordering::SeqCst);
        let changing = Changing(&shard.changing);
        // A grant counts itself before it looks at `changing`, so one of the two sees the other.
        if shard.delegated.load(Ordering::SeqCst) == 0 {
            return Ok(changing);
        }
        let recalls = self.files.with(file, |state, _| self.recall_conflicts(state, client, true, now));
        if recalls.is_empty() { Ok(changing) } else { Err(recalls) }
    }

    /// The delegations that are in the way of reading by `client`, or by somebody who is none.
    pub fn read_conflicts(&self, file: FileId, client: Option<ClientId>, now: Now) -> Vec<Recall> {
        if self.files.shard(file).delegated.load(Ordering::SeqCst) == 0 {
            return Vec::new();
        }
        self.files.with(file, |state, _| self.recall_conflicts(state, client, false, now))
    }

    pub(crate) fn recall_conflicts(
        &self,
        state: &mut FileState,
        client: Option<ClientId>,
        writes: bool,
        now: Now,
    ) -> Vec<Recall> {
        let deadline = Now(now.0.saturating_add(self.limits.recall_ms));
        let conflicts = state
            .delegations
            .iter_mut()
            .filter(|d| Some(d.client) != client && (writes || d.kind == DelegationKind::Write));
        let recalls: Vec<Recall> = conflicts
            .map(|delegation| Recall {
                client: delegation.client,
                state_id: StateId { sequence: 1, other: delegation.other },
                first: delegation.deadline.replace(delegation.deadline.unwrap_or(deadline)).is_none(),
            })
            .collect();
        if !recalls.is_empty() {
            state.recalled = Some(now);
        }
        recalls
    }

    /// Grants a read delegation if nothing speaks against it: no writer, no change under way, no recent recall, no
    /// bound reached.
    pub(crate) fn delegate(
        &self,
        state: &mut FileState,
        shard: &Shard,
        client: &Client,
        file: FileId,
        now: Now,
    ) -> Option<StateId> {
        use proto::nfs4::share;
        let contended = state.recalled.is_some_and(|at| now.since_ms(at) <= self.limits.recall_pause_ms);
        let written = state.opens.iter().any(|open| open.access & share::WRITE != 0);
        let has_one = state.delegations.iter().any(|d| d.client == client.id());
        let full = self.files.delegations.load(Ordering::Relaxed) >= self.limits.delegations_max;
        if contended || written || has_one || full {
            return None;
        }
        shard.delegated.fetch_add(1, Ordering::SeqCst);
        if shard.changing.load(Ordering::SeqCst) > 0 {
            shard.delegated.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        self.files.delegations.fetch_add(1, Ordering::Relaxed);
        let other = self.files.next_other();
        client.add_state(other, file, StateKind::Delegation);
        state.delegations.push(Delegation {
            other,
            client: client.id(),
            kind: DelegationKind::Read,
            deadline: None,
        });
        Some(StateId { sequence: 1, other })
    }

    /// Takes a delegation back (RFC 8881 §18.6). Returns its file, whose waiters may go on.
    ///
    /// # Errors
    /// BAD_STATEID and its kin.
    pub fn return_delegation(&self, client: &Client, id: &StateId) -> Result<FileId, Status> {
        let (file, kind) = client.find(id)?;
        if kind != StateKind::Delegation {
            return Err(Status::BadStateId);
        }
        check_sequence(id.sequence, 1)?;
        client.remove_state(&id.other);
        self.files.with(file, |state, shard| self.files.drop_delegation(state, shard, &id.other));
        Ok(file)
    }

    /// True while the delegation of `file` with this `other` is out.
    pub fn is_delegated(&self, file: FileId, other: &[u8; 12]) -> bool {
        let shard = self.files.shard(file);
        shard.delegated.load(Ordering::SeqCst) > 0
            && shard.files.lock().get(&file).is_some_and(|f| f.delegations.iter().any(|d| d.other == *other))
    }

    /// Delegations that are out.
    pub fn delegation_count(&self) -> usize {
        self.files.delegations.load(Ordering::Relaxed)
    }

    /// Checks that `id` is a delegation of `client` for `file`.
    ///
    /// # Errors
    /// BAD_STATEID and its kin.
    pub fn check_delegation(&self, client: &Client, file: FileId, id: &StateId) -> Result<(), Status> {
        match client.find(id)? {
            (found, StateKind::Delegation) if found == file => check_sequence(id.sequence, 1),
            _ => Err(Status::BadStateId),
        }
    }

    /// Revokes what was not returned in time; returns how many.
    pub(crate) fn revoke_overdue(&self, now: Now) -> usize {
        let mut overdue = Vec::new();
        for shard in self.files.shards() {
            if shard.delegated.load(Ordering::SeqCst) == 0 {
                continue;
            }
            for (file, state) in shard.files.lock().iter() {
                let late = state.delegations.iter().filter(|d| d.deadline.is_some_and(|at| at <= now));
                overdue.extend(late.map(|delegation| (*file, delegation.client, delegation.other)));
            }
        }
        for (file, client, other) in &overdue {
            self.files.with(*file, |state, shard| self.files.drop_delegation(state, shard, other));
            if let Some(client) = self.client(*client) {
                client.revoke(*other);
            }
        }
        overdue.len()
    }
}
