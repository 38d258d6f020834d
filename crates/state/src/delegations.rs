//! Delegations: when one is granted, what recalls it, and how it ends (RFC 8881 §10.2–10.4).
//!
//! ```text
//!   granted ──conflict──▶ recalled ──DELEGRETURN──▶ returned
//!                             └────── deadline ────▶ revoked (until FREE_STATEID)
//! ```
//! A holder that is seen to flush what it has changed gets more time, up to a bound (RFC 8881 §10.2).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proto::nfs4::{ClientId, StateId, StateOther, Status, share};

use crate::client::{Client, StateKind, check_sequence};
use crate::delegation_table::{Deadline, Delegation};
use crate::file::FileState;
use crate::files::Shard;
use crate::{Blocked, DelegationKind, FileId, Now, Obstacles, Recall, State};

/// Recall times after which a delegation is revoked, however busily its holder flushes.
const RECALL_TIMES_MAX: u64 = 4;

/// A change under way by somebody without an open. As long as it lives, no delegation of the file is granted.
#[derive(Debug)]
pub struct Changing<'a>(&'a AtomicUsize);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A write delegation that somebody else asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteHeld {
    /// Whose.
    pub client: ClientId,
    /// Which.
    pub state_id: StateId,
    /// It is neither recalled nor lapsed: its holder can say what it has changed.
    pub may_be_asked: bool,
    /// Its holder keeps the times.
    pub timestamps: bool,
}

