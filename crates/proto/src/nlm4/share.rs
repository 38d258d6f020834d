//! SHARE and UNSHARE: DOS sharing of whole files.

use bytes::Bytes;
use xdr::Xdr;

use super::{NAME_BYTES_MAX, NetObject, Status};

/// What others are denied (`fsh4_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
pub enum ShareMode {
    /// Nothing (`fsm_DN`).
    DenyNone = 0,
    /// Reading (`fsm_DR`).
    DenyRead = 1,
    /// Writing (`fsm_DW`).
    DenyWrite = 2,
    /// Both (`fsm_DRW`).
    DenyBoth = 3,
}

/// What is wanted (`fsh4_access`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Xdr)]
pub enum ShareAccess {
    /// Nothing (`fsa_NONE`).
    None = 0,
    /// Reading (`fsa_R`).
    Read = 1,
    /// Writing (`fsa_W`).
    Write = 2,
    /// Both (`fsa_RW`).
    Both = 3,
}

/// A share reservation (`nlm4_share`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct Share {
    /// The client host.
    #[xdr(max = NAME_BYTES_MAX)]
    pub caller_name: Bytes,
    /// The file, an NFSv3 handle.
    pub file: NetObject,
    /// The owner on the client host.
    pub owner: NetObject,
    /// What others are denied.
    pub mode: ShareMode,
    /// What is wanted.
    pub access: ShareAccess,
}

/// Arguments (`nlm4_shareargs`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct ShareArgs {
    /// Comes back in the answer.
    pub cookie: NetObject,
    /// The reservation.
    pub share: Share,
    /// True to take again after a restart of the server what was held before.
    pub reclaim: bool,
}

/// Result (`nlm4_shareres`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct ShareResponse {
    /// That of the request.
    pub cookie: NetObject,
    /// How it ended.
    pub status: Status,
    /// Without meaning; 0.
    pub sequence: i32,
}
