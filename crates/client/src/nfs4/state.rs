//! What a file and an object of NFSv4.1 remember of the server's state. Pure.

use std::time::Instant;

use proto::nfs4::{StateId, share};

use super::LockAhead;

/// An open at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerOpen {
    /// The number of the open-owner, its own for each open.
    pub(crate) owner: u64,
    pub(crate) state_id: StateId,
    pub(crate) read: bool,
    pub(crate) write: bool,
    /// The incarnation of the client at the server that it belongs to; [`LOST`] when the server has ended it.
    pub(crate) epoch: u64,
}

impl ServerOpen {
    /// The bits of `share_access` that it has.
    pub(super) fn access(&self) -> u32 {
        let read = if self.read { share::READ } else { 0 };
        let write = if self.write { share::WRITE } else { 0 };
        read | write
    }
}

/// The incarnation of what is to be opened again.
pub(crate) const LOST: u64 = 0;

/// What an open file has at the server.
#[derive(Debug, Default)]
pub(crate) struct FileState {
    /// None under a delegation, and over NFSv3.
    pub(crate) open: Option<ServerOpen>,
    /// The set of locks, while there is any.
    pub(crate) lock: Option<StateId>,
    /// A lock that came with the open, which nobody has asked for yet.
    pub(crate) ahead: Option<LockAhead>,
    /// Locks are lost: nothing may be read or written under them, until they are given up.
    pub(crate) lost_locks: bool,
}

/// A delegation of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delegation {
    pub(crate) state_id: StateId,
    /// Writing too.
    pub(crate) write: bool,
    /// It is recalled or given back: nothing new is decided by it.
    pub(crate) returning: bool,
    /// The request that gives it back is under way: others may change the object from now on.
    pub(crate) ending: bool,
    /// As [`ServerOpen::epoch`].
    pub(crate) epoch: u64,
    /// When its grant was heard of.
    pub(crate) granted: Instant,
}

/// The newest state of that name, whatever its number (RFC 8881 §8.2.2): requests under way together need not
/// agree on it.
pub(crate) fn newest(state_id: StateId) -> StateId {
    StateId { sequence: 0, ..state_id }
}
