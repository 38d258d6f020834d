//! The last replies to calls by datagram. A datagram that the network delivers twice, or a client sends
//! again, must not be carried out again: a LOCK that comes a second time, after its UNLOCK, would never be
//! given back.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

use bytes::Bytes;

/// Replies that are remembered.
const REPLIES_MAX: usize = 1024;
/// A longer reply is not remembered, in bytes: what changes anything has a short one.
const REPLY_BYTES_MAX: usize = 512;

/// What tells a call from others: its sender, its xid, and what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallKey {
    sender: SocketAddr,
    xid: u32,
    digest: u64,
}

impl CallKey {
    pub(crate) fn new(sender: SocketAddr, xid: u32, datagram: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        datagram.hash(&mut hasher);
        Self { sender, xid, digest: hasher.finish() }
    }
}

/// What became of a call.
#[derive(Debug)]
pub(crate) enum CallState {
    /// It is being answered.
    UnderWay,
    /// It was answered so.
    Answered(Bytes),
}

/// Calls under way and the last that were answered.
#[derive(Debug, Default)]
pub(crate) struct RecentReplies {
    /// `None` while under way.
    calls: BTreeMap<CallKey, Option<Bytes>>,
    order: VecDeque<CallKey>,
}

impl RecentReplies {
    /// What is known of a call; one that is new is under way from now on.
    pub(crate) fn begin(&mut self, key: CallKey) -> Option<CallState> {
        match self.calls.get(&key) {
            Some(None) => Some(CallState::UnderWay),
            Some(Some(reply)) => Some(CallState::Answered(reply.clone())),
            None => {
                self.calls.insert(key, None);
                None
            }
        }
    }

    /// A call has ended, with a reply or without.
    pub(crate) fn end(&mut self, key: CallKey, reply: Option<&[u8]>) {
        match reply.filter(|reply| reply.len() <= REPLY_BYTES_MAX) {
            Some(reply) => {
                self.calls.insert(key, Some(Bytes::copy_from_slice(reply)));
                self.order.push_back(key);
            }
            None => {
                self.calls.remove(&key);
            }
        }
        if self.order.len() > REPLIES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(xid: u32) -> CallKey {
        CallKey::new(SocketAddr::from(([10, 0, 0, 1], 900)), xid, b"call")
    }

    #[test]
    fn a_call_is_new_once_and_then_under_way_or_answered() {
        let mut replies = RecentReplies::default();
        assert!(replies.begin(key(1)).is_none());
        assert!(matches!(replies.begin(key(1)), Some(CallState::UnderWay)));
        replies.end(key(1), Some(b"reply"));
        let Some(CallState::Answered(reply)) = replies.begin(key(1)) else { panic!("it was answered") };
        assert_eq!(reply, "reply");
        let other = CallKey::new(SocketAddr::from(([10, 0, 0, 1], 900)), 1, b"another call");
        assert!(replies.begin(other).is_none(), "an xid that is used again is another call");
    }

    #[test]
    fn only_so_many_short_replies_are_remembered() {
        let mut replies = RecentReplies::default();
        for xid in 0..3000 {
            assert!(replies.begin(key(xid)).is_none());
            replies.end(key(xid), Some(b"reply"));
        }
        assert_eq!((replies.calls.len(), replies.order.len()), (REPLIES_MAX, REPLIES_MAX));
        assert!(replies.begin(key(0)).is_none() && replies.begin(key(2999)).is_some());
        for reply in [None, Some(&[0; REPLY_BYTES_MAX + 1][..])] {
            replies.begin(key(5000));
            replies.end(key(5000), reply);
            assert_eq!(replies.order.len(), REPLIES_MAX);
            assert!(replies.begin(key(5000)).is_none());
            replies.end(key(5000), None);
        }
    }
}
