//! Delegations of files (RFC 8881 §10.2–10.4): their kinds, and what only they have.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use proto::nfs4::{CallbackOperation, CbRecallArgs, ClientId, FileHandle, StateId, Status, share};
use xdr::Encoder;

use super::grant::SEQUENCE;
use super::{Class, FileUses, GrantRequest, Kind};
use crate::client::{Client, StateKind, check_sequence};
use crate::file::FileState;
use crate::{FileId, Io, Now, Range, Recall, State};

/// Recall times after which a delegation is revoked, however busily its holder flushes.
pub(super) const RECALL_TIMES_MAX: u64 = 4;

/// RCA4_TYPE_MASK_RDATA_DLG.
const READ_DATA_DLG: u32 = 1 << 0;
/// RCA4_TYPE_MASK_WDATA_DLG.
const WRITE_DATA_DLG: u32 = 1 << 1;

/// What a delegation allows its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelegationKind {
    /// Others may read.
    Read,
    /// No other client has the file open.
    Write,
}

impl DelegationKind {
    /// The rules of a delegation of a file. With `keeps_times` the holder of a write delegation keeps the
    /// times of the file; a read delegation never leaves them to its holder.
    pub fn of_file(self, keeps_times: bool) -> &'static Kind {
        match (self, keeps_times) {
            (Self::Read, _) => &READ_DELEGATION,
            (Self::Write, false) => &WRITE_DELEGATION,
            (Self::Write, true) => &WRITE_DELEGATION_WITH_TIMES,
        }
    }
}

/// The rules of a read delegation: writes recall it.
pub static READ_DELEGATION: Kind = Kind {
    name: "read",
    class: Class::DELEGATION,
    delegation: Some(DelegationKind::Read),
    keeps_times: false,
    opens: share::READ,
    io: share::READ,
    is_reclaimable: true,
    is_excluded: is_read_excluded,
    conflicts: |usage| usage.io == Io::Write,
    recall_times_max: RECALL_TIMES_MAX,
    revoked: Status::DelegationRevoked,
    callback: CallbackOperation::Recall,
    encode_recall,
    recall_any: READ_DATA_DLG,
};

/// The rules of a write delegation: all uses by others recall it.
pub static WRITE_DELEGATION: Kind = Kind { keeps_times: false, ..WRITE };

/// The rules of a write delegation whose holder keeps the times of the file (RFC 9754).
pub static WRITE_DELEGATION_WITH_TIMES: Kind = Kind { keeps_times: true, ..WRITE };

const WRITE: Kind = Kind {
    name: "write",
    class: Class::DELEGATION,
    delegation: Some(DelegationKind::Write),
    keeps_times: false,
    opens: share::BOTH,
    io: share::BOTH,
    is_reclaimable: true,
    is_excluded: is_write_excluded,
    conflicts: |_| true,
    recall_times_max: RECALL_TIMES_MAX,
    revoked: Status::DelegationRevoked,
    callback: CallbackOperation::Recall,
    encode_recall,
    recall_any: WRITE_DATA_DLG,
};

/// Writing by the client itself counts as well: its changes would have to be told apart from those of others.
pub(super) fn is_read_excluded(uses: &FileUses<'_>, _: ClientId) -> bool {
    uses.is_open_for_writing()
        || uses.is_delegated_for_writing()
        // NLM hosts have nothing open. The holder would grant locks for reading without asking.
        || uses.is_shared_for_writing()
        || uses.is_locked_exclusively()
}

fn is_write_excluded(uses: &FileUses<'_>, client: ClientId) -> bool {
    uses.is_open_by_other(client)
        || uses.is_delegated()
        || uses.is_shared()
        || uses.is_locked_by_other(client)
}

/// Writes the arguments of CB_RECALL (RFC 8881 §20.2).
pub(super) fn encode_recall(recall: &Recall, object: &FileHandle, to: &mut Encoder) {
    to.put(&CbRecallArgs { state_id: recall.state_id, truncate: false, object: object.clone() });
}

/// A write delegation that another client asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteHeld {
    /// The holder.
    pub client: ClientId,
    /// The stateid.
    pub state_id: StateId,
    /// It is neither recalled nor lapsed: its holder can say what it has changed.
    pub may_be_asked: bool,
    /// Its holder keeps the times.
    pub timestamps: bool,
}

impl State {
    /// Delegates a file to a client that need not have it open (RFC 8881 §18.49). `None` when the client has
    /// it already or a use excludes it.
    ///
    /// # Errors
    /// GRACE, NO_GRACE, RECLAIM_BAD and RECLAIM_CONFLICT around a restart.
    pub fn delegate_file(
        &self,
        client: &Arc<Client>,
        file: FileId,
        kind: DelegationKind,
        reclaim: bool,
        now: Now,
    ) -> Result<Option<StateId>, Status> {
        self.grant(client, &GrantRequest { file, kind: kind.of_file(false), range: Range::ALL }, reclaim, now)
    }

    /// Takes a delegation back (RFC 8881 §18.6). Returns its file, for which held operations may go on.
    ///
    /// # Errors
    /// As [`State::return_grant`].
    pub fn return_delegation(&self, client: &Client, id: &StateId) -> Result<FileId, Status> {
        self.return_grant(client, id, Class::DELEGATION).map(|returned| returned.file)
    }

    /// The write delegation of `file`, unless `client` holds it itself. Few files have one, so `now` is
    /// called only when it is needed.
    pub fn write_delegation(
        &self,
        file: FileId,
        client: Option<ClientId>,
        now: impl FnOnce() -> Now,
    ) -> Option<WriteHeld> {
        let shard = self.files.shard(file);
        if shard.granted.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let files = shard.files.lock();
        let held = files.get(&file)?.grants.write_delegation()?;
        (Some(held.client.id()) != client).then(|| WriteHeld {
            client: held.client.id(),
            state_id: held.state_id(),
            may_be_asked: !held.is_recalled() && !self.has_lapsed(&held.client, now()),
            timestamps: held.kind.keeps_times,
        })
    }

    /// A count of the write delegations that have ended. A caller that reads attributes, then finds no write
    /// delegation and this count unchanged, has seen everything that a holder had written.
    pub fn write_delegations_ended(&self) -> u64 {
        self.files.write_delegations_ended.load(Ordering::SeqCst)
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
            (found, StateKind::Grant(Class::DELEGATION)) if found == file => {
                check_sequence(id.sequence, SEQUENCE)?;
            }
            _ => return Err(Status::BadStateId),
        }
        self.files.with(file, |state, _| self.give_time(state, client.id(), now));
        Ok(())
    }

    /// Notes that a client flushes its changes of a file. If its delegation is recalled, the time for its
    /// return begins again.
    pub(crate) fn give_time(&self, state: &mut FileState, client: ClientId, now: Now) {
        if let Some(held) = state.grants.delegation_of_mut(client) {
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
            |state: &mut FileState| state.grants.get(&id.other).is_some_and(|held| held.kind.keeps_times);
        if self.files.with(file, |state, _| keeps(state)) { Ok(()) } else { Err(Status::BadStateId) }
    }
}
