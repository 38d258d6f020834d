//! CLOSE (RFC 8881 §18.2).

use xdr::Xdr;

use super::StateId;

/// `CLOSE4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CloseArgs {
    /// Ignored in NFSv4.1.
    pub sequence: u32,
    /// The open.
    pub state_id: StateId,
}
