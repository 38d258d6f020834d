//! WANT_DELEGATION (RFC 8881 §18.49). Its result is that of OPEN: an
//! [`OpenDelegation`](super::OpenDelegation).

use xdr::Xdr;

use super::DelegationType;

/// By what right (`deleg_claim4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub enum DelegationClaim {
    /// It was held before the server restarted (`CLAIM_PREVIOUS`).
    #[xdr(case = 1)]
    Previous(DelegationType),
    /// None (`CLAIM_FH`).
    #[xdr(case = 4)]
    Handle,
    /// It was held before the client restarted (`CLAIM_DELEG_PREV_FH`).
    #[xdr(case = 6)]
    PreviousHandle,
}

/// `WANT_DELEGATION4args`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Xdr)]
pub struct WantDelegationArgs {
    /// Bits of [`share`](super::share): what is wished for. Those of access mean nothing.
    pub want: u32,
    /// By what right.
    pub claim: DelegationClaim,
}
