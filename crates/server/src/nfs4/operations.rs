//! The table of operations: what a COMPOUND's loop must know of each before it runs.

use proto::nfs4::Operation;

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
    /// Room that its result needs beyond data that it bounds itself, in bytes.
    pub(crate) result_bytes: usize,
}

/// Enough for every result without variable data.
const SMALL: usize = 256;
/// A result with all attributes.
const ATTRIBUTES: usize = 1024;
/// A conflicting lock with its owner.
const DENIED: usize = 1280;

/// The row of `operation`, or `None` when this server does not implement it: known numbers then answer NOTSUPP, as
/// clients probe (RFC 8881 §2.7, §15.1.1.5).
pub(crate) fn row(operation: Operation) -> Option<Row> {
    use Operation as O;
    use Place::{Alone, First, InSession, InSessionOrAlone};
    let (place, result_bytes) = match operation {
        O::Sequence => (First, SMALL),
        O::ExchangeId => (Alone, 4096),
        O::CreateSession => (InSessionOrAlone, SMALL),
        O::BindConnToSession => (Alone, SMALL),
        O::DestroySession | O::DestroyClientId => (InSessionOrAlone, SMALL),
        O::GetAttr | O::ReadDir | O::Verify | O::NVerify => (InSession, ATTRIBUTES),
        O::Lock | O::LockT => (InSession, DENIED),
        O::ReadLink => (InSession, 4096 + SMALL),
        O::TestStateId => (InSession, SMALL),
        O::Access
        | O::BackchannelCtl
        | O::Close
        | O::Commit
        | O::Create
        | O::DelegReturn
        | O::FreeStateId
        | O::GetFh
        | O::Link
        | O::LockU
        | O::Lookup
        | O::LookupParent
        | O::Open
        | O::OpenDowngrade
        | O::PutFh
        | O::PutPubFh
        | O::PutRootFh
        | O::Read
        | O::ReclaimComplete
        | O::Remove
        | O::Rename
        | O::RestoreFh
        | O::SaveFh
        | O::SecInfo
        | O::SecInfoNoName
        | O::SetAttr
        | O::Write => (InSession, SMALL),
        _ => return None,
    };
    Some(Row { place, result_bytes })
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
    fn operations_that_must_not_be_implemented_have_none() {
        use Operation as O;
        for gone in [O::OpenConfirm, O::Renew, O::SetClientId, O::SetClientIdConfirm, O::ReleaseLockOwner] {
            assert!(row(gone).is_none(), "{gone}");
        }
    }
}
