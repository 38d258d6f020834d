//! Delegations of directories (RFC 8881 §10.9), without notifications: each change of an entry by another
//! client recalls. They are not reclaimed after a restart.

use std::sync::Arc;

use proto::nfs4::{CallbackOperation, StateId, Status, share};

use super::delegation::{RECALL_TIMES_MAX, encode_recall, is_read_excluded};
use super::{Class, DelegationKind, GrantRequest, Kind};
use crate::{Client, FileId, Io, Now, Range, State};

/// RCA4_TYPE_MASK_DIR_DLG.
const DIR_DLG: u32 = 1 << 2;

/// The rules of a directory delegation.
pub static DIRECTORY_DELEGATION: Kind = Kind {
    name: "read",
    class: Class::DELEGATION,
    delegation: Some(DelegationKind::Read),
    keeps_times: false,
    opens: 0,
    io: share::READ,
    is_reclaimable: false,
    is_excluded: is_read_excluded,
    conflicts: |usage| usage.io == Io::Write,
    recall_times_max: RECALL_TIMES_MAX,
    revoked: Status::DelegationRevoked,
    callback: CallbackOperation::Recall,
    encode_recall,
    recall_any: DIR_DLG,
};

impl State {
    /// Delegates a directory to a client that reads it. `None` when the client has it already or a use
    /// excludes it.
    ///
    /// # Errors
    /// GRACE around a restart.
    pub fn delegate_directory(
        &self,
        client: &Arc<Client>,
        directory: FileId,
        now: Now,
    ) -> Result<Option<StateId>, Status> {
        let request = GrantRequest { file: directory, kind: &DIRECTORY_DELEGATION, range: Range::ALL };
        self.grant(client, &request, false, now)
    }
}
