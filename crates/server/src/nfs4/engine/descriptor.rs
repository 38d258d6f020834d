//! The properties of an operation that the loop of a COMPOUND needs before it runs the operation.
//!
//! Each operation's file has its [`Descriptor`]; `nfs4/table.rs` collects them.

use proto::nfs4::{Operation, Status};

/// Where an operation may stand in a COMPOUND (RFC 8881 §2.10.3, §18.46.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationOrder {
    /// After SEQUENCE.
    InSession,
    /// First, and only there.
    First,
    /// After SEQUENCE, or without one as the only operation.
    InSessionOrAlone,
    /// Only without SEQUENCE, as the only operation.
    Alone,
}

/// The properties of an operation. The minor versions that have it are
/// [`Operation::since_minor_version`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Descriptor {
    pub(crate) operation: Operation,
    pub(crate) place: OperationOrder,
    /// Room that the reply must have before the operation runs, in bytes. It is the longest result of an
    /// operation that changes something, which cannot be undone. The loop drops the result of another
    /// operation when it turns out to be too long.
    pub(crate) room_bytes: usize,
    /// False for an operation without lasting effect: the loop cancels a request of such operations when its
    /// connection is lost.
    pub(crate) changes: bool,
    /// The operation runs although a file that this COMPOUND has made is not on stable storage yet: it leaves
    /// nothing behind, or decides by its arguments whether to wait.
    pub(crate) runs_unsettled: bool,
    /// The attributes that the operation before has learnt stay for the next one.
    pub(crate) keeps_fresh: bool,
    /// When the reply of a COMPOUND from before a restart is made again, the operation runs again. The reply
    /// is lost where an operation neither does nor was recorded.
    pub(crate) is_rerun: bool,
    /// Statuses that RFC 8881 §15.2 does not list for the operation, and the nearest that it lists.
    pub(crate) replaced: &'static [(Status, Status)],
}

impl Descriptor {
    /// An operation without lasting effect, whose result is dropped when it is too long.
    pub(crate) const fn looks(operation: Operation) -> Self {
        Self {
            operation,
            place: OperationOrder::InSession,
            room_bytes: STATUS_BYTES,
            changes: false,
            runs_unsettled: false,
            keeps_fresh: false,
            is_rerun: false,
            replaced: &[],
        }
    }

    /// An operation that changes something and whose result is a status. A longer result names its
    /// `room_bytes`.
    pub(crate) const fn changes(operation: Operation) -> Self {
        Self { changes: true, ..Self::looks(operation) }
    }

    /// Returns the status that RFC 8881 §15.2 lists for the operation: `status`, or the nearest to it. What
    /// only the owner may do is denied to others, for most operations.
    pub(crate) fn listed(&self, status: Status) -> Status {
        match self.replaced.iter().find(|(from, _)| *from == status) {
            Some((_, to)) => *to,
            None if status == Status::NotPermitted => Status::AccessDenied,
            None => status,
        }
    }
}

/// Number and status.
pub(crate) const STATUS_BYTES: usize = 8;
/// The result of SEQUENCE.
pub(crate) const SEQUENCED_BYTES: usize = STATUS_BYTES + 36;
pub(crate) const STATE_ID_BYTES: usize = 16;
pub(crate) const CHANGE_INFO_BYTES: usize = 20;
/// The attributes that were set.
pub(crate) const BITMAP_BYTES: usize = 16;
/// The longest result of GETFH. An OPEN needs room for it: without the handle that GETFH brings next the file
/// could not be closed (RFC 8881 §2.10.6.4).
pub(crate) const HANDLE_BYTES: usize = STATUS_BYTES + 4 + vfs::Handle::MAX;
/// The longest result of OPEN: a delegation with its limit and its entry for access.
pub(crate) const OPENED_BYTES: usize = STATUS_BYTES
    + STATE_ID_BYTES
    + CHANGE_INFO_BYTES
    + 4
    + BITMAP_BYTES
    + 4
    + STATE_ID_BYTES
    + 4
    + 12
    + 12
    + 36;
/// READ and READDIR are cut to the room that there is; with less than this they would bring nothing.
pub(crate) const SOME_DATA_BYTES: usize = 1024;
