//! LOCK, LOCKT and LOCKU (RFC 8881 §9.1–9.4, §18.10–18.12). NLM's calls of the same meaning are in
//! `nlm_locks`.

use std::sync::Arc;

use bytes::Bytes;
use proto::nfs4::{StateId, StateOther, Status, share};

use crate::client::{Client, StateKind, check_sequence};
use crate::file::FileState;
use crate::kept::own;
use crate::lock_table::{LockState, LockTable, PIECE};
use crate::obstacles::CONFLICTS_MAX;
use crate::range_table::HeldRange;
use crate::{Blocked, ByteRangeLock, FileId, LockOwner, Now, Obstacles, Range, State};

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
    /// DENIED with the lock in the way; BAD_STATEID and its kin; OPENMODE when the open does not allow the
    /// kind; GRACE, NO_GRACE, RECLAIM_BAD and RECLAIM_CONFLICT around a restart; DELAY at a bound; clients in
    /// the way whose lease is over.
    pub fn lock(&self, client: &Arc<Client>, request: &LockRequest, now: Now) -> Result<StateId, LockError> {
        if request.reclaim {
            self.begin_reclaim(client, request.file, now)?;
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
        if !client.has_room(&self.limits) {
            return Err(Status::Delay.into());
        }
        self.files.with(file, |state, _| {
            self.give_time(state, client.id(), now);
            let (open, name) = state.locker(client, &request.locker)?;
            state.check_lock_mode(&open, request.exclusive)?;
            let owner = LockOwner::Nfs4 { client: client.id(), owner: name.clone() };
            let before = state.locks.ranges().len();
            let wanted = ByteRangeLock { range: request.range, exclusive: request.exclusive };
            let locked = match self.lock_range(state, &owner, wanted, now) {
                // What was held is held by somebody else (RFC 8881 §9.11).
                Err(LockError::Denied(_)) if request.reclaim => Err(Status::ReclaimConflict.into()),
                Err(error) => Err(error),
                Ok(()) => self.lock_state_id(state, client, file, open, name).map_err(LockError::from),
            };
            client.change_ranges(before, state.locks.ranges().len());
            locked
        })
    }

    /// The lock-owner of a request, if its stateid still names one.
    pub fn lock_owner(&self, client: &Client, request: &LockRequest) -> Option<Bytes> {
        match &request.locker {
            Locker::New { owner, .. } => Some(own(owner)),
            Locker::Existing(id) => self.files.with(request.file, |state, _| {
                let lock = state.locks.get(&id.other).filter(|lock| lock.client.id() == client.id());
                lock.map(|lock| lock.owner.clone())
            }),
        }
    }

    /// Checks that no lock of another owner conflicts with `wanted`.
    ///
    /// # Errors
    /// The conflicting lock; the clients with conflicting locks whose lease has expired.
    pub fn test_lock(
        &self,
        file: FileId,
        owner: &LockOwner,
        wanted: ByteRangeLock,
        now: Now,
    ) -> Result<(), LockError> {
        self.files.with(file, |state, _| self.check_range(state, owner, &wanted, now))
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
        loop {
            let unlocked = self.files.with(file, |state, _| {
                let lock = state.locks.get(&id.other).ok_or(Status::BadStateId)?;
                check_sequence(id.sequence, lock.sequence)?;
                let owner = lock.lock_owner();
                let before = state.locks.ranges().len();
                let is_done = self.unlock_piece(&mut state.locks, &owner, range)?;
                client.change_ranges(before, state.locks.ranges().len());
                if !is_done {
                    return Ok(None);
                }
                let sequence = state.locks.advance(&id.other)?;
                Ok(Some(StateId { sequence, other: id.other }))
            });
            if let Some(unlocked) = unlocked.transpose() {
                return unlocked;
            }
        }
    }

    /// Unlocks a piece of a range, for the shard of a file is not locked for as long as an owner with very
    /// many locks takes; true when the owner has none left there. A lock is not split that the full table
    /// has no room for. Whole locks can always be given up.
    ///
    /// # Errors
    /// DELAY when splitting a lock would go beyond the bound.
    pub(crate) fn unlock_piece(
        &self,
        locks: &mut LockTable,
        owner: &LockOwner,
        range: Range,
    ) -> Result<bool, Status> {
        let ranges = locks.ranges();
        if ranges.len() >= self.limits.ranges_per_file_max && ranges.would_split(owner, &range) {
            return Err(Status::Delay);
        }
        Ok(locks.unlock_some(owner, range, PIECE))
    }

    pub(crate) fn lock_range(
        &self,
        state: &mut FileState,
        owner: &LockOwner,
        wanted: ByteRangeLock,
        now: Now,
    ) -> Result<(), LockError> {
        self.check_range(state, owner, &wanted, now)?;
        if state.locks.ranges().len() >= self.limits.ranges_per_file_max {
            return Err(Status::Delay.into());
        }
        state.locks.lock(owner, wanted.range, wanted.exclusive);
        Ok(())
    }

    fn check_range(
        &self,
        state: &FileState,
        owner: &LockOwner,
        wanted: &ByteRangeLock,
        now: Now,
    ) -> Result<(), LockError> {
        let mut obstacles = Obstacles::default();
        for held in state.locks.ranges().conflicts(owner, &wanted.range, wanted.exclusive, CONFLICTS_MAX) {
            match state.holder(&held) {
                Some(client) if self.has_lapsed(client, now) => obstacles.add_lapsed(client),
                _ => {
                    let HeldRange { owner, range, exclusive } = held;
                    return Err(LockError::Denied(Denied { owner, range, exclusive }));
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
        open: StateOther,
        name: Bytes,
    ) -> Result<StateId, Status> {
        if let Some(other) = state.locks.of_owner(client.id(), &name, open) {
            return Ok(StateId { sequence: state.locks.advance(&other)?, other });
        }
        let other = self.files.next_other();
        if let Err(status) = client.add_state(other, file, StateKind::Lock) {
            // The client is gone, and with it the range that was just locked.
            let owner = LockOwner::Nfs4 { client: client.id(), owner: name };
            state.locks.unlock(&owner, Range::ALL);
            return Err(status);
        }
        state.locks.insert(LockState { other, sequence: 1, client: Arc::clone(client), owner: name, open });
        Ok(StateId { sequence: 1, other })
    }
}

impl FileState {
    /// The NFSv4 client that holds a range.
    fn holder(&self, held: &HeldRange) -> Option<&Arc<Client>> {
        let LockOwner::Nfs4 { client, .. } = &held.owner else { return None };
        self.locks.of_client(*client).map(|lock| &lock.client)
    }

    /// The open and the name that a request to lock stands for.
    fn locker(&self, client: &Client, locker: &Locker) -> Result<(StateOther, Bytes), Status> {
        match locker {
            Locker::Existing(id) => {
                let lock = self.locks.get(&id.other).ok_or(Status::BadStateId)?;
                check_sequence(id.sequence, lock.sequence)?;
                Ok((lock.open, lock.owner.clone()))
            }
            Locker::New { open: id, owner } => {
                let open = self.opens.get(&id.other).filter(|open| open.client.id() == client.id());
                let open = open.ok_or(Status::BadStateId)?;
                check_sequence(id.sequence, open.sequence)?;
                Ok((open.other, own(owner)))
            }
        }
    }

    /// RFC 8881 §18.10.3: a lock needs the open mode of what it protects.
    fn check_lock_mode(&self, open: &StateOther, exclusive: bool) -> Result<(), Status> {
        let open = self.opens.get(open).ok_or(Status::BadStateId)?;
        let needed = if exclusive { share::WRITE } else { share::READ };
        if open.access & needed == 0 { Err(Status::OpenMode) } else { Ok(()) }
    }
}
