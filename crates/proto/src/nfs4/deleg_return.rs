//! DELEGRETURN (RFC 8881 §18.6).

use xdr::Xdr;

use super::StateId;

/// `DELEGRETURN4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct DelegReturnArgs {
    /// The delegation.
    pub state_id: StateId,
}
