//! Recalls, and the answers to them.

use bytes::Bytes;
use proto::nfs4::*;
use xdr::{Decoder, Encoder};

/// The only callback that the server sends in a session.
pub fn decode_recall(bytes: &Bytes) -> (CbSequenceArgs, CbRecallArgs) {
    let read = || -> xdr::Result<_> {
        let mut from = Decoder::new(bytes.clone());
        let header: CallbackHeader = from.get()?;
        assert_eq!((header.minor_version, header.operations), (1, 2));
        assert_eq!(from.u32()?, CallbackOperation::Sequence.number());
        let sequence = from.get()?;
        assert_eq!(from.u32()?, CallbackOperation::Recall.number());
        Ok((sequence, from.get()?))
    };
    read().expect("a callback that can be decoded")
}

/// Answers a recall; an error is CB_SEQUENCE's.
pub fn recall_reply(asked: &CbSequenceArgs, outcome: Result<Status, Status>) -> Bytes {
    let mut to = Encoder::new();
    let (status, results) = outcome.map_or_else(|status| (status, 1), |status| (status, 2));
    to.put(&CallbackReplyHeader { status, tag: Bytes::new(), results });
    to.u32(CallbackOperation::Sequence.number());
    if let Err(status) = outcome {
        to.put(&status);
        return to.into_inner().into();
    }
    to.put(&Status::Ok);
    to.put(&CbSequenceResult {
        session: asked.session,
        sequence: asked.sequence,
        slot: asked.slot,
        highest_slot: asked.highest_slot,
        target_highest_slot: asked.highest_slot,
    });
    to.u32(CallbackOperation::Recall.number());
    to.put(&status);
    to.into_inner().into()
}
