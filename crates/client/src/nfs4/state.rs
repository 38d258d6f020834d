//! What a file and an object of NFSv4.1 remember of the server's state. Pure.

use proto::nfs4::StateId;

use super::LockAhead;

/// An open at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerOpen {
    /// The number of the open-owner, its own for each open.
    pub(crate) owner: u64,
    pub(crate) state_id: StateId,
    pub(crate) write: bool,
    /// The incarnation of the client at the server that it belongs to.
    pub(crate) epoch: u64,
}

/// What an open file has at the server.
#[derive(Debug, Default)]
pub(crate) struct FileState {
    /// None under a delegation, and over NFSv3.
    pub(crate) open: Option<ServerOpen>,
    /// The set of locks, while there is any.
    pub(crate) lock: Option<StateId>,
    /// A lock that came with the open, which nobody has asked for yet.
    pub(crate) ahead: Option<LockAhead>,
}

/// A delegation of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delegation {
    pub(crate) state_id: StateId,
    /// Writing too.
    pub(crate) write: bool,
    /// It is recalled or given back: nothing new is decided by it.
    pub(crate) returning: bool,
    /// As [`ServerOpen::epoch`].
    pub(crate) epoch: u64,
}

/// The newest state of that name, whatever its number (RFC 8881 §8.2.2): requests under way together need not agree on it.
pub(crate) fn newest(state_id: StateId) -> StateId {
    StateId { sequence: 0, ..state_id }
}