impl State {
    /// Begins a change of a file (data, attributes or names) by `client`, or by somebody who is none.
    ///
    /// Costs two atomic operations where nothing is delegated.
    ///
    /// # Errors
    /// GRACE, while a delegation of the file may not have been reclaimed yet; what is in the way, to be tried
    /// again when it is gone.
    pub fn begin_change(
        &self,
        file: FileId,
        client: Option<ClientId>,
        now: Now,
    ) -> Result<Changing<'_>, Blocked> {
        if self.awaits_clients() {
            return Err(Status::Grace.into());
        }
        self.begin_entry_change(file, client, now)
    }

    /// What is in the way of reading by `client`, or by somebody who is none.
    pub fn read_conflicts(&self, file: FileId, client: Option<ClientId>, now: Now) -> Obstacles {
        if self.files.shard(file).delegated.load(Ordering::SeqCst) == 0 {
            return Obstacles::default();
        }
        self.files.with(file, |state, _| self.recall_conflicts((file, state), client, false, now))
    }

    pub(crate) fn recall_conflicts(
        &self,
        (file, state): (FileId, &mut FileState),
        client: Option<ClientId>,
        writes: bool,
        now: Now,
    ) -> Obstacles {
        let conflicts = |held: &Delegation| {
            Some(held.client.id()) != client && (writes || held.kind == DelegationKind::Write)
        };
        self.recalls((file, state), conflicts, now)
    }

    /// The delegations of a file that conflict with something. Their time begins when they are recalled:
    /// see [`State::begin_recall`].
    pub(crate) fn recalls(
        &self,
        (file, state): (FileId, &mut FileState),
        conflicts: impl Fn(&Delegation) -> bool,
        now: Now,
    ) -> Obstacles {
        let conflicts = state.delegations.iter().filter(|held| conflicts(held));
        let mut obstacles = Obstacles::default();
        for delegation in conflicts {
            if self.has_lapsed(&delegation.client, now) {
                obstacles.add_lapsed(&delegation.client);
                continue;
            }
            obstacles.recalls.push(Recall {
                client: delegation.client.id(),
                file,
                state_id: StateId { sequence: 1, other: delegation.other },
            });
        }
        if !obstacles.recalls.is_empty() {
            state.recalled = Some(now);
        }
        obstacles
    }

    /// Notes that a delegation is recalled: its holder has so long to return it. True the first time:
    /// CB_RECALL must be sent.
    pub fn begin_recall(&self, recall: &Recall, now: Now) -> bool {
        let after = |times| Now(now.0.saturating_add(self.limits.recall_ms.saturating_mul(times)));
        self.files.with(recall.file, |state, _| {
            let held = state.delegations.of_client_mut(recall.client);
            let held = held.filter(|held| held.other == recall.state_id.other && held.recall.is_none());
            held.map(|held| held.recall = Some(Deadline { at: after(1), last: after(RECALL_TIMES_MAX) }))
                .is_some()
        })
    }

    /// Grants a delegation if nothing speaks against it: no use by others that it would exclude, no change
    /// under way, no recent recall, no bound reached.
    pub(crate) fn delegate(
        &self,
        state: &mut FileState,
        shard: &Shard,
        client: &Arc<Client>,
        (file, kind, timestamps): (FileId, DelegationKind, bool),
        now: Now,
    ) -> Option<StateId> {
        let contended = state.recalled.is_some_and(|at| now.since_ms(at) <= self.limits.recall_pause_ms);
        let has_one = state.delegations.of_client(client.id()).is_some();
        let full = self.files.delegations.load(Ordering::Relaxed) >= self.limits.delegations_max;
        if contended || has_one || full || state.is_used_against(client, kind) {
            return None;
        }
        shard.delegated.fetch_add(1, Ordering::SeqCst);
        let other = self.files.next_other();
        let granted = shard.changing.load(Ordering::SeqCst) == 0
            && client.add_state(other, file, StateKind::Delegation).is_ok();
        if !granted {
            shard.delegated.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        self.files.delegations.fetch_add(1, Ordering::Relaxed);
        let (client, uses) = (Arc::clone(client), Arc::default());
        state.delegations.insert(Delegation { other, client, kind, timestamps, recall: None, uses });
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
    pub fn is_delegated(&self, file: FileId, other: &StateOther) -> bool {
        let shard = self.files.shard(file);
        shard.delegated.load(Ordering::SeqCst) > 0
            && shard.files.lock().get(&file).is_some_and(|f| f.delegations.get(other).is_some())
    }

    /// Begins a change of a directory's entries by `client`, or by somebody who is none. As
    /// [`State::begin_change`], but a grace period is no reason to wait: delegations of directories are not
    /// reclaimed.
    ///
    /// # Errors
    /// What is in the way, to be tried again when it is gone.
    pub fn begin_entry_change(
        &self,
        directory: FileId,
        client: Option<ClientId>,
        now: Now,
    ) -> Result<Changing<'_>, Blocked> {
        let shard = self.files.shard(directory);
        shard.changing.fetch_add(1, Ordering::SeqCst);
        let changing = Changing(&shard.changing);
        // A grant counts itself before it looks at `changing`, so one of the two sees the other.
        if shard.delegated.load(Ordering::SeqCst) == 0 {
            return Ok(changing);
        }
        let obstacles = self
            .files
            .with(directory, |state, _| self.recall_conflicts((directory, state), client, true, now));
        if obstacles.is_empty() { Ok(changing) } else { Err(Blocked::By(obstacles)) }
    }

    /// Delegates a directory to a client that reads it (RFC 8881 §10.9): changes by others recall it. `None`
    /// when the client has it already or something speaks against it.
    ///
    /// # Errors
    /// GRACE around a restart.
    pub fn delegate_directory(
        &self,
        client: &Arc<Client>,
        directory: FileId,
        now: Now,
    ) -> Result<Option<StateId>, Status> {
        self.check_new_state(client)?;
        if !client.has_room(&self.limits) {
            return Ok(None);
        }
        let granted = self.files.with(directory, |state, shard| {
            self.delegate(state, shard, client, (directory, DelegationKind::Read, false), now)
        });
        Ok(granted)
    }

    /// Delegates a file to a client that need not have it open (RFC 8881 §18.49). `None` when the client has
    /// it already or something speaks against it.
    ///
    /// # Errors
    /// GRACE, NO_GRACE, RECLAIM_BAD and RECLAIM_CONFLICT around a restart.
    pub fn delegate_file(
        &self,
        client: &Arc<Client>,
        (file, kind): (FileId, DelegationKind),
        reclaim: bool,
        now: Now,
    ) -> Result<Option<StateId>, Status> {
        if reclaim {
            self.begin_reclaim(client, file, now)?;
        } else {
            self.check_new_state(client)?;
        }
        if !client.has_room(&self.limits) {
            return Ok(None);
        }
        let access = match kind {
            DelegationKind::Read => share::READ,
            DelegationKind::Write => share::BOTH,
        };
        self.files.with(file, |state, shard| {
            // What the holder may open on its own must be nobody's to deny.
            let is_denied = self.check_shares(state, (access, 0), None, now).is_err();
            if reclaim && (is_denied || state.is_used_against(client, kind)) {
                return Err(Status::ReclaimConflict);
            }
            if is_denied {
                Ok(None)
            } else {
                Ok(self.delegate(state, shard, client, (file, kind, false), now))
            }
        })
    }

    /// The write delegation of `file`, unless `client` holds it itself. Few files have one, so that the time
    /// is asked for when it is needed.
    pub fn write_delegation(
        &self,
        file: FileId,
        client: Option<ClientId>,
        now: impl FnOnce() -> Now,
    ) -> Option<WriteHeld> {
        let shard = self.files.shard(file);
        if shard.delegated.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let files = shard.files.lock();
        let held = files.get(&file)?.delegations.write()?;
        (Some(held.client.id()) != client).then(|| WriteHeld {
            client: held.client.id(),
            state_id: StateId { sequence: 1, other: held.other },
            may_be_asked: held.recall.is_none() && !self.has_lapsed(&held.client, now()),
            timestamps: held.timestamps,
        })
    }

    /// Moves on whenever a write delegation ends. Who has looked at a file, then finds none of it, and this
    /// as it was before the look, has seen whatever a holder had written.
    pub fn write_delegations_ended(&self) -> u64 {
        self.files.write_delegations_ended.load(Ordering::SeqCst)
    }

    /// How many delegations each client holds that holds any.
    pub fn delegations_by_client(&self) -> Vec<(ClientId, usize)> {
        let table = self.clients.table.lock();
        let counted = table.records.iter().map(|(id, record)| (*id, record.client.delegation_count()));
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// Delegations that are out.
    pub fn delegation_count(&self) -> usize {
        self.files.delegations.load(Ordering::SeqCst)
    }

    /// Checks that `id` is a delegation of `client` for `file`, by which it is about to open the file: as it
    /// does before it returns a delegation.
    ///
    /// # Errors
    /// BAD_STATEID and its kin.
    pub fn check_delegation(
        &self,
        client: &Client,
        file: FileId,
        id: &StateId,
        now: Now,
    ) -> Result<(), Status> {
        match client.find(id)? {
            (found, StateKind::Delegation) if found == file => check_sequence(id.sequence, 1)?,
            _ => return Err(Status::BadStateId),
        }
        self.files.with(file, |state, _| self.give_time(state, client.id(), now));
        Ok(())
    }

    /// A client was seen to flush what it has of a file. If its delegation is recalled, it gets the time for
    /// that again.
    pub(crate) fn give_time(&self, state: &mut FileState, client: ClientId, now: Now) {
        if let Some(held) = state.delegations.of_client_mut(client) {
            held.give_time(now, self.limits.recall_ms);
        }
    }

    /// Checks that `id` is a delegation of `client` for `file` under which it keeps the times (RFC 9754).
    ///
    /// # Errors
    /// BAD_STATEID and its kin.
    pub fn check_timestamps(
        &self,
        client: &Client,
        file: FileId,
        id: &StateId,
        now: Now,
    ) -> Result<(), Status> {
        self.check_delegation(client, file, id, now)?;
        let keeps =
            |state: &mut FileState| state.delegations.get(&id.other).is_some_and(|held| held.timestamps);
        if self.files.with(file, |state, _| keeps(state)) { Ok(()) } else { Err(Status::BadStateId) }
    }
}

/// A use of a delegation under way. As long as it lives the delegation is not revoked, but for the bound.
#[derive(Debug)]
pub struct Using(Arc<AtomicUsize>);

impl Drop for Using {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Delegation {
    fn give_time(&mut self, now: Now, recall_ms: u64) {
        if let Some(recall) = &mut self.recall {
            recall.at = recall.at.max(Now(now.0.saturating_add(recall_ms)).min(recall.last));
        }
    }

    /// True when it was not returned in time; a use under way gives it time.
    pub(crate) fn is_overdue(&mut self, now: Now, recall_ms: u64) -> bool {
        if self.uses.load(Ordering::SeqCst) > 0 {
            self.give_time(now, recall_ms);
        }
        self.recall.is_some_and(|recall| recall.at <= now)
    }

    /// Notes a use that begins.
    pub(crate) fn begin_use(&mut self, now: Now, recall_ms: u64) -> Using {
        self.give_time(now, recall_ms);
        self.uses.fetch_add(1, Ordering::SeqCst);
        Using(Arc::clone(&self.uses))
    }
}

impl FileState {
    /// True when somebody uses the file in a way that the client, delegated to, would have to hear of.
    fn is_used_against(&self, client: &Client, kind: DelegationKind) -> bool {
        match kind {
            // One's own writing counts as well: its changes would have to be told apart from those of others.
            DelegationKind::Read => {
                self.opens.any_writes()
                    || self.delegations.write().is_some()
                    // NLM's users have nothing open. The holder would grant locks for reading without asking.
                    || self.shares.any_writes()
                    || self.locks.ranges().any_exclusive()
            }
            DelegationKind::Write => {
                self.opens.any_of_other(client.id())
                    || !self.delegations.is_empty()
                    || !self.shares.is_empty()
                    || self.locks.ranges().any_of_other(client.id())
            }
        }
    }
}
