//! The table of operations: what a COMPOUND's loop must know of each before it runs.

use proto::nfs4::Operation;

/// The operation with this number, if it is one of this minor version: another is NFS4ERR_OP_ILLEGAL, whether
/// or not a later minor version has it (RFC 8178 §8.2). What an earlier one had stays known (§2.7 of RFC
/// 8881, rules 5 and 8).
pub(crate) fn known(number: u32, minor_version: u32) -> Option<Operation> {
    Operation::from_number(number).filter(|operation| operation.since_minor_version() <= minor_version)
}

/// Where an operation may stand in a COMPOUND (RFC 8881 §2.10.3, §18.46.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// After SEQUENCE.
    InSession,
    /// First, and only there.
    First,
    /// After SEQUENCE, or without one as the only operation.
    InSessionOrAlone,
    /// Only without SEQUENCE, as the only operation.
    Alone,
}

/// What the loop must know of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) place: Place,
    /// Room that there must be before it runs, in bytes: for one that changes something, its longest result,
    /// since it cannot be undone. Of others the result is dropped when it turns out to be too long.
    pub(crate) room_bytes: usize,
}

/// Number and status.
const STATUS: usize = 8;
/// The result of SEQUENCE.
pub(crate) const SEQUENCED: usize = STATUS + 36;
const STATE_ID: usize = 16;
const CHANGE_INFO: usize = 20;
/// The attributes that were set.
const BITMAP: usize = 16;
/// The longest result of GETFH.
const HANDLE: usize = STATUS + 4 + vfs::Handle::MAX;
/// The longest result of OPEN: a delegation with its limit and its entry for access.
const OPENED: usize = STATUS + STATE_ID + CHANGE_INFO + 4 + BITMAP + 4 + STATE_ID + 4 + 12 + 12 + 36;
/// What COPY has written, without the name of a copy under way, and how.
const COPIED: usize = 4 + 8 + 4 + 8 + 8;
/// READ and READDIR are cut to the room that there is; with less than this they would bring nothing.
const SOME_DATA: usize = 1024;

/// The row of `operation`, or `None` when this server does not implement it: it then answers NOTSUPP (RFC
/// 8881 §2.7, §15.1.1.5). It is for every minor version that [`known`] says has the operation.
pub(crate) fn row(operation: Operation) -> Option<Row> {
    use Operation as O;
    use Place::{Alone, First, InSession, InSessionOrAlone};
    let (place, room_bytes) = match operation {
        O::Sequence => (First, SEQUENCED),
        O::ExchangeId => (Alone, 4096),
        O::CreateSession => (InSessionOrAlone, STATUS + 24 + 2 * 28),
        O::BindConnToSession => (Alone, STATUS + 24),
        O::DestroySession | O::DestroyClientId => (InSessionOrAlone, STATUS),
        O::Create => (InSession, STATUS + CHANGE_INFO + BITMAP + HANDLE),
        // Without the handle that GETFH brings next the file could not be closed (RFC 8881 §2.10.6.4).
        O::Open => (InSession, OPENED + HANDLE),
        O::WantDelegation => (InSession, OPENED),
        O::Link | O::Remove => (InSession, STATUS + CHANGE_INFO),
        O::Rename => (InSession, STATUS + 2 * CHANGE_INFO),
        O::Close | O::Lock | O::LockU | O::OpenDowngrade | O::SetAttr => (InSession, STATUS + STATE_ID),
        O::GetDirDelegation => (InSession, STATUS + 4 + 8 + STATE_ID + 3 * BITMAP),
        O::Write => (InSession, STATUS + 16),
        O::Copy => (InSession, STATUS + COPIED),
        O::SetXattr | O::RemoveXattr => (InSession, STATUS + CHANGE_INFO),
        O::Read | O::ReadDir => (InSession, SOME_DATA),
        O::ReadPlus => (InSession, 2 * SOME_DATA),
        O::Access
        | O::Allocate
        | O::BackchannelCtl
        | O::Clone
        | O::Commit
        | O::Deallocate
        | O::DelegReturn
        | O::FreeStateId
        | O::GetAttr
        | O::GetFh
        | O::GetXattr
        | O::IoAdvise
        | O::ListXattrs
        | O::LockT
        | O::Lookup
        | O::LookupParent
        | O::NVerify
        | O::PutFh
        | O::PutPubFh
        | O::PutRootFh
        | O::ReadLink
        | O::ReclaimComplete
        | O::RestoreFh
        | O::SaveFh
        | O::SecInfo
        | O::SecInfoNoName
        | O::Seek
        | O::TestStateId
        | O::Verify => (InSession, STATUS),
        _ => return None,
    };
    Some(Row { place, room_bytes })
}

/// True for an operation that only looks: a request of such operations may be cancelled.
pub(crate) fn only_looks(operation: Operation) -> bool {
    use Operation as O;
    matches!(
        operation,
        O::Access
            | O::GetAttr
            | O::GetFh
            | O::GetXattr
            | O::ListXattrs
            | O::LockT
            | O::Lookup
            | O::LookupParent
            | O::NVerify
            | O::PutFh
            | O::PutPubFh
            | O::PutRootFh
            | O::Read
            | O::ReadDir
            | O::ReadLink
            | O::ReadPlus
            | O::RestoreFh
            | O::SaveFh
            | O::SecInfo
            | O::SecInfoNoName
            | O::Seek
            | O::Sequence
            | O::TestStateId
            | O::Verify
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_required_of_a_server_has_a_row() {
        // RFC 8881 §17, the REQUIRED rows of its first table.
        use Operation as O;
        for required in [
            O::Access,
            O::BackchannelCtl,
            O::BindConnToSession,
            O::Close,
            O::Commit,
            O::Create,
            O::CreateSession,
            O::DestroyClientId,
            O::DestroySession,
            O::ExchangeId,
            O::FreeStateId,
            O::GetAttr,
            O::GetFh,
            O::Lock,
            O::LockT,
            O::LockU,
            O::Lookup,
            O::LookupParent,
            O::NVerify,
            O::Open,
            O::OpenDowngrade,
            O::PutFh,
            O::PutRootFh,
            O::Read,
            O::ReadDir,
            O::ReclaimComplete,
            O::Remove,
            O::Rename,
            O::RestoreFh,
            O::SaveFh,
            O::SecInfo,
            O::SecInfoNoName,
            O::Sequence,
            O::SetAttr,
            O::TestStateId,
            O::Verify,
            O::Write,
        ] {
            assert!(row(required).is_some(), "{required}");
        }
    }

    #[test]
    fn an_operation_is_known_from_its_minor_version_on() {
        assert_eq!(known(Operation::Write.number(), 1), Some(Operation::Write));
        assert_eq!(known(Operation::Sequence.number(), 0), None);
        for number in 59..=75 {
            assert_eq!(known(number, 1), None, "{number}");
            assert!(known(number, 2).is_some(), "{number}");
        }
        assert_eq!((known(2, 2), known(76, 2)), (None, None));
    }

    #[test]
    fn operations_that_must_not_be_implemented_have_none() {
        use Operation as O;
        for gone in [O::OpenConfirm, O::Renew, O::SetClientId, O::SetClientIdConfirm, O::ReleaseLockOwner] {
            assert!(row(gone).is_none(), "{gone}");
        }
    }
}
