//! Whether a stateid allows a READ or WRITE (RFC 8881 §8.2.5, §9.1.2).

use proto::nfs4::{StateId, Status, share};

use crate::client::{Client, StateKind, check_sequence};
use crate::file::FileState;
use crate::recallable::SEQUENCE;
use crate::{Blocked, FileId, Now, ShareReservation, State, Using};

/// What is to be done with the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Io {
    /// Read it.
    Read,
    /// Change it.
    Write,
}

impl Io {
    fn access(self) -> u32 {
        match self {
            Self::Read => share::READ,
            Self::Write => share::WRITE,
        }
    }
}

impl State {
    /// As [`State::begin_io`], for what takes no time.
    ///
    /// # Errors
    /// As [`State::begin_io`].
    pub fn check_io(
        &self,
        client: &Client,
        file: FileId,
        id: &StateId,
        io: Io,
        now: Now,
    ) -> Result<(), Blocked> {
        self.begin_io(client, file, id, io, now).map(drop)
    }

    /// Checks a READ, WRITE or SETATTR of the size that is about to be done. For a special stateid only share
    /// reservations count. What uses a delegation of the client, or writes while it has one, keeps that from
    /// being revoked as long as the outcome lives.
    ///
    /// # Errors
    /// BAD_STATEID and its kin; OPENMODE; LOCKED when a special stateid runs into somebody's denial, GRACE;
    /// clients in the way whose lease is over.
    pub fn begin_io(
        &self,
        client: &Client,
        file: FileId,
        id: &StateId,
        io: Io,
        now: Now,
    ) -> Result<Option<Using>, Blocked> {
        if *id == StateId::ANONYMOUS || *id == StateId::READ_BYPASS {
            // Somebody's reservation may not have been reclaimed yet (RFC 8881 §8.4.2.1).
            if self.in_grace() {
                return Err(Status::Grace.into());
            }
            let bypass = *id == StateId::READ_BYPASS && io == Io::Read;
            return if bypass { Ok(None) } else { self.check_anonymous_io(file, io, now).map(|()| None) };
        }
        let (found, kind) = client.find(id)?;
        if found != file {
            return Err(Status::BadStateId.into());
        }
        self.files.with(file, |state, _| {
            state.check_state_io(kind, id, io)?;
            if !matches!(kind, StateKind::Grant(_)) && io == Io::Read {
                return Ok(None);
            }
            let held = state.grants.delegation_of_mut(client.id());
            Ok(held.map(|held| held.begin_use(now, self.limits.recall_ms)))
        })
    }

    /// Checks a READ or WRITE by somebody without a stateid, of NFSv3 too.
    ///
    /// # Errors
    /// LOCKED when a share reservation denies it; GRACE while a client may reclaim a delegation that forbids
    /// it.
    pub fn check_anonymous_io(&self, file: FileId, io: Io, now: Now) -> Result<(), Blocked> {
        if self.awaits_clients() {
            return Err(Status::Grace.into());
        }
        let wanted = ShareReservation::of_access(io.access());
        self.files.with(file, |state, _| match self.check_shares(state, wanted, None, now) {
            Err(Blocked::Status(_)) => Err(Status::Locked.into()),
            checked => checked,
        })
    }
}

impl FileState {
    fn check_state_io(&self, kind: StateKind, id: &StateId, io: Io) -> Result<(), Status> {
        match kind {
            StateKind::Open => self.check_open(id, io),
            StateKind::Lock => {
                let lock = self.locks.get(&id.other).ok_or(Status::BadStateId)?;
                check_sequence(id.sequence, lock.sequence)?;
                self.check_open(&StateId { sequence: 0, other: lock.open }, io)
            }
            StateKind::Grant(_) => self.check_grant(id, io),
        }
    }

    fn check_grant(&self, id: &StateId, io: Io) -> Result<(), Status> {
        check_sequence(id.sequence, SEQUENCE)?;
        match self.grants.get(&id.other).map_or(0, |held| held.kind.io) {
            0 => Err(Status::BadStateId),
            allowed if allowed & io.access() == 0 => Err(Status::OpenMode),
            _ => Ok(()),
        }
    }

    fn check_open(&self, id: &StateId, io: Io) -> Result<(), Status> {
        let open = self.opens.get(&id.other).ok_or(Status::BadStateId)?;
        check_sequence(id.sequence, open.sequence)?;
        // RFC 8881 §9.1.2 lets a server allow READ on an open for writing; clients read around partial
        // writes.
        if io == Io::Write && open.access & share::WRITE == 0 { Err(Status::OpenMode) } else { Ok(()) }
    }
}
