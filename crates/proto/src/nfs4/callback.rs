//! CB_COMPOUND and the callbacks in it (RFC 8881 §20).

use bytes::Bytes;
use xdr::{Decode, Decoder, Encode, Encoder, Xdr};

use super::attributes::{AttributeValues, Bitmap};
use super::{FileHandle, SequenceId, SessionId, SlotId, StateId, StateOwner, Status, TAG_BYTES_MAX};

/// The procedures of the callback program.
pub mod callback_procedure {
    /// `CB_NULL`.
    pub const NULL: u32 = 0;
    /// `CB_COMPOUND`.
    pub const COMPOUND: u32 = 1;
}

/// The head of `CB_COMPOUND4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CallbackHeader {
    /// Comes back in the reply.
    #[xdr(max = TAG_BYTES_MAX)]
    pub tag: Bytes,
    /// Minor version.
    pub minor_version: u32,
    /// Ignored in NFSv4.1.
    pub ident: u32,
    /// How many operations follow.
    pub operations: u32,
}

/// `CB_SEQUENCE4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CbSequenceArgs {
    /// The session.
    pub session: SessionId,
    /// One more than in the slot's last callback.
    pub sequence: SequenceId,
    /// The slot.
    pub slot: SlotId,
    /// The highest slot in use.
    pub highest_slot: SlotId,
    /// Keep the reply.
    pub cache_this: bool,
    /// Calls that this callback is about.
    #[xdr(max = 64)]
    pub referring_calls: Vec<ReferringCallList>,
}

/// `referring_call_list4`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct ReferringCallList {
    /// Session of the calls.
    pub session: SessionId,
    /// Sequence and slot of each.
    #[xdr(max = 1024)]
    pub calls: Vec<(SequenceId, SlotId)>,
}

/// `CB_SEQUENCE4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CbSequenceResult {
    /// The session.
    pub session: SessionId,
    /// As in the callback.
    pub sequence: SequenceId,
    /// The slot.
    pub slot: SlotId,
    /// The highest slot that there is.
    pub highest_slot: SlotId,
    /// The highest slot that the server should use.
    pub target_highest_slot: SlotId,
}

/// `CB_RECALL4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CbRecallArgs {
    /// The delegation.
    pub state_id: StateId,
    /// The file is about to be truncated to nothing.
    pub truncate: bool,
    /// The file.
    pub object: FileHandle,
}

/// `CB_GETATTR4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CbGetAttrArgs {
    /// The file.
    pub object: FileHandle,
    /// Attributes asked for.
    pub wanted: Bitmap,
}

/// `CB_GETATTR4resok`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CbGetAttrResult {
    /// Their values.
    pub attributes: AttributeValues,
}

/// `CB_RECALL_ANY4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CbRecallAnyArgs {
    /// How many recallable objects may be kept.
    pub keep: u32,
    /// Types, as a set of bits.
    pub types: Bitmap,
}

/// `CB_NOTIFY_LOCK4args`.
#[derive(Debug, Clone, PartialEq, Eq, Xdr)]
pub struct CbNotifyLockArgs {
    /// The file.
    pub object: FileHandle,
    /// Who waited for a lock.
    pub owner: StateOwner,
}

/// The head of `CB_COMPOUND4res`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackReplyHeader {
    /// Status of the last operation.
    pub status: Status,
    /// As in the request.
    pub tag: Bytes,
    /// How many results follow.
    pub results: u32,
}

impl Decode for CallbackReplyHeader {
    fn decode(from: &mut Decoder) -> xdr::Result<Self> {
        Ok(Self { status: from.get()?, tag: from.opaque(TAG_BYTES_MAX)?, results: from.u32()? })
    }
}

impl Encode for CallbackReplyHeader {
    fn encode(&self, to: &mut Encoder) {
        to.put(&self.status);
        to.put(&self.tag);
        to.u32(self.results);
    }
}
