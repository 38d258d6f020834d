//! OPEN_DOWNGRADE (RFC 8881 §18.18).

use xdr::Xdr;

use super::StateId;

/// `OPEN_DOWNGRADE4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct OpenDowngradeArgs {
    /// The open.
    pub state_id: StateId,
    /// Ignored in NFSv4.1.
    pub sequence: u32,
    /// What is left of the access, see [`super::share`].
    pub share_access: u32,
    /// What is left of the denial.
    pub share_deny: u32,
}
