//! CANCEL: gives up waiting for a blocked lock.

use xdr::Xdr;

use super::{Lock, NetObject};

/// Arguments (`nlm4_cancargs`): those of the LOCK that waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct CancelArgs {
    /// Comes back in the answer.
    pub cookie: NetObject,
    /// As in LOCK.
    pub block: bool,
    /// As in LOCK.
    pub exclusive: bool,
    /// The lock.
    pub lock: Lock,
}
