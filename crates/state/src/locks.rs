//! LOCK, LOCKT and LOCKU (RFC 8881 §9.1–9.4, §18.10–18.12). NLM's calls of the same meaning are in `nlm_locks`.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{StateId, Status, share};

use crate::client::{Client, StateKind, check_sequence, next_sequence};
use crate::file::{FileState, LockState};
use crate::kept::own;
use crate::ranges::{Held, RangeTable};
use crate::{Blocked, FileId, LockOwner, Now, Obstacles, Range, State};

/// Who locks, as LOCK says it.
#[derive(Debug, Clone)]
pub enum Locker {
    /// By the stateid of earlier locks.
    Existing(StateId),
    /// A lock-owner under an open.
    New {
        /// The open.
        open: StateId,
        /// The lock-owner.
        owner: Bytes,
    },
}

/// What LOCK asks for.
#[derive(Debug, Clone)]
pub struct LockRequest {
    /// Which file; must be that of the stateid.
    pub file: FileId,
    /// Who.
    pub locker: Locker,
    /// Where.
    pub range: Range,
    /// Nobody else may lock there.
    pub exclusive: bool,
    /// The lock was held before the server restarted.
    pub reclaim: bool,
}

/// The lock in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// Whose.
    pub owner: LockOwner,
    /// Where.
    pub range: Range,
    /// How.
    pub exclusive: bool,
}

/// Why a range was not locked.
#[derive(Debug)]
pub enum LockError {
    /// Somebody else has a lock there.
    Denied(Denied),
    /// What stands in the way may go, or the request fails for another reason.
    Blocked(Blocked),
}

impl From<Status> for LockError {
    fn from(status: Status) -> Self {
        Self::Blocked(Blocked::Status(status))
    }
}

impl State {
    /// Locks a range for an NFSv4 lock-owner.
    ///
    /// # Errors
    /// DENIED with the lock in the way; BAD_STATEID and its kin; OPENMODE when the open does not allow the kind; GRACE, NO_GRACE,
    /// RECLAIM_BAD and RECLAIM_CONFLICT around a restart; DELAY at a bound; clients in the way whose lease is over.
    pub fn lock(&self, client: &Arc<Client>, request: &LockRequest, now: Now) -> Result<StateId, LockError> {
        if request.reclaim {
            self.check_reclaim_of(client, request.file)?;
        } else {
            self.check_new_state(client)?;
        }
        let named = match &request.locker {
            Locker::Existing(id) => (id, StateKind::Lock),
            Locker::New { open, .. } => (open, StateKind::Open),
        };
        let (file, kind) = client.find(named.0)?;
        if kind != named.1 || file != request.file {
            return Err(Status::BadStateId.into());
        }
        if client.state_count() >= self.limits.states_per_client_max {
            return Err(Status::Delay.into());
        }
        self.files.with(file, |state, _| {
            self.give_time(state, client.id(), now);
            let (open, name) = state.locker(client, &request.locker)?;
            state.check_lock_mode(&open, request.exclusive)?;
            let owner = LockOwner::Nfs4 { client: client.id(), owner: name.clone() };
            match self.lock_range(state, &owner, (request.range, request.exclusive), now) {
                // What was held is held by somebody else (RFC 8881 §9.11).
                Err(LockError::Denied(_)) if request.reclaim => Err(Status::ReclaimConflict.into()),
                Err(error) => Err(error),
                Ok(()) => Ok(self.lock_state_id(state, client, file, open, name)?),
            }
        })
    }

    /// The lock-owner of a request, if its stateid still names one.
    pub fn lock_owner(&self, client: &Client, request: &LockRequest) -> Option<Bytes> {
        match &request.locker {
            Locker::New { owner, .. } => Some(own(owner)),
            Locker::Existing(id) => self.files.with(request.file, |state, _| {
                let lock = state.locks.iter().find(|l| l.other == id.other && l.client.id() == client.id());
                lock.map(|lock| lock.owner.clone())
            }),
        }
    }

    /// Whether a lock would be in the way of whoever asks.
    ///
    /// # Errors
    /// The lock in the way; clients whose lease is over.
    pub fn test_lock(
        &self,
        file: FileId,
        owner: &LockOwner,
        (range, exclusive): (Range, bool),
        now: Now,
    ) -> Result<(), LockError> {
        self.files.with(file, |state, _| self.check_range(state, owner, (&range, exclusive), now))
    }

    /// Unlocks a range for an NFSv4 lock-owner.
    ///
    /// # Errors
    /// BAD_STATEID and its kin; DELAY when splitting a lock would go beyond the bound.
    pub fn unlock(
        &self,
        client: &Client,
        file: FileId,
        id: &StateId,
        range: Range,
    ) -> Result<StateId, Status> {
        let (found, kind) = client.find(id)?;
        if kind != StateKind::Lock || found != file {
            return Err(Status::BadStateId);
        }
        let ranges_max = self.limits.ranges_per_file_max;
        self.files.with(file, |state, _| {
            let lock = state.locks.iter_mut().find(|l| l.other == id.other).ok_or(Status::BadStateId)?;
            check_sequence(id.sequence, lock.sequence)?;
            let owner = LockOwner::Nfs4 { client: client.id(), owner: lock.owner.clone() };
            unlock_range(&mut state.ranges, &owner, range, ranges_max)?;
            lock.sequence = next_sequence(lock.sequence);
            Ok(StateId { sequence: lock.sequence, other: id.other })
        })
    }

