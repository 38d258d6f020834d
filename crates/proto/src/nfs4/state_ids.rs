//! TEST_STATEID and FREE_STATEID (RFC 8881 §18.48, §18.38).

use xdr::Xdr;

use super::{StateId, Status};

/// The most stateids in one TEST_STATEID that are decoded.
pub const TESTED_MAX: u32 = 4096;

/// `TEST_STATEID4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct TestStateIdArgs {
    /// Which.
    #[xdr(max = TESTED_MAX)]
    pub state_ids: Vec<StateId>,
}

/// `TEST_STATEID4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct TestStateIdResult {
    /// A status for each.
    #[xdr(max = TESTED_MAX)]
    pub statuses: Vec<Status>,
}

/// `FREE_STATEID4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct FreeStateIdArgs {
    /// Which.
    pub state_id: StateId,
}
