//! What is remembered of a delegation for the callbacks about it.

use bytes::Bytes;
use proto::nfs4::{FileHandle, ReferringCallList, SequenceId, SessionId, SlotId};
use state::FileId;
use vfs::Handle;

/// What the holder was told when a delegation was granted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Granted {
    /// The file.
    pub(crate) file: FileId,
    /// How the client knows it.
    pub(crate) handle: Handle,
    /// The change attribute then, for a write delegation: another one in CB_GETATTR's answer means that the client has
    /// modified the file (RFC 8881 §10.4.3).
    pub(crate) change: u64,
    /// The request that was answered with it.
    pub(crate) call: (SessionId, SlotId, SequenceId),
}

impl Granted {
    pub(crate) fn object(&self) -> FileHandle {
        FileHandle(Bytes::copy_from_slice(self.handle.as_bytes()))
    }

    /// The callback may overtake the reply that tells of the delegation: so the client knows which reply to wait for
    /// (RFC 8881 §2.10.6.3).
    pub(crate) fn referring_calls(&self) -> Vec<ReferringCallList> {
        let (session, slot, sequence) = self.call;
        vec![ReferringCallList { session, calls: vec![(sequence, slot)] }]
    }
}