    pub(crate) fn lock_range(
        &self,
        state: &mut FileState,
        owner: &LockOwner,
        (range, exclusive): (Range, bool),
        now: Now,
    ) -> Result<(), LockError> {
        self.check_range(state, owner, (&range, exclusive), now)?;
        if state.ranges.len() >= self.limits.ranges_per_file_max {
            return Err(Status::Delay.into());
        }
        state.ranges.lock(owner, range, exclusive);
        Ok(())
    }

    fn check_range(
        &self,
        state: &FileState,
        owner: &LockOwner,
        (range, exclusive): (&Range, bool),
        now: Now,
    ) -> Result<(), LockError> {
        let mut obstacles = Obstacles::default();
        for held in state.ranges.conflicts(owner, range, exclusive) {
            match state.holder(held) {
                Some(client) if self.has_lapsed(client, now) => obstacles.add_lapsed(client),
                _ => {
                    return Err(LockError::Denied(Denied {
                        owner: held.owner.clone(),
                        range: held.range,
                        exclusive: held.exclusive,
                    }));
                }
            }
        }
        if obstacles.is_empty() { Ok(()) } else { Err(LockError::Blocked(Blocked::By(obstacles))) }
    }

    fn lock_state_id(
        &self,
        state: &mut FileState,
        client: &Arc<Client>,
        file: FileId,
        open: [u8; 12],
        name: Bytes,
    ) -> Result<StateId, Status> {
        let is_mine = |l: &&mut LockState| l.client.id() == client.id() && l.owner == name && l.open == open;
        if let Some(mine) = state.locks.iter_mut().find(is_mine) {
            mine.sequence = next_sequence(mine.sequence);
            return Ok(StateId { sequence: mine.sequence, other: mine.other });
        }
        let other = self.files.next_other();
        if let Err(status) = client.add_state(other, file, StateKind::Lock) {
            // The client is gone, and with it the range that was just locked.
            state
                .ranges
                .remove(|owner| *owner == LockOwner::Nfs4 { client: client.id(), owner: name.clone() });
            return Err(status);
        }
        state.locks.push(LockState { other, sequence: 1, client: Arc::clone(client), owner: name, open });
        Ok(StateId { sequence: 1, other })
    }
}

/// Unlocks, unless a lock would be split that the full table has no room for. Whole locks can always be given up.
pub(crate) fn unlock_range(
    ranges: &mut RangeTable,
    owner: &LockOwner,
    range: Range,
    ranges_max: usize,
) -> Result<(), Status> {
    if ranges.len() >= ranges_max && ranges.would_split(owner, &range) {
        return Err(Status::Delay);
    }
    ranges.unlock(owner, range);
    Ok(())
}

impl FileState {
    /// The NFSv4 client that holds a range.
    fn holder(&self, held: &Held) -> Option<&Arc<Client>> {
        let LockOwner::Nfs4 { client, .. } = &held.owner else { return None };
        self.locks.iter().map(|lock| &lock.client).find(|holder| holder.id() == *client)
    }

    /// The open and the name that a request to lock stands for.
    fn locker(&self, client: &Client, locker: &Locker) -> Result<([u8; 12], Bytes), Status> {
        match locker {
            Locker::Existing(id) => {
                let lock = self.locks.iter().find(|l| l.other == id.other).ok_or(Status::BadStateId)?;
                check_sequence(id.sequence, lock.sequence)?;
                Ok((lock.open, lock.owner.clone()))
            }
            Locker::New { open: id, owner } => {
                let open = self.opens.iter().find(|o| o.other == id.other && o.client.id() == client.id());
                let open = open.ok_or(Status::BadStateId)?;
                check_sequence(id.sequence, open.sequence)?;
                Ok((open.other, own(owner)))
            }
        }
    }

    /// RFC 8881 §18.10.3: a lock needs the open mode of what it protects.
    fn check_lock_mode(&self, open: &[u8; 12], exclusive: bool) -> Result<(), Status> {
        let open = self.opens.iter().find(|o| o.other == *open).ok_or(Status::BadStateId)?;
        let needed = if exclusive { share::WRITE } else { share::READ };
        if open.access & needed == 0 { Err(Status::OpenMode) } else { Ok(()) }
    }

    fn owner_of(lock: &LockState) -> LockOwner {
        LockOwner::Nfs4 { client: lock.client.id(), owner: lock.owner.clone() }
    }

    /// True while a range is locked under an open, and under no other open of the same lock-owner.
    pub(crate) fn open_has_ranges(&self, open: &[u8; 12]) -> bool {
        self.locks.iter().filter(|l| l.open == *open).any(|lock| {
            let elsewhere = self
                .locks
                .iter()
                .any(|l| l.open != *open && l.client.id() == lock.client.id() && l.owner == lock.owner);
            !elsewhere && self.ranges.holds(&Self::owner_of(lock))
        })
    }

    pub(crate) fn drop_locks_of_open(&mut self, client: &Client, open: &[u8; 12]) {
        self.locks.retain(|lock| {
            let gone = lock.open == *open;
            if gone {
                client.remove_state(&lock.other);
            }
            !gone
        });
    }

    /// Removes a lock stateid with its ranges.
    pub(crate) fn remove_lock_state(&mut self, other: &[u8; 12]) {
        let Some(index) = self.locks.iter().position(|l| l.other == *other) else { return };
        let owner = Self::owner_of(&self.locks.swap_remove(index));
        let shared = self.locks.iter().any(|l| Self::owner_of(l) == owner);
        if !shared {
            self.ranges.remove(|o| *o == owner);
        }
    }

    /// True when the locks of this stateid's owner cover any range.
    pub(crate) fn lock_has_ranges(&self, other: &[u8; 12]) -> bool {
        let lock = self.locks.iter().find(|l| l.other == *other);
        lock.is_some_and(|lock| self.ranges.holds(&Self::owner_of(lock)))
    }
}
