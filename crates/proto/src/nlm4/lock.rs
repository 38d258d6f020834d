//! LOCK: takes a lock. NM_LOCK is the same without monitoring of the client host.

use xdr::Xdr;

use super::{Lock, NetObject};

/// Arguments (`nlm4_lockargs`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct LockArgs {
    /// Comes back in the answer.
    pub cookie: NetObject,
    /// True to wait for a conflicting lock: `NLM4_BLOCKED` now and GRANTED later.
    pub block: bool,
    /// True for a write lock.
    pub exclusive: bool,
    /// The lock.
    pub lock: Lock,
    /// True to take again after a restart of the server what was held before.
    pub reclaim: bool,
    /// The client host's state number (NSM), which grows with its restarts.
    pub state: i32,
}
