//! UNLOCK: gives a range back.

use xdr::Xdr;

use super::{Lock, NetObject};

/// Arguments (`nlm4_unlockargs`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Xdr)]
pub struct UnlockArgs {
    /// Comes back in the answer.
    pub cookie: NetObject,
    /// The range.
    pub lock: Lock,
}
