//! SEQUENCE (RFC 8881 §18.46).

use xdr::Xdr;

use super::{SequenceId, SessionId, SlotId};

/// Bits of `status_flags`.
pub mod sequence_flags {
    /// No callback path for any of the client's sessions.
    pub const CB_PATH_DOWN: u32 = 1;
    /// GSS contexts of callbacks expire soon.
    pub const CB_GSS_CONTEXTS_EXPIRING: u32 = 2;
    /// GSS contexts of callbacks have expired.
    pub const CB_GSS_CONTEXTS_EXPIRED: u32 = 4;
    /// The lease expired and all state was revoked.
    pub const EXPIRED_ALL_STATE_REVOKED: u32 = 8;
    /// The lease expired and some state was revoked.
    pub const EXPIRED_SOME_STATE_REVOKED: u32 = 0x10;
    /// State was revoked by an administrator.
    pub const ADMIN_STATE_REVOKED: u32 = 0x20;
    /// Recallable state was revoked.
    pub const RECALLABLE_STATE_REVOKED: u32 = 0x40;
    /// A file system has moved.
    pub const LEASE_MOVED: u32 = 0x80;
    /// The server restarted and has state to be reclaimed.
    pub const RESTART_RECLAIM_NEEDED: u32 = 0x100;
    /// No callback path for this session.
    pub const CB_PATH_DOWN_SESSION: u32 = 0x200;
    /// A fault of the backchannel.
    pub const BACKCHANNEL_FAULT: u32 = 0x400;
    /// A device id changed.
    pub const DEVID_CHANGED: u32 = 0x800;
    /// A device id was deleted.
    pub const DEVID_DELETED: u32 = 0x1000;
}

/// `SEQUENCE4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct SequenceArgs {
    /// The session.
    pub session: SessionId,
    /// One more than in the slot's last request, or the same for a retry.
    pub sequence: SequenceId,
    /// The slot.
    pub slot: SlotId,
    /// The highest slot that the client uses now.
    pub highest_slot: SlotId,
    /// Keep the reply.
    pub cache_this: bool,
}

/// `SEQUENCE4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
#[xdr(fixed)]
pub struct SequenceResult {
    /// The session.
    pub session: SessionId,
    /// As in the request.
    pub sequence: SequenceId,
    /// The slot.
    pub slot: SlotId,
    /// The highest slot that there is.
    pub highest_slot: SlotId,
    /// The highest slot that the client should use.
    pub target_highest_slot: SlotId,
    /// See [`sequence_flags`].
    pub status_flags: u32,
}
